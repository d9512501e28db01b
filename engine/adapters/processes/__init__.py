"""Runs other programs with a time limit until all their processes have ended.

Start with `supervised.py`, which runs a program under a supervisor process; `programs.py`
runs gate scripts, agents and hooks.
"""
