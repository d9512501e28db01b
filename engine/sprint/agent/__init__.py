"""The next action of a sprint, its prompt, and the commands for an agent's runs.

The top layer of a sprint's topics: it may import all others. Start with `next.py`, and
`actions.py` for the forms of its answer.
"""
