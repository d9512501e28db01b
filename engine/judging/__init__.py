"""The judgement of loop iterations: pure rules over what was measured.

Everything here follows from events: scores, classes, alerts, what to do next, and which
iteration was best. It knows no sprint; `engine/sprint` gives it the iterations.
"""
