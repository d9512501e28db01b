"""Calls to git, and reading of repositories that sprintlog does not own.

Start with `command.py`, which runs git without the settings of the tree or the caller.
`repositories.py` finds the repository around a folder.
"""
