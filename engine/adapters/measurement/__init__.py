"""Measurement of a work tree: runs commands, reads reports and measures source files.

This package may import the other adapters, the judging rules, and errors. Start with
`capture.py`; `formats.py` contains the table of report formats, whose readers are in
`reports`.
"""
