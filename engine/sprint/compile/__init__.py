"""Compilation of SPRINT.yaml and its workflows into a plan; reports all problems at once.

May import its sibling iterations, plan and the layers below. Start with `compiler.py`.
"""
