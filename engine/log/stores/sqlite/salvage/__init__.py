"""Reading the events of a damaged SQLite log from the pages of its files, without SQLite.

It imports only the public package and never writes. `../rescue.py` makes a new log of the
events. Start with `page_rows.py`.
"""
