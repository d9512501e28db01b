"""Queries about the past: differences, authorship and consequences."""
