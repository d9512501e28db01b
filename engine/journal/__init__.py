"""The journal: entries, learnings and patterns of an agent's work, and their rules. Pure.

It may import judging, sessions and the log, but not the sprint. Start with `parts.py` for
the contents and `rules.py` for the commands.
"""
