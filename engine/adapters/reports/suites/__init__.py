"""Readers of test runners' reports, one module per runner.

`tally.py` turns the listed results into counts; `../formats.py` lists the readers.
"""
