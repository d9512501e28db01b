"""Whether a log can be read to its end, as every command would have to."""

from os import urandom
from pathlib import Path

from ...log.envelope import Head
from ...log.port import Clock, EventStore, Log
from ...log.stores.memory import MemoryCheckpoints
from ...log.stores.sqlite import backup
from .catalogue import SPRINTS, sprint_of
from .journal import DOCUMENTS, JOURNALS
from .repository import Repository


def fold_all(log: EventStore) -> None:
    """Fold every stream of a log from nothing; raise `UnreadableError` where one cannot.

    A chain can be sound where no state follows from it: an erased payload is one.
    """
    for stream in log.streams():
        if (sprint := sprint_of(stream)) is not None:
            Repository(log, SPRINTS, MemoryCheckpoints()).from_nothing(sprint)
        else:
            Repository(log, JOURNALS, MemoryCheckpoints()).from_nothing(stream)
            Repository(log, DOCUMENTS, MemoryCheckpoints()).from_nothing(stream)


def back_up(log: Log, target: Path, *, clock: Clock) -> Head:
    """Copy the log into one file, and read and fold the copy whole; return its head.

    Raise `RefusedError` over an existing file.
    """
    return backup.back_up(log, target, clock=clock, entropy=urandom, check=fold_all)
