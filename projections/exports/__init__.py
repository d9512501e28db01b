"""Exports of the log in other tools' formats."""
