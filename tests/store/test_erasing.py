"""Erased text is in none of the files of a SQLite log, whenever it was stopped."""

import random
import sqlite3
import string
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from os import urandom
from pathlib import Path

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent, Span
from sprintlog.engine.log.port import Wait
from sprintlog.engine.log.stores.sqlite import journal_mode
from sprintlog.engine.log.stores.sqlite.store import SqliteLog

AT = "2026-01-30T12:00:00Z"
NEEDLE = b"opensesame-4711"
SAID = NewEvent("payload-erased", b'{"reason":"old"}', AT, "operator")
SIZES = (20, 12_000, 900_000)


def letters(size: int) -> bytes:
    """Return a text that is like no other."""
    return "".join(random.choices(string.ascii_letters, k=size)).encode()


def note(text: bytes) -> NewEvent:
    """Return an event that contains it."""
    return NewEvent("note-added", b'{"text":"' + text + b'"}', AT, "runtime")


def opened(path: Path, **options: object) -> SqliteLog:
    """Return the log of a path."""
    return SqliteLog(path, clock=lambda: 1, entropy=urandom, **options)  # type: ignore[arg-type]


def holding(folder: Path, needle: bytes) -> list[str]:
    """Return the files that contain some bytes."""
    return sorted(
        p.name for p in folder.rglob("*") if p.is_file() and needle in p.read_bytes()
    )


@pytest.fixture(params=["wal", "rollback"])
def path(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Provide a log in both journal modes."""
    if request.param == "rollback":
        monkeypatch.setattr(journal_mode, "LOCAL", frozenset())
    path = tmp_path / "log" / "log.db"
    SqliteLog.create(path, clock=lambda: 1, entropy=urandom).close()
    return path


@pytest.fixture
def log(path: Path) -> Iterator[SqliteLog]:
    """Provide the open log."""
    with closing(opened(path, wait=Wait(0.2))) as log:
        yield log


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", SIZES)
def test_no_file_holds_what_was_erased(log: SqliteLog, path: Path, size: int) -> None:
    """No byte of small payloads, of large ones or of those on separate pages remains."""
    texts = [letters(size) for _ in range(4)]
    for text in texts:
        log.append("a", [note(b"x" * 300), note(text)], expect=log.version("a"))
    assert all(holding(path.parent, text[:20]) for text in texts)
    log.erase([Span("a", 1, 6)], stream="erasures", said=SAID)
    for text in texts[:3]:
        parts = {text[at : at + 20] for at in range(0, len(text) - 19, 997)}
        assert not [part for part in parts if holding(path.parent, part)]
    assert holding(path.parent, texts[3][:20])
    assert not path.with_name("log.db-erasing").exists()


def test_the_log_protects_its_events_as_before(log: SqliteLog, path: Path) -> None:
    """Before and after it no event can be changed, and the schema is ours."""
    log.append("a", [note(b"x")], expect=0)
    log.erase([Span("a", 1, 1)], stream="erasures", said=SAID)
    with closing(sqlite3.connect(path)) as other, pytest.raises(sqlite3.IntegrityError):
        other.execute("UPDATE events SET payload = NULL")
    opened(path).close()
    assert list(log.problems()) == []


def test_a_log_for_reading_only_is_left_as_it_is(log: SqliteLog, path: Path) -> None:
    """A process that must not record must not erase."""
    log.append("a", [note(b"x")], expect=0)
    with closing(opened(path, readonly=True)) as reading:
        with pytest.raises(RefusedError):
            reading.erase([Span("a", 1, 1)], stream="erasures", said=SAID)
        with pytest.raises(RefusedError):
            reading.give_back()
    assert [event.payload for event in log.read()] == [b'{"text":"x"}']


def test_another_process_goes_on_behind_it(log: SqliteLog, path: Path) -> None:
    """A process with the log open sees the gap, and appends after the erasure."""
    log.append("a", [note(b"x")], expect=0)
    with closing(opened(path)) as other:
        other.append("a", [note(b"y")], expect=1)
        log.erase([Span("a", 1, 2)], stream="erasures", said=SAID)
        assert [event.payload is None for event in other.read()] == [True, True, False]
        other.append("a", [note(b"z")], expect=2)
        assert list(check_chain(other.read())) == []


@pytest.mark.parametrize("path", ["wal"], indirect=True)
def test_a_reader_in_the_way_holds_up_the_last_step_alone(
    log: SqliteLog, path: Path
) -> None:
    """While another process reads, old pages stay in the journal until the next opening."""
    log.append("a", [note(NEEDLE)], expect=0)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        log.erase([Span("a", 1, 1)], stream="erasures", said=SAID)
        assert holding(path.parent, NEEDLE)
        assert path.with_name("log.db-erasing").exists()
    opened(path).close()
    assert holding(path.parent, NEEDLE) == []
    assert not path.with_name("log.db-erasing").exists()


KILLED = """
import os, sys
from sprintlog.engine.log.envelope import NewEvent, Span
from sprintlog.engine.log.stores.sqlite import journal_mode
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
path, mode, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
if mode == "rollback":
    journal_mode.LOCAL = frozenset()
log = SqliteLog(path, clock=lambda: 1, entropy=os.urandom)
said = NewEvent("payload-erased", b'{"reason":"old"}', "2026-01-30T12:00:00Z", "operator")
count = 0
def step(frame, event, arg):
    global count
    if "sqlite" in frame.f_code.co_filename:
        count += 1
        if count == last:
            os._exit(9)
    return step
sys.settrace(step)
log.erase([Span("a", 1, 1)], stream="erasures", said=said)
sys.settrace(None)
os._exit(0)
"""


@pytest.mark.sampled(1)
def test_killed_anywhere_it_is_done_or_not_begun(path: Path, tmp_path: Path) -> None:
    """At whatever line the process dies, the next opening finds all of it or nothing."""
    mode = "wal" if journal_mode.LOCAL else "rollback"
    with closing(opened(path)) as log:
        log.append("a", [note(NEEDLE * 900), note(b"y")], expect=0)
    whole = {p.name: p.read_bytes() for p in path.parent.iterdir()}
    found = set()
    chance = random.Random(20260115)
    ended, lines = False, iter([*sorted(chance.sample(range(1, 400), 24)), 10**6])
    while not ended:
        for old in path.parent.iterdir():
            old.unlink()
        for name, content in whole.items():
            (path.parent / name).write_bytes(content)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), mode, str(next(lines))]
        )
        assert done.returncode in (0, 9)
        ended = not done.returncode
        with closing(opened(path)) as log:
            said = log.version("erasures")
            gone = [event.payload is None for event in log.read_stream("a")]
            assert gone == [bool(said), False]
            assert list(check_chain(log.read())) == []
        assert bool(holding(path.parent, NEEDLE)) is not bool(said)
        assert not path.with_name("log.db-erasing").exists()
        found.add(said)
    assert found == {0, 1}
