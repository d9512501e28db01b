"""Measurement of a work tree: runs its commands, reads reports, measures sources.

May import the other packages of adapters, the rules of judging, and errors. Start with
`capture.py`; `formats.py` has the table of report formats, whose readers are in `reports`.
"""
