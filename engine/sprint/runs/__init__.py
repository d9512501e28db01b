"""The runs of the loop: their beginning and end, and their budgets.

May import plan, phases and the layers below. Start with `record.py`.
"""
