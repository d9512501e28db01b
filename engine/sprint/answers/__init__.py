"""The meaning of an agent's answer: its verdict, its items, and the limits it reports.

The package may import state, events and its sibling phases, but not the plan. Start with
`verdict.py`.
"""
