"""The location of a log and its state files, and whether it can be trusted.

Start with `location.py`, which finds or creates a log; `trees.py` identifies work trees.
"""
