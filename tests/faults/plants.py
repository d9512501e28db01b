"""Defects that an instrument must find: planted into a child process, never in the code."""

import json
import os
import stat
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from sprintlog.cli import record
from sprintlog.engine.adapters import replace
from sprintlog.engine.adapters.replace import FilePlace, forget_left_behind, swap_file
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores.sqlite import creation, database, journal_mode, store
from sprintlog.engine.log.stores.sqlite.journal_mode import JournalMode
from sprintlog.projections.state_files import files


def rollback_journal() -> None:
    """Choose the rollback journal wherever the log is; this is not a defect."""
    _choose(False)


def write_ahead_log() -> None:
    """Choose the write-ahead log wherever the log is; this is not a defect."""
    _choose(True)


def acknowledge_first() -> None:
    """Answer before the event is committed."""

    def acknowledge(events: list[RecordedEvent]) -> Any:
        answer = {"position": events[-1].position, "hash": events[-1].hash.hex()}
        os.write(1, json.dumps(answer).encode() + b"\n")
        return insert(events)

    insert: Any = vars(store)["insert"]
    _put(store, "insert", acknowledge)
    _put(record, "answer", lambda outcome, *, as_json: None)


def synchronous_off() -> None:
    """Never wait for the disk."""
    _pragma("OFF")


def journal_gone_unsynced() -> None:
    """Do not sync the folder after the rollback journal is deleted."""
    _pragma("FULL")


def folders_unsynced() -> None:
    """Never sync a folder after creating or renaming something in it."""
    sync = os.fsync

    def skip_folders(descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            sync(descriptor)

    _put(os, "fsync", skip_folders)


def plain_state_files() -> None:
    """Write state files in place instead of writing and renaming a new file."""

    def write(spot: FilePlace, content: bytes, *, like: bytes) -> bytes | None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        with open(os.open(spot.name, flags, dir_fd=spot.folder), "wb") as file:
            file.write(content)
        return None

    _put(replace, "swap_file", write)


def digest_after_rename() -> None:
    """Note the digest only after the file is written."""

    def write(self: files.WrittenFiles, path: str, content: bytes, *, version: int) -> None:
        with self._spot(path) as spot:
            swap_file(spot, content)
            forget_left_behind(spot)
        self.digests.know(path, sha256(content).digest(), version=version)

    _put(files.WrittenFiles, "write", write)


def _choose(wal: bool) -> None:
    mode = JournalMode(wal, "chosen by a test")
    for module in (creation, database):
        _put(module, "choose_journal_mode", lambda folder: mode)


def _pragma(synchronous: str) -> None:
    setting = journal_mode.set_journal_mode

    def set_mode(connection: Any, mode: JournalMode) -> None:
        setting(connection, mode)
        connection.execute(f"PRAGMA synchronous={synchronous}")

    for module in (creation, database):
        _put(module, "set_journal_mode", set_mode)


def _put(owner: Any, name: str, value: Any) -> None:
    """Replace something that must be there, so that a renaming is noticed."""
    assert hasattr(owner, name), name
    setattr(owner, name, value)


PLANTS: dict[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        rollback_journal,
        write_ahead_log,
        acknowledge_first,
        synchronous_off,
        journal_gone_unsynced,
        folders_unsynced,
        plain_state_files,
        digest_after_rename,
    )
}
