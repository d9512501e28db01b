"""The iterations of a sprint's loop: measurement, decisions, snapshots and rollback.

May import queue, runs, plan, phases and the layers below. Start with `loop.py`.
"""
