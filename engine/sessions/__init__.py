"""Agent sessions: prompts, tool calls and turns, as events in separate streams. Pure.

This package may import judging, the log and errors. Start with `events.py`; `names.py`
defines the streams and idempotency keys.
"""
