"""The meaning of an agent's answer: its verdict, its items, and limits that it reports.

May import state, events and its sibling phases, but not the plan. Start with `verdict.py`.
"""
