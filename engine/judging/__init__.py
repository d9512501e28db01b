"""The judgement of loop iterations: scores, classes, alerts, best iteration. Pure.

Everything is derived from measurement events. This package may import sessions, the log and
errors, but not sprints: `engine/sprint` passes the iterations to it. Start with
`evaluation.py`.
"""
