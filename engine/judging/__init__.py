"""The judgement of loop iterations: scores, classes, alerts and the best one. Pure.

Everything is derived from measurement events. It may import sessions, the log and errors,
but not sprints: `engine/sprint` passes it the iterations. Start with `evaluation.py`.
"""
