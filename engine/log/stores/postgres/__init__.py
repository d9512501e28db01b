"""The log in a PostgreSQL database, shared by many machines.

May import the log below the stores, but not codec or events. Start with `store.py`;
`migrations/` has the schema with the functions on the server.
"""
