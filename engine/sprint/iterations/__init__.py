"""The iterations and runs of a sprint's loop: budgets, measurement, snapshots, rollback.

May import its sibling compile, queue, plan and the layers below. Start with `loop.py`.
"""
