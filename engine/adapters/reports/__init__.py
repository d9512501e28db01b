"""Readers of tool reports on a work tree: tests, coverage, lint, types, size and cost.

A report is read exactly or rejected: a missing metric is missing, never zero. Start with
`measurement.py`, the entry point; `formats.py` lists the formats, one reader each.
"""
