"""Readers of report formats: test results, coverage, findings of linters and compilers.

They import only the public package, and handle untrusted files: sizes and nesting are
bounded. Start with `report.py`; a new reader also needs a line in `measurement/formats.py`.
"""
