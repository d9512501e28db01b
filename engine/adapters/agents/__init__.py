"""Decoders of what agents print: bytes become neutral items, one module per agent.

They are pure: no clock, no file, no process. `output` is the way in, `ran` the way on.
"""
