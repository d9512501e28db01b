"""Reads the reports of coverage tools."""
