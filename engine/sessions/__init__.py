"""Agents' sessions: prompts, tool calls and turns, as events of separate streams. Pure.

May import only the log and errors, and not judging. Start with `events.py`; `names.py` has
the streams and idempotency keys.
"""
