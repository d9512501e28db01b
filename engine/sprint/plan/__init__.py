"""A sprint's plan: how it is compiled, created, imported, edited and extended.

The package may import phases, answers and the layers below. Start with `create.py`;
`compiler.py` compiles a SPRINT.yaml and its workflows into a plan.
"""
