"""Agents' sessions: prompts, tool calls and turns, as events of separate streams. Pure.

May import judging, the log and errors. Start with `events.py`; `names.py` has the streams
and idempotency keys.
"""
