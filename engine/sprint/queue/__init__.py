"""The operators' queue of requests, and the decisions on them.

May import plan, phases and the layers below. Start with `requests.py`.
"""
