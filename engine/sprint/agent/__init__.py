"""The next action of a sprint, its prompt, and the commands for agent runs.

This is the top layer of the sprint packages: it may import all the others. Start with
`next.py`; `actions.py` defines the actions that it returns.
"""
