"""The append-only log: its envelope, hash chain, codec and store ports.

This package may import only `errors` and the engine's helpers, and is independent of
sprints and journals. `stores` is its outermost layer. Start with `envelope.py`, `event.py`
and `port.py`.
"""
