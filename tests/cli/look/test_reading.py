"""Reading through the command line: as of any point, and never changing anything."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.state_files.yaml.reader import load


@pytest.fixture
def history(sprint: Path, done: Any) -> Path:
    """Return a folder whose sprint had two iterations, one event per minute."""
    steps = [
        ("iteration", "start"),
        ("phase", "start", "setup"),
        ("phase", "complete", "setup"),
        ("iteration", "start"),
        ("phase", "start", "build/login/implement"),
    ]
    for minute, step in enumerate(steps, start=1):
        done(*step, "--at", f"2026-01-15T09:0{minute}:00Z")
    return sprint


def status_at(done: Any, point: str) -> Any:
    """Return `status --json` as of a point."""
    return done("status", "--at", point, "--json").json


@pytest.mark.parametrize(
    ("point", "version"),
    [
        ("start", 1),
        ("version:4", 4),
        ("position:5", 5),
        ("iter:0", 2),
        ("iter:1", 5),
        ("iter:2", 7),
        ("2026-01-15T09:02:30Z", 4),
        ("2026-01-15T10:02:30+01:00", 4),
        ("1m ago", 7),
    ],
)
def test_reads_as_of_every_form(history: Path, done: Any, point: str, version: int) -> None:
    """`--at` accepts a position, a version, an iteration's end, a time, and `ago`."""
    assert status_at(done, point)["version"] == version


@pytest.mark.parametrize("point", ["iter:9", "version:99", "2020-01-01T00:00:00Z"])
def test_says_when_there_was_nothing(history: Path, run: Any, point: str) -> None:
    """A point at which the sprint had nothing ends with 3."""
    assert run("status", "--at", point).code == 3


def test_names_the_allowed_points(history: Path, run: Any) -> None:
    """An invalid point is refused with the valid forms."""
    result = run("status", "--at", "some day")
    assert result.code == 1
    assert "iter:N" in result.err


def test_shows_exactly_the_files_bytes(history: Path, done: Any) -> None:
    """`show progress` prints the bytes of the state file."""
    assert done("show", "progress").out.encode() == (history / "PROGRESS.yaml").read_bytes()


def test_shows_the_file_as_it_was(history: Path, done: Any) -> None:
    """`show progress --at` prints the file of that time."""
    then = load(done("show", "progress", "--at", "version:4").out.encode())
    assert then["phases"][0]["status"] == "in-progress"


def test_logs_whole_envelopes_as_json(history: Path, done: Any) -> None:
    """`log --json` prints every field of the envelope and the data, one event a line."""
    events = done("log", "--json").lines
    assert [event["position"] for event in events] == list(range(1, 8))
    assert {"id", "recorded_at", "actor", "correlation_id", "hash", "data"} <= set(
        events[0]
    )


def test_shows_one_event(history: Path, done: Any) -> None:
    """`show event` prints one event in full."""
    assert done("show", "event", "4", "--json").json["type"] == "phase-started"


def test_replays_what_each_event_changed(history: Path, done: Any) -> None:
    """`replay --json` gives each event's changes; applied in order they give the file."""
    from sprintlog.engine.sprint.state.patch import apply

    document: Any = {}
    for step in done("replay", "--json").lines:
        document = apply(document, step["changes"])
    assert document == load((history / "PROGRESS.yaml").read_bytes())


def test_reading_changes_nothing(history: Path, done: Any) -> None:
    """Read commands write neither events nor state files."""
    (history / "PROGRESS.yaml").unlink()
    for command in (
        ["status"],
        ["log"],
        ["replay"],
        ["show", "progress"],
        ["status", "--json"],
    ):
        done(*command)
    assert len(done("log", "--json").lines) == 7
    assert not (history / "PROGRESS.yaml").exists()


def test_tells_stale_from_alive(history: Path, done: Any) -> None:
    """A running sprint that was silent for more than 15 minutes is stale, when asked."""
    assert done("status", "--json").json["stale"] is True
    done("sprint", "heartbeat")
    assert done("status", "--json").json["stale"] is False


def test_makes_control_characters_visible(sprint: Path, done: Any) -> None:
    """Text from agents cannot act on the terminal."""
    done("note", "red \x1b[31m and \u202e back")
    out = done("log", "--last", "1").out
    assert "\x1b" not in out
    assert "\\x1b[31m" in out
    assert "\\u202e" in out


def test_prints_errors_as_json(folder: Path, run: Any) -> None:
    """With --json an error is an object on stderr, and stdout stays empty."""
    result = run("status", "--json")
    assert (result.code, result.out) == (3, "")
    assert json.loads(result.err)["error"] == "not-found"


def test_replays_from_point_to_point(history: Path, done: Any) -> None:
    """The changes between two points, in order, lead from one document to the other."""
    from sprintlog.engine.sprint.state.patch import apply

    steps = done("replay", "--from", "version:3", "--to", "iter:1", "--json").lines
    assert [step["version"] for step in steps] == [4, 5]
    document = load(done("show", "progress", "--at", "version:3").out.encode())
    for step in steps:
        document = apply(document, step["changes"])
    assert document == load(done("show", "progress", "--at", "iter:1").out.encode())


def test_replays_field_by_field(history: Path, done: Any) -> None:
    """Each event lists its changes by field name, as text and as JSON."""
    done("phase", "fail", "--error", "no disk")
    (*_, failed, blocked) = done("replay", "--json").lines
    fields = {change["field"]: change for change in failed["fields"]}
    assert fields["phases[build].status"]["new"] == "failed"
    assert (failed["reason"], blocked["type"]) == ("no disk", "sprint-blocked")
    shown = done("replay", "--from", "version:7").out.splitlines()
    assert shown[0].endswith("runtime  phase-failed  no disk")
    assert shown[1] == "        phases[build].status: in-progress → failed"


def test_replays_over_rollbacks(history: Path, done: Any) -> None:
    """A rollback is an event whose changes lead back to its target."""
    done("rollback", "version:3")
    (step,) = done("replay", "--from", "version:7", "--json").lines
    (back,) = [c for c in step["fields"] if c["field"] == "stats.current-iteration"]
    assert (step["type"], back["old"], back["new"]) == ("rolled-back", 2, 1)


def test_refuses_to_replay_backwards(history: Path, run: Any) -> None:
    """The first point must precede the second; `--to` and `--at` are equivalent."""
    backwards = run("replay", "--from", "version:5", "--to", "version:2")
    assert (backwards.code, "earlier point first" in backwards.err) == (1, True)
    assert run("replay", "--to", "version:2", "--at", "version:3").code == 2
