"""Phases, steps and sub-phases, their gates, and the life of the sprint around them.

May import fold, state, events and its sibling answers. Start with `leaves.py` for phases,
`gate.py` for gates and `lifecycle.py` for the sprint.
"""
