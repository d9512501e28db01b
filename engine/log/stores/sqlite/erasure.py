"""Erasure of payloads from all of the store's files.

The trigger that forbids changes is disabled within one transaction, which also appends the
event that records the erasure. Overwritten bytes are zeroed (`secure_delete`), and the
write-ahead log, which contained copies of them, is emptied. A marker file next to the
database records that an erasure is unfinished; the next process to open the log completes
it.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ....errors import RefusedError
from ...envelope import Span, places_in
from ..descriptors import held_open, sync
from . import journal_mode, schema
from .database import Connection, mark_path

_AMONG = (
    "stream = ? AND version >= ? AND version <= ? AND (? IS NULL OR type = ?)"
    " AND salt IS NOT NULL"
)
CLEAR_SECONDS = 5.0
"""How long an erasure waits for readers; after that, the next opening completes it."""
_LOOK_SECONDS = 0.05


def mark(path: Path) -> None:
    """Create the marker of an unfinished erasure, and wait until it is on disk.

    Raise `RefusedError` if the file cannot be written.
    """
    place = mark_path(path)
    try:
        with held_open(place, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW):
            sync(path.parent)
    except OSError as error:
        raise RefusedError(
            f"nothing erased: {place} cannot be written ({error.strerror})",
            hint="check the folder's permissions and free disk space, and repeat the "
            "command",
            path=str(place),
        ) from error


@contextmanager
def erasing(connection: Connection) -> Iterator[None]:
    """Allow changes to events within a transaction, and zero the overwritten bytes.

    No other process can write in the meantime or see the log without its trigger.
    """
    ((before,),) = connection.rows("PRAGMA secure_delete")
    connection.rows("PRAGMA secure_delete = 1")
    try:
        with connection.transaction():
            connection.rows(f"DROP TRIGGER {schema.NEVER_CHANGE}")
            yield
            connection.rows(schema.text_of(schema.NEVER_CHANGE))
    finally:
        connection.rows(f"PRAGMA secure_delete = {int(before)}")


def has_payloads(connection: Connection, spans: Sequence[Span]) -> bool:
    """Return whether any event in the spans has not been erased yet."""
    asked = f"SELECT 1 FROM events WHERE {_AMONG} LIMIT 1"
    return any(connection.rows(asked, _bounds(span)) for span in spans)


def erase(
    connection: Connection, spans: Sequence[Span], remainders: Sequence[bytes]
) -> None:
    """Erase the events' payloads and salts; store the remainders as their payloads."""
    for (stream, version), left in zip(places_in(spans), remainders, strict=False):
        connection.rows(
            "UPDATE events SET salt = NULL, payload = ?"
            " WHERE stream = ? AND version = ? AND salt IS NOT NULL",
            (left.decode(), stream, version),
        )
    for span in () if remainders else spans:
        connection.rows(
            f"UPDATE events SET salt = NULL, payload = NULL WHERE {_AMONG}", _bounds(span)
        )


def clear(connection: Connection, *, seconds: float = CLEAR_SECONDS) -> bool:
    """Empty the write-ahead log; return False if readers prevent this for too long."""
    until = time.monotonic() + min(seconds, connection.wait.seconds)
    while not journal_mode.checkpoint(connection.raw, "TRUNCATE"):
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOK_SECONDS)
    # If the marker remains, the next opening repeats this.
    with suppress(OSError):
        mark_path(connection.path).unlink()
    return True


def _bounds(span: Span) -> tuple[object, ...]:
    return span.stream, span.first, span.last, span.only, span.only
