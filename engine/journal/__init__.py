"""The journal: entries, learnings and patterns from an agent's work, and their rules.

The package performs no I/O. It may import judging, sessions, the log and errors. From its
sibling package sprint, it uses only events. Start with `parts.py` for the contents and
`rules.py` for the commands.
"""
