"""Agent sessions: prompts, tool calls and turns, as events in separate streams.

This package is pure. It may import judging, the log and errors. Start with `events.py`;
`names.py` defines the streams and idempotency keys.
"""
