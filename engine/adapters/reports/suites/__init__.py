"""Reads the reports of test runners; `tally.py` turns what each one lists into counts."""
