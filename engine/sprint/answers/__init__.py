"""The meaning of an agent's answer: its verdict, its items, and limits that it reports.

May import gates, state, events and its siblings document and phases, but not the plan.
Start with `verdict.py`.
"""
