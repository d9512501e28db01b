"""Old sessions with erased calls, and everything that reads them afterwards."""

import json
import sqlite3
from contextlib import closing
from os import urandom
from pathlib import Path

import pytest

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores import open_log
from sprintlog.projections.workspace import wall_clock

from ...conftest import Run
from ...plumbing.sessions.test_sessions import tell

SECRET = "opensesame-4711"
ERASE = ("store", "prune", "--sessions", "--older-than", "0m")


def of_session(**fields: object) -> bytes:
    """Return the input of a hook of Claude Code in one session."""
    return json.dumps({"session_id": "s-1", **fields}).encode()


def call(name: str) -> bytes:
    """Return the input after a command."""
    return of_session(
        hook_event_name="PostToolUse",
        tool_name="Bash",
        tool_input={"command": f"echo {SECRET} {name}"},
        tool_use_id=name,
    )


@pytest.fixture
def log(sprint: Path, done: Run) -> Path:
    """Provide the folder of a log with a sprint and a session that was queried."""
    tell(sprint, of_session(hook_event_name="SessionStart", source="startup"))
    tell(sprint, *map(call, ("one", "two", "three")))
    tell(sprint, of_session(hook_event_name="SessionEnd", reason="exit"))
    done("query", "SELECT count(*) FROM v_tool_calls")
    folder = sprint / ".sprintlog"
    assert {"log.db", "query.db"} & {*holding(folder)}
    return folder


def events_of(database: Path) -> list[RecordedEvent]:
    """Return all events of a log."""
    with closing(open_log(str(database), clock=wall_clock, entropy=urandom)) as opened:
        return list(opened.read())


def holding(folder: Path) -> list[str]:
    """Return the files of a folder that contain the secret."""
    found = (p for p in folder.rglob("*") if p.is_file())
    return sorted(p.name for p in found if SECRET.encode() in p.read_bytes())


def test_calls_of_old_sessions_are_erased(log: Path, done: Run) -> None:
    """No file contains the calls' texts any longer; the calls are still listed."""
    answer = done(*ERASE, "--json").json
    assert (answer["sessions"], answer["payloads"]) == (["claude-s-1"], 3)
    assert [event["type"] for event in answer["events"]] == ["payload-erased"]
    assert holding(log) == []
    lines = done("log", "--session", "s-1").out.splitlines()
    assert sum("tool-called" in line and "[erased]" in line for line in lines) == 3
    assert "3 [erased]" in done("show", "session").out
    (whole,) = done("show", "session", "s-1", "--json").lines
    assert (whole["events"], whole["erased"], whole["reason"]) == (5, 3, "exit")
    assert "[erased]" in done("show", "event", "5").out


def test_the_log_is_sound_and_says_what_went(log: Path, done: Run) -> None:
    """`verify` and `doctor` find no problem, and `log` shows the erasure and reason."""
    done(*ERASE, "--actor", "operator:me")
    assert done("verify", "--full", "--json").json["sound"]
    assert "agent sessions: 1" in done("doctor").out
    said = events_of(log / "log.db")[-1]
    assert (said.type, said.stream) == ("payload-erased", "erasures")
    assert said.actor == "operator:me"
    data = json.loads(said.payload or b"")
    assert data["payloads"] == 3
    span = {"stream": "session/claude-s-1", "first": 1, "last": 5, "only": "tool-called"}
    assert data["spans"] == [span]
    assert "payload-erased sessions older than" in done("log", "--all").out


def test_sql_tells_of_calls_without_their_words(log: Path, done: Run) -> None:
    """The query copy is recreated: the calls are listed, without texts."""
    done(*ERASE)
    asked = "SELECT count(*) AS n, count(command) AS said FROM v_tool_calls"
    assert done("query", asked, "--json").lines == [{"n": 3, "said": 0}]
    asked = "SELECT tool_calls, failed_calls FROM v_sessions"
    assert done("query", asked, "--json").lines == [{"tool_calls": 3, "failed_calls": 0}]
    assert holding(log) == []


def test_a_copy_for_queries_that_is_left_is_made_anew(log: Path, done: Run) -> None:
    """If a process died before the copy was removed, the next query removes it."""
    copies = {path: path.read_bytes() for path in log.glob("query.db*")}
    done(*ERASE)
    for path, content in copies.items():
        path.write_bytes(content)
    assert holding(log) == ["query.db"]
    done("query", "SELECT 1")
    assert holding(log) == []


def test_twice_is_once(log: Path, done: Run) -> None:
    """If nothing is left to be erased, nothing is recorded."""
    done(*ERASE)
    before = events_of(log / "log.db")
    assert "0 events of 0 sessions erased" in done(*ERASE).out
    assert events_of(log / "log.db") == before


def test_a_dry_run_and_younger_sessions_change_nothing(
    log: Path, run: Run, done: Run
) -> None:
    """A preview is printed; younger events stay; without an age it is refused."""
    before = events_of(log / "log.db")
    assert "would erase 3 events of claude-s-1" in done(*ERASE, "--dry-run").out
    assert "0 events" in done("store prune", "--sessions", "--older-than", "1d").out
    assert "--older-than" in run("store prune", "--sessions").err
    assert events_of(log / "log.db") == before


def test_a_session_that_goes_on_is_recorded_as_before(log: Path, done: Run) -> None:
    """A repeated call is still the same event; new ones have their text."""
    done(*ERASE)
    tell(log.parent, call("two"), call("four"))
    calls = [e for e in events_of(log / "log.db") if e.type == "tool-called"]
    assert [e.payload is None for e in calls] == [True, True, True, False]
    done(*ERASE)
    calls = [e for e in events_of(log / "log.db") if e.type == "tool-called"]
    assert [e.payload is None for e in calls] == [True] * 4


def test_the_gap_travels(
    log: Path, done: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Export and import, backup and salvage preserve the gap; the copies are intact."""
    done(*ERASE)
    original = events_of(log / "log.db")
    (tmp_path / "lines").write_text(done("store export").out)
    done("store backup", tmp_path / "copy.db")
    assert events_of(tmp_path / "copy.db") == original
    done("doctor", "--salvage", tmp_path / "saved")
    assert events_of(tmp_path / "saved" / "log.db") == original
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    done("init", "--here")
    done("store import", tmp_path / "lines")
    assert events_of(tmp_path / "other" / ".sprintlog" / "log.db") == original
    assert done("verify", "--json").json["sound"]
    assert holding(tmp_path) == []


def test_sprints_do_not_notice(log: Path, done: Run) -> None:
    """State files, forks and rebuilds are the same as without it."""
    file = log.parent / "PROGRESS.yaml"
    before = file.read_bytes()
    done(*ERASE)
    file.unlink()
    done("rebuild")
    assert file.read_bytes() == before
    done("fork", "other", "--from", "start")
    assert "auth" in done("status", "--sprint", "auth").out


def test_a_payload_that_went_unsaid_is_damage(log: Path, run: Run, done: Run) -> None:
    """Emptying an event by hand is detected: no event records the erasure."""
    done(*ERASE)
    with closing(sqlite3.connect(log / "log.db")) as held, held:
        (trigger,) = held.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'events_never_change'"
        ).fetchone()
        held.execute("DROP TRIGGER events_never_change")
        held.execute("UPDATE events SET payload = NULL WHERE type = 'session-started'")
        held.execute(trigger)
    assert "its payload is gone, and no event records an erasure" in run("verify").out
