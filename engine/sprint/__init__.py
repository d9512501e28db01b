"""A sprint: its events, its rules by topic, and the fold from events to state. Pure.

It may import judging, sessions, the log and errors. Its packages are layered: agent,
iterations, queue, plan, phases, fold, state, events (see `pyproject.toml`). Start
with `events` and `state/sprint.py`, then `commands.py`.
"""
