"""A log in a PostgreSQL database, shared by many machines.

This package may import the log's lower-level modules, but not the codec or events. Start
with `store.py`; `migrations/` contains the schema and the server's functions.
"""
