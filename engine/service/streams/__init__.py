"""The streams of a log, and their states at any version.

Start with `catalogue.py` for the streams, and `repository.py` for states: a checkpoint
and the events after it. May import `engine/log`, sprint and journal, but no adapters.
"""
