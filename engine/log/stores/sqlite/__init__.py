"""The log in a SQLite database, shared by many processes of one machine.

May import the log below the stores, but not codec or events. Start with `store.py`;
`schema.py` has the tables, `connection.py` the waits and errors.
"""
