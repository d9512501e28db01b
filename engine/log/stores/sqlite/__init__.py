"""The log in a SQLite database, and what only SQLite needs."""
