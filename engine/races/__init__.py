"""Races: several attempts at the same work, each a sprint in its own worktree.

A race records only what no sprint records: its attempts, its winner, and what became of
the attempts' files. Modules here are pure; `service/driver/race.py` runs the attempts.
"""
