"""Gates: their policy, when one is due, and the events of their checks.

May import only state and events. Start with `gate.py`.
"""
