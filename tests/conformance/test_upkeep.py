"""The contract of every store for the separate head and for its own integrity."""

from pathlib import Path

import pytest

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.envelope import Head, NewEvent
from sprintlog.engine.log.port import Log
from sprintlog.engine.log.stores import create_log, open_log

from .conftest import AT_HAND, address, seeded, ticking

NOTE = NewEvent(
    type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="runtime"
)


def test_the_head_is_kept_apart(log: Log) -> None:
    """After every append, the separate head equals that of the log."""
    for version in range(3):
        assert log.acknowledged() == log.head()
        log.append("a", [NOTE], expect=version)
    log.check_acknowledged()
    assert log.acknowledged() == log.head()
    assert log.last_position() == 3


def test_a_log_holds_what_it_recorded(log: Log) -> None:
    """A log contains each of its events and the start of every log, and nothing else."""
    first, last = log.append("a", [NOTE] * 2, expect=0).events
    assert log.holds(Head(0, bytes(32)))
    assert log.holds(Head(1, first.hash))
    assert log.holds(Head(2, last.hash))
    assert not log.holds(Head(1, last.hash))
    assert not log.holds(Head(3, last.hash))


def test_a_sound_store_has_no_problems(log: Log) -> None:
    """No problem is found in a new log, and its journal mode is explained."""
    log.append("a", [NOTE], expect=0)
    assert list(log.problems()) == []
    assert set(log.described()) == {"journal", "why"}


def test_bytes_are_found_in_all_that_is_kept(log: Log) -> None:
    """Every named part is searched, for each encoding of the text."""
    secret = NewEvent(
        type="note-added", payload=b'{"t":"needle"}', at=NOTE.at, actor="runtime"
    )
    log.append("a", [NOTE, secret], expect=0)
    log.checkpoints.save("a", 64, b"\0needle\0", format_=1)
    log.checkpoints.keep_status("needle", 2, "paused")
    log.digests.know("needle/PROGRESS.yaml", bytes(32), version=1)
    kept = {"checkpoints", "events", "statuses", "written"}
    assert kept <= set(log.parts())
    assert log.parts() == sorted(log.parts())
    found = list(log.holding([b"nothing", b"needle"], log.parts()))
    assert sorted(one.split()[0] for one in found) == sorted(kept)
    assert list(log.holding([b"needle"], ["events"])) == ["events 2 a"]
    assert list(log.holding([b"pin"], log.parts())) == []


@pytest.mark.parametrize("name", [*AT_HAND, ""])
def test_an_address_chooses_the_store(tmp_path: Path, name: str) -> None:
    """Each store is created by its address; a plain path means SQLite."""
    url = address(name, tmp_path / "log").removeprefix(":")
    log = create_log(url, clock=ticking(), entropy=seeded())
    log.append("a", [NOTE], expect=0)
    log.close()
    again = open_log(url, clock=ticking(), entropy=seeded())
    assert again.last_position() == (0 if name == "memory" else 1)
    again.close()


@pytest.mark.parametrize("url", ["redis:log", "http://x", ":x"])
def test_an_unknown_address_is_refused(url: str) -> None:
    """An unknown store is not mistaken for a path, and the stores are named."""
    with pytest.raises(InvalidInputError, match="an address must start with"):
        open_log(url, clock=ticking(), entropy=seeded())
