"""Exports of the log in the formats of other tools."""
