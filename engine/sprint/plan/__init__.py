"""The plan of a sprint: how it is compiled, created, imported, edited and extended.

May import phases, answers and the layers below. Start with `create.py`; `compiler.py`
compiles a SPRINT.yaml and its workflows into a plan.
"""
