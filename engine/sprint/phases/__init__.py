"""Phases, steps and sub-phases, and the life of the sprint around them.

May import fold, gates, state, events and its siblings answers and document. Start with
`leaves.py` for phases and `lifecycle.py` for the sprint.
"""
