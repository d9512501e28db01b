"""The judgement of loop iterations: scores, classes, alerts and the best iteration.

Everything is computed from measurement events by pure functions. This package may import
sessions, the log and errors, but not sprints: `engine/sprint` passes the iterations to it.
Start with `evaluation.py`.
"""
