"""Agents' hooks: sprintlog's entries in their configuration files, and the input of a hook.

Start with `files.py` for the entries and `hook_input.py` for the input. May import the
decoders of `adapters.agents`.
"""
