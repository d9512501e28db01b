"""Decoders for agents' output and transcripts, with one module per agent.

They convert bytes into the neutral items defined in `items.py` and are pure: they use no
clock, file or process. Start with `output.py`, which recognizes the agent.
"""
