"""The runs of the loop: their beginning and end, and their budgets.

May import its sibling queue, plan, phases and the layers below. Start with `record.py`.
"""
