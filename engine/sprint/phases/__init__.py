"""Phases, steps and sub-phases, their gates, and the life cycle of the sprint.

The package may import fold, state, events and its sibling answers. Start with `leaves.py`
for phases, `gate.py` for gates and `lifecycle.py` for the sprint.
"""
