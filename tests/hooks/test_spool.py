"""Events that the log cannot accept immediately wait in files, and are recorded once."""

import json
import os
import sqlite3
import stat
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from os import urandom
from pathlib import Path

import pytest

from sprintlog.engine.log.stores import open_log
from sprintlog.engine.log.stores.sqlite.database import JITTER_SECONDS
from sprintlog.engine.service.agent_sessions import spool
from sprintlog.engine.service.agent_sessions.hook import WAIT, take_hook
from sprintlog.engine.service.agent_sessions.spool import DRAFT_BYTES_MAX, count_odd
from sprintlog.engine.service.place.location import Location, spool_folders
from sprintlog.projections.workspace import Workspace, wall_clock

from .conftest import SPRINTLOG, Hook, after_tool, events_of


@contextmanager
def locked(log: Path) -> Iterator[None]:
    """Hold the log's lock, like a writer that does not finish."""
    with closing(sqlite3.connect(log / "log.db", isolation_level=None)) as held:
        held.execute("BEGIN IMMEDIATE")
        yield
        held.execute("ROLLBACK")


def spooled(log: Path) -> list[Path]:
    """Return the spooled files next to a log."""
    return sorted((log / "spool").glob("*")) if (log / "spool").exists() else []


def take(log: Path, content: bytes) -> None:
    """Hand a hook its input within this process."""
    place = {"start": log.parent, "folder": None, "safe": log / "none"}
    take_hook("claude", content, **place, environment=os.environ)  # type: ignore[arg-type]


def test_eight_hooks_end_while_the_log_is_locked(log: Path, hook: Hook) -> None:
    """Hooks end while the log is locked; afterwards all events are recorded."""
    with locked(log), ThreadPoolExecutor(8) as pool:
        # The hooks end before the lock is released, so none of them waits.
        list(pool.map(lambda n: hook("claude", after_tool(f"call-{n}")), range(8)))
        assert len(spooled(log)) == 8
    assert events_of(log) == []
    hook("claude", after_tool("after"))
    told = {json.loads(event.payload or b"")["call"] for event in events_of(log)}
    assert told == {"after", *(f"call-{n}" for n in range(8))}
    assert not (log / "spool").exists()


def test_a_hook_waits_as_long_as_it_may_and_no_longer(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a locked log, a hook waits for its time limit once, and then spools the event."""
    began = slept = time.monotonic()

    def sleep(seconds: float) -> None:
        nonlocal slept
        slept += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: slept)
    with locked(log):
        take(log, after_tool())
    waited = slept - began
    assert WAIT.seconds <= waited < WAIT.seconds + JITTER_SECONDS
    assert len(spooled(log)) == 1


def test_what_waits_is_ours_alone_and_holds_no_contents(log: Path, hook: Hook) -> None:
    """A spooled file contains only data to be recorded, readable only by its owner."""
    content = after_tool(tool_input={"file_path": "a", "content": "the whole file"})
    with locked(log):
        hook("claude", content)
    (file,) = spooled(log)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert b"the whole file" not in file.read_bytes()


def test_the_next_recording_command_takes_it_in(
    log: Path, hook: Hook, folder: Path
) -> None:
    """The next recording command records the spooled events with their original times."""
    with locked(log):
        take(log, after_tool())
    at = json.loads(spooled(log)[0].read_bytes())["at"]
    plan = folder / "plan.yaml"
    plan.write_text("phases:\n  - id: build\n    prompt: Build it\n")
    words = ["sprint", "create", "demo", "--plan", str(plan)]
    subprocess.run([*SPRINTLOG, *words], cwd=folder, check=True, capture_output=True)
    assert [(e.type, e.at) for e in events_of(log) if e.type == "tool-called"] == [
        ("tool-called", at)
    ]
    assert not spooled(log)


def test_a_log_that_cannot_be_written_lets_it_wait_at_home(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the log's disk is read-only, events wait in the user's folder, for this log."""
    places = spool_folders(Location(log, log.parent, ""), os.environ)
    real = spool._make

    def make(folder: Path) -> None:
        if folder == places[0]:
            raise OSError(30, "Read-only file system")
        real(folder)

    monkeypatch.setattr(spool, "_make", make)
    with locked(log):
        take(log, after_tool())
    assert not spooled(log)
    assert len(spool.waiting(places)) == 1
    assert stat.S_IMODE(places[1].stat().st_mode) == 0o700
    take(log, after_tool("two"))
    assert len(events_of(log)) == 2
    assert spool.waiting(places) == []


def test_what_is_taken_in_twice_is_one_event(log: Path) -> None:
    """A file left by a process killed after the append results in one event."""
    with locked(log):
        take(log, after_tool())
    (file,) = spooled(log)
    content = file.read_bytes()
    take(log, after_tool("two"))
    file.parent.mkdir(mode=0o700)
    file.write_bytes(content)
    take(log, after_tool("three"))
    assert len(events_of(log)) == 3
    assert not spooled(log)


@pytest.mark.long
def test_two_take_it_in_at_once(log: Path, hook: Hook) -> None:
    """Processes that record the same files at once record each event once."""
    with locked(log):
        for number in range(20):
            take(log, after_tool(f"call-{number}"))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: hook("claude", after_tool(f"more-{n}")), range(4)))
    hook("claude", after_tool("last"))
    keys = [event.key for event in events_of(log)]
    assert len(keys) == len(set(keys)) == 25


def waiting(**other: object) -> bytes:
    """Return a file in our format, with some fields changed."""
    ours = {
        "stream": "session/claude-s",
        "type": "tool-called",
        "data": {"tool": "a"},
        "at": "2026-01-01T00:00:00Z",
        "actor": "agent:claude",
        "key": f"session:{'0' * 40}",
    }
    return json.dumps({**ours, **other}).encode()


HOSTILE = [
    b"",
    b"{}",
    b"\xff" * 99,
    b"[" * 9000,
    b"x" * (DRAFT_BYTES_MAX + 5),
    waiting(stream="sprint/demo", type="sprint-completed", data={}),
    waiting(type="sprint-completed", data={}),
    waiting(data={"tool": 3}),
    waiting(actor="operator:me"),
    waiting(at="yesterday"),
    waiting(key="goal"),
    waiting(stream="session/claude-../x"),
    waiting(correlation="two\nlines"),
    waiting(counts="sprint-started"),
]


@pytest.mark.parametrize("content", HOSTILE)
def test_what_is_no_event_of_ours_is_put_aside(log: Path, content: bytes) -> None:
    """A foreign file among the spooled ones is not recorded, and is moved away."""
    (log / "spool").mkdir(mode=0o700)
    (log / "spool" / f"{1:020d}-ab.json").write_bytes(content)
    take(log, after_tool())
    assert [event.type for event in events_of(log)] == ["tool-called"]
    assert not spooled(log)
    assert count_odd(log) == 1


def test_links_and_pipes_among_what_waits_are_not_followed(
    log: Path, tmp_path: Path
) -> None:
    """Nothing outside is read, and pipes do not block."""
    secret = tmp_path / "secret"
    secret.write_text("words")
    (log / "spool").mkdir(mode=0o700)
    (log / "spool" / f"{1:020d}-ab.json").symlink_to(secret)
    os.mkfifo(log / "spool" / f"{2:020d}-ab.json")
    take(log, after_tool())
    assert len(events_of(log)) == 1
    assert secret.read_text() == "words"
    assert not any(b"words" in f.read_bytes() for f in (log / "not-understood").iterdir())


def test_so_many_wait_and_no_more(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files that wait have a limit, so that no disk gets full of them."""
    monkeypatch.setattr(spool, "FILES_MAX", 3)
    with locked(log):
        for number in range(5):
            take(log, after_tool(f"call-{number}"))
    assert len(spooled(log)) == 3


def test_a_folder_of_somebody_else_is_not_used(log: Path, tmp_path: Path) -> None:
    """A link in the place of the folder leads nowhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (log / "spool").symlink_to(elsewhere)
    with locked(log):
        take(log, after_tool())
    assert list(elsewhere.iterdir()) == []
    assert len(spool.waiting(spool_folders(Location(log, log.parent, ""), os.environ))) == 1


def test_a_damaged_log_loses_nothing(log: Path, hook: Hook) -> None:
    """Input waits while the log cannot be read."""
    database = log / "log.db"
    whole = database.read_bytes()
    database.write_bytes(b"x" * len(whole))
    hook("claude", after_tool())
    assert len(spooled(log)) == 1
    database.write_bytes(whole)
    hook("claude", after_tool("two"))
    assert len(events_of(log)) == 2


def test_what_waits_for_one_log_gets_into_no_other(tmp_path: Path, folder: Path) -> None:
    """The user's folder separates spooled events by log."""
    first, other = (Location(tmp_path / name, tmp_path, "") for name in ("one", "two"))
    assert spool_folders(first, os.environ)[1] != spool_folders(other, os.environ)[1]
    assert len(spool_folders(first, {})) == 1
    Workspace.init(folder, here=True).close()
    opened = open_log(
        str(folder / ".sprintlog" / "log.db"), clock=wall_clock, entropy=urandom
    )
    place = Location(folder / ".sprintlog", folder, "")
    assert spool.take_in(opened, place, spool_folders(place, os.environ), seconds=1) == 0
    opened.close()
