"""Rescue of the intact part of a damaged SQLite log, read from the pages of its files.

It works without SQLite, and never writes to the damaged log. Start with `rescue.py`.
"""
