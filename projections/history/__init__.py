"""Queries about the past: differences, their authors and their consequences."""
