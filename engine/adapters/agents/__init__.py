"""Decoders of agents' output and transcripts, one module per agent.

They turn bytes into the neutral items of `items.py` and are pure: no clock, file or
process. Start with `output.py`, which recognizes the agent.
"""
