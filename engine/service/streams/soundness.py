"""Checks whether a log can be read to its end, as every command requires."""

from os import urandom
from pathlib import Path

from ...errors import UnreadableError
from ...log import envelope, port
from ...log.erasures import STREAM as ERASURES
from ...log.stores.sqlite import backup
from ...races import race_of
from ...sessions.names import session_of
from . import catalogue, erased, journal, repository


def is_folded(stream: str) -> bool:
    """Return whether a state is folded from a stream, which requires all payloads."""
    return not (session_of(stream) or race_of(stream) or stream == ERASURES)


def fold_all(log: port.EventStore) -> None:
    """Fold every stream of a log; raise `UnreadableError` if a stream cannot be folded.

    Even with a valid chain, a stream may not be foldable. Streams without a state are only
    read. A payload may be missing or replaced only if an event records its erasure.
    """
    erasures = erased.erasures_of(log)
    for page in log.pages():
        for position, what in erased.unsaid(page, erasures):
            raise UnreadableError(f"{position}: {what}")
    for stream in log.streams():
        if not is_folded(stream):
            for event in log.read_stream(stream):
                catalogue.CODEC.today(event)
        elif (sprint := catalogue.sprint_of(stream)) is not None:
            repository.Repository(log, catalogue.SPRINTS, None).from_nothing(sprint)
        else:
            repository.Repository(log, journal.JOURNALS, None).from_nothing(stream)
            repository.Repository(log, journal.DOCUMENTS, None).from_nothing(stream)


def back_up(log: port.Log, target: Path, *, clock: port.Clock) -> envelope.Head:
    """Copy the log into a file; read and fold the complete copy, and return its head.

    Raise `RefusedError` if the file exists.
    """
    return backup.back_up(log, target, clock=clock, entropy=urandom, check=fold_all)
