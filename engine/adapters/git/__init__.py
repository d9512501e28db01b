"""Calls to git, and access to repositories that sprintlog does not own.

Start with `command.py`, which runs git without the settings of the tree or the caller.
`repositories.py` finds the repository that contains a folder.
"""
