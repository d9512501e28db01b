"""The plan of a sprint: how it is created, imported, edited and extended.

May import phases, answers and the layers below. Start with `create.py`.
"""
