"""Readers for report formats: test results, coverage, and linter and compiler findings.

They import only the public package and treat files as untrusted: sizes and nesting are
bounded. Start with `report.py`; a new reader also requires a line in
`measurement/formats.py`.
"""
