"""The state of a sprint at one version: its plan, its knowledge, and allowed transitions.

The package may import only events. Start with `sprint.py`; `tree.py` contains the index of
the plan's nodes.
"""
