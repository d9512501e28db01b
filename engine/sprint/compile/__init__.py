"""Compilation of SPRINT.yaml and its workflows into a plan; reports all problems at once.

May import plan and the layers below, but no iterations. Start with `compiler.py`.
"""
