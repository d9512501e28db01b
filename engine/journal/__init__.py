"""The journal: entries, learnings and patterns of an agent's work, and their rules. Pure.

It may import judging, sessions, the log and errors, and uses only events of its sibling
sprint. Start with `parts.py` for the contents and `rules.py` for the commands.
"""
