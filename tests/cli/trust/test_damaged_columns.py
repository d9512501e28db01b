"""Columns with impossible values: each is reported as damage, by every reader."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.stores.sqlite.schema import EVENTS

NEVER_CHANGE = next(text for text in EVENTS if "TRIGGER events_never_change" in text)
SPOILT = {
    "text as version": "version = 'abc'",
    "a fraction as version": "version = 3.5",
    "bytes as stream": "stream = x'41'",
    "bytes as type": "type = x'00ff'",
    "bytes as time": "at = x'ff'",
    "text as shape": "schema_version = 'x'",
    "text as salt": "salt = 'abc'",
    "no salt": "salt = NULL",
    "no payload": "payload = NULL, salt = NULL",
    "a number as payload": "payload = 5",
    "text as digest": "payload_digest = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
    "text as hash": "hash = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
    "bytes as actor": "actor = x'00'",
    "text as observed": "observed = '1x'",
    "text as remaining": "remaining = 'x'",
    "text as a key's digest": "key_digest = 'k'",
}


@pytest.fixture
def spoil(sprint: Path, done: Any) -> Any:
    """Return a function that damages columns of the fourth of five events."""
    for word in ("one", "two", "three"):
        done("note", word)

    def spoil(change: str) -> None:
        database = sprint / ".sprintlog" / "log.db"
        with sqlite3.connect(database) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute("DROP TRIGGER events_never_change")
            connection.execute(f"UPDATE events SET {change} WHERE position = 4")
            connection.execute(NEVER_CHANGE)
            connection.execute("DELETE FROM checkpoints")
        connection.close()

    return spoil


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT)
def test_a_damaged_column_is_told_as_damage(spoil: Any, run: Any, change: str) -> None:
    """Verify names the event, no backup is made, and no traceback is printed."""
    spoil(change)
    checked = run("verify", "--quick")
    assert checked.code == 4
    assert "position 4: " in checked.out
    copied = run("store", "backup", "copy.db")
    assert (copied.code, Path("copy.db").exists()) == (4, False)
    assert "position 4: " in copied.err
    for line in (
        ["status"],
        ["log"],
        ["log", "--json"],
        ["show", "event", 4],
        ["query", "SELECT count(*) FROM v_events"],
        ["note", "more"],
        ["doctor"],
    ):
        answer = run(*line)
        assert answer.code in (0, 4), (line, answer)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("change", SPOILT.values(), ids=SPOILT)
def test_what_was_salvaged_can_be_used(
    spoil: Any, run: Any, done: Any, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """A new log of the intact part is not called complete, verifies, and is usable."""
    spoil(change)
    rescued = run("doctor", "--salvage", "saved")
    assert rescued.code == 4
    assert "position 4: " in rescued.out + rescued.err
    monkeypatch.setenv("SPRINTLOG_DIR", "saved")
    assert done("verify", "--json").json["events"] == 3
    done("note", "it goes on")


def test_a_version_that_is_missing_is_no_shorter_history(
    sprint: Path, spoil: Any, run: Any
) -> None:
    """A state is never computed from a stream with a hole."""
    spoil("stream = 'sprint/other'")
    answer = run("show", "progress", "--sprint", "auth")
    assert answer.code == 4
    assert "are not consecutive" in answer.err
