"""A log in a SQLite database, shared by many processes on one machine.

This package may import the log's lower-level modules, but not the codec or events. Start
with `store.py`; `schema.py` defines the tables, and `database.py` opens the connection.
"""
