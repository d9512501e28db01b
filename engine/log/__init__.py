"""The append-only log: the envelope, the hash chain, the codec and a store's ports.

It may import only `errors` and the engine's helpers, and does not know sprints or journals.
`stores` is its outermost layer. Start with `envelope.py`, `event.py` and `port.py`.
"""
