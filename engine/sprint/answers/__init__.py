"""The meaning of an agent's answer: its verdict, its items, and limits that it reports.

May import gates, state and events, but neither plan nor phases. Start with `verdict.py`.
"""
