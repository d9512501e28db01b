"""A log in a PostgreSQL database, shared by many machines.

It may import the log's modules below the stores, but not the codec or events. Start with
`store.py`; `migrations/` contains the schema and the server's functions.
"""
