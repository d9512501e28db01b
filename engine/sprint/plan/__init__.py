"""The plan of a sprint: how it is created, imported, edited and extended.

May import document, phases, answers and the layers below. Start with `create.py`.
"""
