"""The iterations of a sprint's loop: measurement, decisions, snapshots and rollback.

May import its sibling compile, queue, runs, plan and the layers below. Start with
`loop.py`.
"""
