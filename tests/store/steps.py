"""What SQLite does for an answer, counted: time differs from machine to machine."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def steps_of(connection: sqlite3.Connection) -> Iterator[list[int]]:
    """Count the tens of steps that SQLite's machine takes."""
    steps = [0]

    def count() -> None:
        steps[0] += 1

    connection.set_progress_handler(count, 10)
    try:
        yield steps
    finally:
        connection.set_progress_handler(None, 0)
