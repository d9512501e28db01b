"""Doctor's messages about its findings: a table of cases."""

import re
from typing import Any

import pytest

from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.stores.sqlite.journal_mode import JournalMode
from sprintlog.projections.health.diagnosis import FREE_BYTES_MIN, WAL_BYTES_OVERDUE, judge
from sprintlog.projections.health.findings import (
    ELSEWHERE,
    IN_GIT,
    IN_TREE,
    NOTE,
    OK,
    PROBLEM,
    WARNING,
    AgentLines,
    File,
    Findings,
    Here,
)
from sprintlog.projections.state_files.refresh import Refreshed

HEAD = Head(7, b"\1" * 32)
LOCAL = JournalMode(True, "ext4 is a local file system")
REMOTE = JournalMode(False, "nfs4 is not known as a local file system")
FINE_HERE = Here(
    folder="/home/user/a b/.git/sprintlog",
    versions={"sprintlog": "1", "Python": "3"},
    files=[File("f", 0o700, 1000, 0), File("log.db", 0o600, 1000, 1)],
    user=1000,
    free_bytes=FREE_BYTES_MIN,
    drafts=[],
    displaced=[],
    edits=0,
    snapshots=[],
    set_aside=0,
)
FINE = Findings(
    here=FINE_HERE,
    database="/home/user/a b/.git/sprintlog/log.db",
    place=IN_GIT,
    ignored=None,
    tracked=False,
    chosen=LOCAL,
    wal=True,
    sqlite=(3, 51, 3),
    schema=2,
    schema_known=2,
    litestream=[],
    known=HEAD,
    has_head_file=True,
    head=HEAD,
    holds_known=True,
    wal_bytes=WAL_BYTES_OVERDUE,
    holders=[],
    events=7,
    damage=[],
    unread=None,
    states={"one": Refreshed("PROGRESS.yaml", "same")},
    busy=False,
)
CHECKS = [
    *("log", "git", "file-system", "journal-mode", "sqlite", "versions", "schema"),
    *("permissions", "owner", "hard-links", "space", "wal", "lock", "left-over"),
    *("head-file", "chain", "kept-edits", "snapshots", "state-file"),
]
EDITED = {"one": Refreshed("PROGRESS.yaml", "edited", problem="edited by others")}
UNREAD: dict[str, Any] = {"head": None, "states": {}, "holds_known": False}

SOME = AgentLines("claude", "2.1.330", 100, 5, 12)
MANY = AgentLines("codex", "1.0", 100, 6, 13)
UNNAMED = AgentLines("gemini", None, 19, 1, None)

CASES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"place": ELSEWHERE}, "git", OK, "does not touch"),
    ({"place": IN_TREE, "ignored": True}, "git", OK, "does not touch"),
    ({"place": IN_TREE, "ignored": False}, "git", WARNING, "does not ignore"),
    ({"place": IN_TREE, "tracked": True}, "git", WARNING, "tracks"),
    ({"place": IN_TREE, "ignored": None}, "git", NOTE, "unknown"),
    ({"chosen": REMOTE}, "file-system", NOTE, "nfs4"),
    ({"chosen": REMOTE}, "journal-mode", WARNING, "write-ahead log is used"),
    ({"chosen": REMOTE, "wal": False}, "journal-mode", OK, "rollback journal is"),
    ({"wal": False}, "journal-mode", NOTE, "rollback journal is used"),
    ({"wal": None}, "journal-mode", NOTE, "unknown"),
    ({"sqlite": (3, 40, 1)}, "sqlite", NOTE, "has the WAL-reset bug"),
    ({"sqlite": (3, 44, 6)}, "sqlite", OK, "without"),
    ({"sqlite": (3, 51, 2)}, "sqlite", NOTE, "has the WAL-reset bug"),
    ({"schema": 1}, "schema", NOTE, "1; this sprintlog uses 2"),
    ({"schema": 3}, "schema", PROBLEM, "3; this sprintlog uses 2"),
    ({"schema": None}, "schema", NOTE, "does not state its version"),
    ({"litestream": ["_litestream_seq"]}, "litestream", NOTE, "_litestream_seq"),
    ({"files": [File("x", 0o644, 1000, 1)]}, "permissions", WARNING, "x is 0644"),
    ({"files": [File("x", 0o600, 0, 1)]}, "owner", WARNING, "user 0"),
    ({"above_of_another": "/tree"}, "owner", WARNING, "/tree belongs to another"),
    ({"files": [File("x", 0o600, 1000, 2)]}, "hard-links", PROBLEM, "x"),
    ({"known": None, "has_head_file": False}, "head-file", WARNING, "missing"),
    ({"known": None}, "head-file", WARNING, "damaged"),
    ({"known": Head(9, b"")}, "head-file", PROBLEM, "2 missing"),
    ({"holds_known": False}, "head-file", PROBLEM, "is not the event"),
    ({"known": Head(4, b"")}, "head-file", NOTE, "3 behind"),
    (UNREAD, "head-file", NOTE, "cannot be read"),
    ({"free_bytes": FREE_BYTES_MIN - 1}, "space", WARNING, "less than 64.0 MiB"),
    ({"wal_bytes": WAL_BYTES_OVERDUE + 1}, "wal", WARNING, "overdue"),
    ({"holders": ["process 4711 (python3)"]}, "lock", NOTE, "process 4711"),
    ({"sessions": (2, 9, 2048)}, "sessions", OK, "2, with 9 events in 2.0 KiB"),
    ({"spooled": 8}, "spool", NOTE, "waiting to be recorded: 8"),
    ({"spooled": 10_000}, "spool", WARNING, "further calls are lost"),
    ({"odd_hooks": 3}, "hooks", NOTE, "unrecognized hook inputs: 3"),
    ({"drafts": ["a b"]}, "left-over", NOTE, "a b"),
    ({"displaced": ["old"]}, "left-over", WARNING, "old"),
    ({"damage": ["position 3: x"]}, "chain", PROBLEM, "position 3: x"),
    ({"damage": list("abcdef")}, "chain", PROBLEM, "6 damaged: a, b, c and 3 more"),
    ({**UNREAD, "unread": "no room"}, "chain", WARNING, "no room"),
    (UNREAD, "state-file", NOTE, "not compared"),
    ({"states": EDITED}, "state-file", PROBLEM, "edited by others"),
    ({"states": EDITED, "busy": True}, "state-file", NOTE, "edited by others"),
    ({"damage": ["torn"], "busy": True}, "chain", NOTE, "torn"),
    ({"busy": True}, "others", NOTE, "kept recording"),
    ({"edits": 2}, "kept-edits", NOTE, "2 in"),
    ({"snapshots": ["a is not"]}, "snapshots", PROBLEM, "damaged: a is not"),
    ({"set_aside": 2}, "snapshots", NOTE, "set aside in snapshots/damaged: 2"),
    ({"agents": (SOME,)}, "agents", OK, "recognized: claude 2.1.330"),
    ({"agents": (SOME, MANY)}, "agents", WARNING, "codex 1.0: 6 of 100 lines"),
    ({"agents": (UNNAMED,)}, "agents", WARNING, "gemini (version unknown): 1 of 19"),
]


def found(changed: dict[str, Any]) -> Findings:
    """Return findings of an intact log with some changes."""
    of_log = {name: changed[name] for name in changed if name in Findings._fields}
    of_here = {name: changed[name] for name in changed if name not in of_log}
    return FINE._replace(here=FINE_HERE._replace(**of_here), **of_log)


def test_a_log_without_fault_has_every_check_and_no_hint() -> None:
    """An intact log has one line for each check, and nothing to do."""
    checks = judge(FINE)
    assert [check.check for check in checks] == CHECKS
    assert {(check.status, check.hint) for check in checks} == {(OK, None)}


@pytest.mark.parametrize(("changed", "name", "status", "words"), CASES)
def test_a_finding_has_its_status(
    changed: dict[str, Any], name: str, status: str, words: str
) -> None:
    """Each finding leads to its status, with a message that describes it."""
    checks = [c for c in judge(found(changed)) if c.check == name]
    assert [(check.status, words in check.found) for check in checks] == [(status, True)]


@pytest.mark.parametrize(("changed", "name", "status", "words"), CASES)
def test_what_is_not_ok_says_what_to_do(
    changed: dict[str, Any], name: str, status: str, words: str
) -> None:
    """Every status but ok has a hint, and ok has none."""
    for check in judge(found(changed)):
        assert (check.hint is None) == (check.status == OK)


def test_names_in_commands_are_quoted() -> None:
    """A hinted command can be typed, with or without blanks in names."""
    events = found({"drafts": ["a b"], "files": [File("c d", 0o644, 1000, 1)]})
    commands = " ".join(
        command
        for check in judge(events)
        for command in re.findall(r"`([^`]*)`", check.hint or "")
    )
    assert "rm 'a b'" in commands
    assert "chmod -R go= '/home/user/a b/.git/sprintlog'" in commands
