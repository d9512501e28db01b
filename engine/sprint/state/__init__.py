"""The state of a sprint at one version: its plan, its knowledge, and allowed transitions.

May import only events. Start with `sprint.py`, and `tree.py` for the plan's nodes.
"""
