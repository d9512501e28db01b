"""Reads what tools report about a work tree: tests, coverage, lint, types, size, cost.

One module for each format; `measurement.py` is the door. Whatever is not read exactly is
refused: a metric that is missing is missing, never zero.
"""
