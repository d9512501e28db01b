"""Erasure of payloads, so that no file of the store contains their bytes.

The trigger that forbids changes is disabled within one transaction, which also has the
event that records the erasure. Overwritten bytes are zeroed (`secure_delete`), and the
write-ahead log, which had a copy of them, is emptied. A mark file next to the database
records that this is pending, so the next process to open the log completes it.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ....errors import RefusedError
from ...envelope import Span, places_in
from ..descriptors import held_open, sync
from .database import Connection, mark_path
from .journal_mode import checkpoint
from .schema import NEVER_CHANGE, text_of

_AMONG = (
    "stream = ? AND version >= ? AND version <= ? AND (? IS NULL OR type = ?)"
    " AND salt IS NOT NULL"
)
CLEAR_SECONDS = 5.0
"""So long whoever erases waits for those who read; then the next opening clears."""
_LOOK_SECONDS = 0.05


def mark(path: Path) -> None:
    """Say that there is something to be cleared; it is on the disk before that is so.

    Raise `RefusedError` where that cannot be said.
    """
    place = mark_path(path)
    try:
        with held_open(place, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW):
            sync(path.parent)
    except OSError as error:
        raise RefusedError(
            f"nothing erased: {place} cannot be written: {error.strerror}",
            hint="check the folder's permissions, its disk and the space there, and repeat",
            path=str(place),
        ) from error


@contextmanager
def erasing(connection: Connection) -> Iterator[None]:
    """Allow changes of events within a transaction, and zero their old bytes.

    No process writes meanwhile, and none sees the log without its trigger.
    """
    ((before,),) = connection.rows("PRAGMA secure_delete")
    connection.rows("PRAGMA secure_delete = 1")
    try:
        with connection.transaction():
            connection.rows(f"DROP TRIGGER {NEVER_CHANGE}")
            yield
            connection.rows(text_of(NEVER_CHANGE))
    finally:
        connection.rows(f"PRAGMA secure_delete = {int(before)}")


def has_payloads(connection: Connection, spans: Sequence[Span]) -> bool:
    """Return whether an event in the spans was not erased yet."""
    asked = f"SELECT 1 FROM events WHERE {_AMONG} LIMIT 1"
    return any(connection.rows(asked, _bounds(span)) for span in spans)


def erase(
    connection: Connection, spans: Sequence[Span], remainders: Sequence[bytes]
) -> None:
    """Take payload and salt out of events; put what remains of them in their place."""
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
    """Empty the write-ahead log; return whether no reader prevented that for so long."""
    until = time.monotonic() + min(seconds, connection.wait.seconds)
    while not checkpoint(connection.raw, "TRUNCATE"):
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOK_SECONDS)
    # Where it stays, the next opening does this once more.
    with suppress(OSError):
        mark_path(connection.path).unlink()
    return True


def _bounds(span: Span) -> tuple[object, ...]:
    return span.stream, span.first, span.last, span.only, span.only
