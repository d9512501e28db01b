"""A log in a SQLite database, shared by many processes on one machine.

It may import the log's modules below the stores, but not the codec or events. Start with
`store.py`; `schema.py` defines the tables, `connection.py` the waits and errors.
"""
