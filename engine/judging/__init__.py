"""The judgement of loop iterations: scores, classes, alerts, and the best iteration. Pure.

Everything follows from events of measurements. It may import sessions, the log and errors,
and knows no sprint: `engine/sprint` passes it the iterations. Start with `evaluation.py`.
"""
