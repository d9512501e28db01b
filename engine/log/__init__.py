"""The append-only log: envelope, hash chain, codec, and the ports of a store.

It may import only `errors` and helpers of the engine, and knows no sprint, journal or
store: `stores` is its outermost layer. Start with `envelope.py`, `event.py` and `port.py`.
"""
