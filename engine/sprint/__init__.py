"""A sprint's events, its rules by topic, and the fold that turns events into state.

The package performs no I/O. It may import judging, sessions, the log and errors. Its
subpackages are layered: agent, iterations, queue, plan, phases, fold, state, events (see
`pyproject.toml`). Start with `events` and `state/sprint.py`, then read `commands.py`.
"""
