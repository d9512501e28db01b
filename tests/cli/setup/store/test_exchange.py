"""`export` and `store import`: the same log again, or nothing."""

import json
import os
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.chain import START, event_hash, header, payload_digest
from sprintlog.engine.log.envelope import DOCUMENT_BYTES_MAX, Head, NewEvent, RecordedEvent
from sprintlog.engine.log.lines import first_line, last_line, line, read_lines
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.schema import EVENTS
from sprintlog.engine.service.place.location import find
from sprintlog.projections.health.exchange import _take_all
from sprintlog.projections.workspace import Workspace

Edit = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def exported(sprint: Path, done: Any) -> list[bytes]:
    """Return the lines of a log of two sprints; the current folder has an empty log."""
    done("phase", "start", "--key", "k")
    done("phase", "fail", "--error", 'é "x"\t', "--category", "network")
    done("sprint", "create", "other", "--plan", "plan.yaml", "--sprint-dir", "other")
    done("rollback", "--sprint", "auth", "version:2")
    done("store", "export", "--out", "log.jsonl")
    return (sprint / "log.jsonl").read_bytes().splitlines(keepends=True)


@pytest.fixture
def empty(exported: list[bytes], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a separate empty log, as the current folder."""
    inside = folder / "empty"
    inside.mkdir()
    monkeypatch.chdir(inside)
    Workspace.init(inside, here=True).close()
    return inside


def test_the_same_log_comes_in(sprint: Path, empty: Path, done: Any) -> None:
    """Positions, hashes, head and state files are those of the log that was exported."""
    answer = done("store", "import", sprint / "log.jsonl", "--json").json
    assert answer["sprints"] == 2
    verified = done("verify", "--json").json
    assert (verified["sound"], verified["head"]) == (True, answer["head"])
    assert done("store", "export").out.encode() == (sprint / "log.jsonl").read_bytes()
    for name in ("PROGRESS.yaml", "other/PROGRESS.yaml"):
        assert (empty / name).read_bytes() == (sprint / name).read_bytes()
    done("phase", "start", "--sprint", "auth")


def test_standard_input_and_output(sprint: Path, empty: Path, done: Any) -> None:
    """Without --out, lines go to standard output; - means standard input."""
    kept = os.dup(0)
    with (sprint / "log.jsonl").open("rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        done("store", "import", "-")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert done("log", "--all").out


def changed(lines: list[bytes], number: int, old: str, new: str) -> list[bytes]:
    """Return lines in which one has a different content."""
    assert old.encode() in lines[number]
    return [
        one.replace(old.encode(), new.encode(), 1) if at == number else one
        for at, one in enumerate(lines)
    ]


def forged(lines: list[bytes], **fields: Any) -> list[bytes]:
    """Return the lines of a valid chain with a changed last event."""
    *_, before, last, _ = read_lines(lines, file="")
    assert isinstance(last, RecordedEvent)
    assert last.salt is not None
    event = structs.replace(last, **fields)
    digest = payload_digest(last.salt, event.payload or b"")
    event = structs.replace(event, payload_digest=digest)
    hash_ = event_hash(before.hash, header(event), digest)
    event = structs.replace(event, hash=hash_)
    end = last_line(Head(event.position, hash_))
    return [*lines[:-2], line(event), end]


def placed(lines: list[bytes], path: str) -> list[bytes]:
    """Return lines whose last event writes its state file elsewhere."""
    payload = json.dumps({"document": {"phases": []}, "place": {"path": path}})
    fields = {"schema_version": 2, "payload": payload.encode()}
    return forged(lines, type="sprint-compiled", **fields)


CASES: dict[str, tuple[Edit, str]] = {
    "nothing": (lambda x: [], ":1: is not the header"),
    "no header": (lambda x: x[1:], ":1: is not the header"),
    "another header": (lambda x: changed(x, 0, "sprintlog-log", "other"), ":1: format"),
    "a newer format": (lambda x: changed(x, 0, ":1", ":2"), ":1: format_version: is 2"),
    "spaces in the header": (lambda x: changed(x, 0, "{", "{ "), ":1: differs from"),
    "a missing line": (lambda x: x[:3] + x[4:], ":4: follows position 2: a gap"),
    "a line twice": (lambda x: x[:4] + x[3:], ":5: "),
    "a line that is cut": (lambda x: [*x[:4], x[4][:50]], ":5: is not an event"),
    "a line without its end": (lambda x: [*x[:4], x[4][:-1]], ":5: differs from"),
    "cut before the head": (lambda x: x[:-1], ":9: the file is truncated"),
    "cut in the middle": (lambda x: x[:4], ":5: the file is truncated"),
    "cut in an append": (lambda x: x[:5] + x[-1:], ":6: "),
    "a second head": (lambda x: [*x, x[-1]], ":10: follows the head"),
    "events behind the head": (lambda x: [*x, x[1]], ":10: follows the head"),
    "the head of less": (
        lambda x: [*x[:-1], last_line(START)],
        ":9: does not match the head of the preceding events",
    ),
    "another actor": (lambda x: changed(x, 2, "runtime", "runtimf"), ":3: the hash"),
    "another payload": (lambda x: changed(x, 1, "Read it", "Heed it"), ":2: the payload"),
    "one more field": (lambda x: changed(x, 1, "{", '{"a":1,'), ":2: is not an event"),
    "spaces": (lambda x: changed(x, 1, ":", ": "), ":2: differs from"),
    "capital digits": (
        lambda x: [
            x[0],
            re.sub(rb'(?<="salt":")\w+', lambda m: m[0].upper(), x[1]),
            *x[2:],
        ],
        ":2: differs from",
    ),
    "one sprint": (
        lambda x: [first_line("sprint/auth"), *x[1:]],
        ":1: stream: contains only sprint/auth",
    ),
    "a newer type": (
        lambda x: forged(x, type="mind-read"),
        ":8: mind-read version 1 is not supported",
    ),
    "a newer shape": (
        lambda x: forged(x, schema_version=9),
        ":8: rolled-back version 9 is not supported",
    ),
    "no event": (lambda x: forged(x, payload=b'{"to":"x"}'), ":8: payload of rolled-back"),
    "no moment": (lambda x: forged(x, at="yesterday"), ":8: at: must be a time"),
    "no time": (lambda x: forged(x, recorded_at="x"), ":8: recorded_at: must be"),
    "no actor": (
        lambda x: forged(x, actor="\x1b"),
        ":8: actor: holds a control character; must be",
    ),
    "no sprint": (lambda x: forged(x, stream="sprint/..", version=1), ":8: stream: "),
    "a key twice": (lambda x: forged(x, key="k"), "is taken"),
    **{
        f"a file at {path}": (
            partial(placed, path=path),
            ":8: place: a state file must be named PROGRESS.yaml",
        )
        for path in (
            *("Makefile", ".github/workflows/ci.yaml", ".git/PROGRESS.yaml"),
            *("../PROGRESS.yaml", "/tmp/PROGRESS.yaml", "PROGRESS.yaml/x", "x.YAML"),
        )
    },
    "unreadable": (
        lambda x: forged(
            x,
            type="sprint-imported",
            payload=b'{"source":"x","patch":[{"op":"remove","path":"/nope/1"}]}',
        ),
        "sprint auth cannot be read",
    ),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_nothing_comes_in_that_was_changed(
    exported: list[bytes], empty: Path, run: Any, name: str
) -> None:
    """Any change to an export's lines is refused by line, and nothing is left."""
    edit, said = CASES[name]
    (empty / "x.jsonl").write_bytes(b"".join(edit(exported)))
    result = run("store", "import", "x.jsonl")
    assert result.code == 1
    assert said in result.err
    assert result.err.startswith("error: ")
    assert run("verify", "--json").json["events"] == 0
    assert not (empty / "PROGRESS.yaml").exists()


@pytest.mark.long
def test_no_byte_can_be_changed(exported: list[bytes]) -> None:
    """Whichever byte of an export is changed, it is refused."""
    whole = b"".join(exported)
    for at in range(len(whole)):
        spoilt = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        with pytest.raises(RefusedError):
            _take_all(
                spoilt.splitlines(keepends=True),
                lambda events: None,
                file="x",
                progress=lambda count: None,
            )


def test_only_into_an_empty_log(sprint: Path, exported: list[bytes], run: Any) -> None:
    """A log with events refuses to import another log."""
    before = run("verify", "--json").json
    result = run("store", "import", "log.jsonl")
    assert result.code == 1
    assert "the log is not empty" in result.err
    assert run("verify", "--json").json == before


def test_a_state_file_that_stands_there_is_left(
    sprint: Path, empty: Path, done: Any
) -> None:
    """A foreign file at a state file's place is unchanged and reported."""
    (empty / "PROGRESS.yaml").write_text("mine: 1\n")
    (empty / "other").mkdir()
    same = (sprint / "other" / "PROGRESS.yaml").read_bytes()
    (empty / "other" / "PROGRESS.yaml").write_bytes(same)
    result = done("store", "import", sprint / "log.jsonl")
    assert (
        "auth: PROGRESS.yaml was edited by others; the file was not changed" in result.err
    )
    assert "warning: other" not in result.err
    assert (empty / "PROGRESS.yaml").read_text() == "mine: 1\n"


def test_never_writes_over_anything(sprint: Path, exported: list[bytes], run: Any) -> None:
    """A file that exists is refused, and a draft never stays."""
    before = (sprint / "log.jsonl").read_bytes()
    assert run("store", "export", "--out", "log.jsonl").code == 1
    assert run("store", "export", "--out", "nowhere/log.jsonl").code == 1
    assert (sprint / "log.jsonl").read_bytes() == before
    assert (sprint / "log.jsonl").stat().st_mode & 0o777 == 0o600
    assert not [path for path in sprint.iterdir() if path.name.endswith(".new")]


def test_one_sprint_can_be_checked_event_by_event(
    sprint: Path, exported: list[bytes], done: Any
) -> None:
    """With --sprint, each line has the previous hash, so that its own can be computed."""
    lines = done("store", "export", "--sprint", "auth").out.splitlines()[1:-1]
    events = [json.loads(one) for one in lines]
    assert [event["version"] for event in events] == list(range(1, len(events) + 1))
    whole = [json.loads(one) for one in exported[1:-1]]
    hashes = {event["position"]: event["hash"] for event in whole}
    for event in events:
        previous = event.pop("previous")
        assert event in whole
        assert previous == hashes.get(event["position"] - 1, START.hash.hex())


def test_a_damaged_log_is_no_export(sprint: Path, run: Any) -> None:
    """A log with a broken chain exits with 4, and leaves no file."""
    with closing(sqlite3.connect(find(sprint).database)) as connection, connection:
        connection.execute("DROP TRIGGER events_never_change")
        connection.execute("UPDATE events SET actor = 'x' WHERE position = 1")
        text = next(sql for sql in EVENTS if "events_never_change" in sql)
        connection.execute(text)
    result = run("store", "export", "--out", "log.jsonl")
    assert result.code == 4
    assert not (sprint / "log.jsonl").exists()


def test_an_erased_payload_travels(sprint: Path, tmp_path: Path) -> None:
    """An event without payload is exported as the same line again."""
    with Workspace.open(sprint) as workspace:
        event = next(workspace.log.read())
    erased = structs.replace(event, payload=None, salt=None)
    lines = [first_line(), line(erased), last_line(Head(1, event.hash))]
    assert next(read_lines(lines, file="x")) == erased


def test_large_payloads_travel(
    sprint: Path, empty: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest payload that a log accepts fits on a line."""
    pairs = (DOCUMENT_BYTES_MAX - 40) // 2
    payload = b'{"source":"' + rb"\"" * pairs + b'","document":{}}'
    told = NewEvent("sprint-imported", payload, "2026-01-15T09:00:00Z", "runtime")
    told = structs.replace(told, payload_bytes_max=DOCUMENT_BYTES_MAX)
    with Workspace.open(empty) as workspace:
        workspace.log.append("sprint/a", [told], expect=Expect.NONE)
    head = done("store", "export", "--out", "large.jsonl", "--json").json["head"]
    (empty / "again").mkdir()
    monkeypatch.chdir(empty / "again")
    done("init", "--here")
    assert done("store", "import", "../large.jsonl", "--json").json["head"] == head
