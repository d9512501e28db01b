"""Salvage of a damaged log: a new log with the intact events, and other readable data."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from os import urandom
from pathlib import Path
from typing import IO, Any

import msgspec

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.errors import RefusedError, SprintlogError, UnreadableError
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.erasures import Erasures
from sprintlog.engine.log.port import Clock
from sprintlog.engine.log.stores.descriptors import held_open, read_whole, sync
from sprintlog.engine.log.stores.sqlite.database import check_is_sqlite
from sprintlog.engine.log.stores.sqlite.rescue import Salvaged
from sprintlog.engine.log.stores.sqlite.rescue import salvage as salvage_log
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.place.location import DATABASE, Location
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.service.streams.soundness import (
    UNSAID,
    erasures_in,
    fold_all,
    is_folded,
)

from ..state_files.files import EDITS
from ..state_files.journal_file import JournalFile
from ..state_files.sprint_file import SprintFile
from ..views.log import SalvagedLog, SalvagedRange
from ..workspace import Workspace, wall_clock

LOST = "lost.jsonl"
"""Readable events that could not be copied to the new log, as JSON Lines."""


def salvage(
    location: Location,
    folder: Path,
    *,
    clock: Clock = wall_clock,
    progress: Callable[[int], None] = lambda count: None,
) -> SalvagedLog:
    """Create a new log from the intact events of a damaged log, which is left unchanged.

    Raise `RefusedError` if the target exists, and `UnreadableError` if no event is found.
    The process must not have the old log open.
    """
    check_is_sqlite(location.database, "salvage")
    target = folder.absolute().parent.resolve() / folder.name
    _check_target(location, target)
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        draft.mkdir(mode=0o700)
        draft.chmod(0o700)
        replace_file(draft / ".gitignore", b"*\n", mode=0o600)
        with _private(draft / LOST) as file:
            lost = _Lost(file)
            salvaged = salvage_log(
                location.database,
                draft / DATABASE,
                clock=clock,
                entropy=urandom,
                judge=_Judge,
                keep=lost.keep,
                progress=progress,
            )
        if not lost.count:
            (draft / LOST).unlink()
        edits_left = _copy_edits(location.folder / EDITS, draft / EDITS)
        salvaged = _folded(draft / DATABASE, salvaged, clock)
        _know_state_files(msgspec.structs.replace(location, folder=draft), clock)
        sync(draft)
        draft.rename(target)
        sync(target.parent)
    except OSError as error:
        raise RefusedError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        # Closing its folders may fail as well.
        with suppress(OSError):
            shutil.rmtree(draft, ignore_errors=True)
    return SalvagedLog(
        folder=str(target),
        whole=salvaged.problem is None and not edits_left,
        position=salvaged.head.position,
        head=salvaged.head.hash.hex(),
        problem=salvaged.problem,
        unread_pages=salvaged.unread,
        ranges=[SalvagedRange(*one) for one in salvaged.ranges],
        lost=str(target / LOST) if lost.count else None,
        lost_events=lost.count,
        edits_left=edits_left,
    )


def _check_target(location: Location, target: Path) -> None:
    if os.path.lexists(target):
        raise RefusedError(
            f"{target} already exists: salvage never overwrites anything",
            hint="specify a folder that does not exist yet",
            file=str(target),
        )
    if not target.parent.is_dir():
        raise RefusedError(f"{target.parent} is not a folder", file=str(target.parent))
    if target.is_relative_to(location.folder.resolve()):
        raise RefusedError(
            f"{target} is in the folder of the damaged log, which must not change",
            hint="specify another folder",
            file=str(target),
        )


@contextmanager
def _private(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new private file, which is synced to disk afterwards."""
    with held_open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as descriptor:
        os.fchmod(descriptor, 0o600)
        with open(descriptor, "wb", closefd=False) as file:
            yield file
        os.fsync(descriptor)


class _Lost:
    """The file that contains the events missing from the new log."""

    def __init__(self, file: IO[bytes]) -> None:
        self.count = 0
        self._file = file

    def keep(self, event: RecordedEvent, problem: str) -> None:
        """Write an event as a line, with the reason why it was lost."""
        fields: dict[str, Any] = {"problem": problem, **msgspec.structs.asdict(event)}
        payload = fields.pop("payload")
        fields = {k: v.hex() if isinstance(v, bytes) else v for k, v in fields.items()}
        fields["data"] = _shown(payload)
        with suppress(UnreadableError):
            # As in `log --json`: the current format, and the stored payload if it differs.
            today = CODEC.today(event)
            if today is not payload:
                fields |= {"data": _shown(today), "stored": _shown(payload)}
        self._file.write(msgspec.json.encode(fields) + b"\n")
        self.count += 1


def _shown(payload: object) -> object:
    """Return a payload as JSON; if it is damaged, return as much text as possible."""
    if not isinstance(payload, bytes):
        return payload
    try:
        msgspec.json.decode(payload)
        return msgspec.Raw(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return payload.decode(errors="backslashreplace")


class _Judge:
    """Determines why an event cannot be read although its hash matches."""

    def __init__(self, erasures: Callable[[], Iterator[RecordedEvent]]) -> None:
        self._found = erasures

    @cached_property
    def _erasures(self) -> Erasures:
        return erasures_in(self._found())

    def __call__(self, event: RecordedEvent) -> str | None:
        if event.payload is None:
            if not is_folded(event.stream):
                return None
            return "its payload was erased: no state can be derived from it"
        if event.salt is None:
            place = event.stream, event.version, event.type
            if not self._erasures.tell_of(*place, event.payload):
                return f"{UNSAID}, and no event records it"
        try:
            CODEC.decode(event)
        except UnreadableError as error:
            return str(error.fields["problem"])
        return None


def _copy_edits(source: Path, target: Path) -> int:
    """Copy the stored third-party edits; return the number that could not be copied."""
    if not source.is_dir():
        return 0
    target.mkdir(mode=0o700)
    left = 0
    for edit in source.iterdir():
        copy = target / edit.name
        try:
            if edit.is_symlink():
                raise OSError(f"{edit} was not made by sprintlog")
            replace_file(copy, read_whole(edit), mode=0o600)
        except OSError:
            left += 1
    sync(target)
    return left


def _folded(database: Path, salvaged: Salvaged, clock: Clock) -> Salvaged:
    """Return the result, adding any problem found when the new log is folded."""
    try:
        log = SqliteLog(database, clock=clock, entropy=urandom, readonly=True)
        with closing(log):
            fold_all(log)
    except UnreadableError as error:
        return salvaged._replace(problem=salvaged.problem or error.message)
    return salvaged


def _know_state_files(location: Location, clock: Clock) -> None:
    """Register the state files that match the new log but are not yet recorded in it."""
    log = SqliteLog(location.database, clock=clock, entropy=urandom)
    with Workspace(location, log, clock=clock) as workspace:
        for name in workspace.sprints():
            with suppress(SprintlogError):
                SprintFile(workspace).know_same(workspace.sprint(name))
        with suppress(SprintlogError):
            JournalFile(workspace).know_same(workspace.journal())
