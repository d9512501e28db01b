"""The operator queue: its requests, and the decisions about them.

The package may import plan, phases and the layers below. Start with `requests.py`.
"""
