"""The iterations and runs of a sprint's loop: budgets, measurement, snapshots, rollback.

The package may import queue, plan and the layers below. Start with `loop.py`.
"""
