"""Agents' hooks: sprintlog's entries in agents' configuration files, and hook input.

Start with `files.py` for the entries and `hook_input.py` for the input. This package may
import the decoders in `adapters.agents`.
"""
