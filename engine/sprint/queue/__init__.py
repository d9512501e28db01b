"""The operators' queue of requests, and the decisions on them.

May import its sibling runs, plan, phases and the layers below. Start with `requests.py`.
"""
