"""SQLite's work for an answer, counted, because time differs between machines."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def steps_of(connection: sqlite3.Connection) -> Iterator[list[int]]:
    """Count the steps of SQLite's virtual machine, in tens."""
    steps = [0]

    def count() -> None:
        steps[0] += 1

    connection.set_progress_handler(count, 10)
    try:
        yield steps
    finally:
        connection.set_progress_handler(None, 0)
