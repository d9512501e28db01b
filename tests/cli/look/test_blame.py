"""`blame`: who set a field, when and why."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ..conftest import Run

IMPLEMENT = "phases[build].steps[login].phases[implement]"


@pytest.fixture
def history(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint failed, was rolled back, and continued."""
    done("phase", "start")
    done("phase", "complete", "--summary", "on a branch")
    done("phase", "start", "--actor", "agent:coder")
    cause = done("phase", "fail", "--error", "429", "--category", "network", "--json").json
    done("note", "who is it?", "--causation-id", cause[0]["id"])
    done("rollback", "version:3", "--reason", "wrong branch")
    return sprint


def blamed(done: Run, *arguments: str) -> Any:
    """Return the answer about one field."""
    return done("why", *arguments, "--json").json


def test_names_the_event_and_its_reason(history: Path, done: Run) -> None:
    """The setter of a field is printed with place, time, actor, and reason."""
    found = blamed(done, f"{IMPLEMENT}.error", "--at", "version:7")
    assert (found["value"], found["reason"]) == ("429", "429")
    event = found["event"]
    assert (event["type"], event["version"], event["position"]) == ("phase-failed", 6, 6)
    assert event["actor"] == "runtime"
    lines = done("why", "phases[setup].summary", "--at", "version:7").out.splitlines()
    assert lines[0] == "phases[setup].summary: on a branch"
    assert lines[1].startswith("  set by        phase-completed  version 4  position 4  ")
    assert lines[2] == "  reason        on a branch"


def test_tells_what_it_was_before(history: Path, done: Run) -> None:
    """The value set by the event is printed; a new field is marked."""
    found = blamed(done, "phases[setup].status", "--at", "version:7")
    assert (found["was_present"], found["before"]) == (True, "in-progress")
    found = blamed(done, "stats.completed-phases", "--at", "version:7")
    assert (found["value"], found["before"]) == (1, 0)
    found = blamed(done, "phases[setup].summary", "--at", "version:7")
    assert (found["was_present"], found["before"]) == (False, None)
    # A rollback refers to the discarded event; its undo to the restored one.
    assert blamed(done, "phases[setup].summary")["before"] == "on a branch"
    done("undo")
    lines = done("why", "phases[setup].status", "phases[setup].summary").out
    assert lines.count("\n  before        in-progress\n") == 1
    assert lines.count("\n  before        (not there)\n") == 1


def test_explains_a_line_of_the_state_file_as_its_field(
    history: Path, done: Run, run: Run
) -> None:
    """Each line of PROGRESS.yaml has its field's answer; an edited line has none."""
    file = history / "PROGRESS.yaml"
    for line in done("why", "--all", "--json").out.splitlines():
        told = msgspec.json.decode(line)
        found = blamed(done, f"PROGRESS.yaml:{told['line']}")
        assert found == blamed(done, told["field"])
    file.write_text(file.read_text().replace("setup", "build", 1))
    number = file.read_text()[: file.read_text().index("build")].count("\n") + 1
    for edited in (number, 10_000):
        assert f"has no line {edited}" in run("why", f"PROGRESS.yaml:{edited}").err


@pytest.mark.parametrize(
    ("address", "field"), [("build/login/implement", IMPLEMENT), ("12", 'phases["12"]')]
)
def test_hints_at_the_field_of_an_address(
    history: Path, done: Run, run: Run, address: str, field: str
) -> None:
    """An address is not a field; the hint is the command for the status of that leaf."""
    done("phase", "inject", "--prompt", "Count to 12", "--id", "12")
    result = run("why", address)
    assert result.code == 3
    assert f"`sprintlog why '{field}.status'`" in result.err
    assert done("why", f"{field}.status").out


@pytest.mark.parametrize(
    "file", [".ralph/progress.json", "other/PROGRESS.yaml", "PROGRESS.yaml.checksum"]
)
def test_refuses_a_line_of_another_state_file(
    sprint: Path, done: Run, run: Run, file: str
) -> None:
    """No snapshot contains such a file, so no author of its lines is stated."""
    done("journal", "pattern", "add", "Tests first", "--type", "build-pattern")
    done("sprint", "create", "other", "--goal", "All", "--sprint-dir", "other")
    done("sprint", "start", "--sprint", "other")
    (sprint / "PROGRESS.yaml.checksum").touch()
    assert (sprint / file).exists()
    result = run("why", f"{file}:1", "--sprint", "auth")
    assert (result.code, f"{file} is written by sprintlog" in result.err) == (1, True)


def test_names_what_a_rollback_brought_back(history: Path, done: Run) -> None:
    """For a rollback, the event that the value comes from is also named."""
    found = blamed(done, "phases[setup].status")
    assert (found["event"]["type"], found["reason"]) == ("rolled-back", "wrong branch")
    assert found["brought_back"]["version"] == 3
    done("undo")
    found = blamed(done, "phases[setup].status")
    assert found["event"]["version"] == 10
    assert found["brought_back"]["type"] == "phase-completed"


def test_names_the_event_in_force_beside_a_voided_one(history: Path, done: Run) -> None:
    """After a rollback without changes, blame also names the event it has discarded."""
    done("phase", "complete", "--summary", "again")
    done("phase", "reopen", "setup")
    done("phase", "start", "setup")
    done("rollback", "version:3")
    found = blamed(done, "phases[setup].status")
    assert (found["event"]["version"], found["brought_back"]["version"]) == (12, 3)
    assert "  now in force  phase-started  " in done("why", "phases[setup].status").out
    assert "phase-started (voided, now 3)" in done("why", "--all").out


def test_follows_derived_fields(history: Path, done: Run) -> None:
    """Pointer, counters, times and parents change without being named by an event."""
    at = ("--at", "version:7")
    assert blamed(done, "current.phase", *at)["event"]["type"] == "phase-completed"
    assert blamed(done, "current.step", *at)["event"]["version"] == 4
    assert blamed(done, "stats.completed-phases", *at)["event"]["version"] == 4
    assert blamed(done, "phases[build].status", *at)["event"]["type"] == "phase-failed"
    assert blamed(done, "stats.total-phases")["event"]["type"] == "sprint-compiled"


def test_tells_what_was_taken_away(history: Path, done: Run) -> None:
    """A field that no longer exists was set by the event that removed it."""
    found = blamed(done, f"{IMPLEMENT}.error")
    assert (found["present"], found["value"]) == (False, None)
    assert (found["event"]["version"], found["brought_back"]) == (9, None)
    assert "(not there)" in done("why", f"{IMPLEMENT}.error").out


def test_tells_the_chain_of_causes(history: Path, done: Run) -> None:
    """The causes of an event are printed, nearest first."""
    note = done("log", "--type", "note-added", "--json").json
    done("phase", "complete", "--causation-id", note["id"], "--correlation-id", "night-7")
    found = blamed(done, "phases[setup].completed-at")
    assert [event["version"] for event in found["causes"]] == [8, 6]
    lines = done("why", "phases[setup].completed-at").out
    assert "  caused by     note-added  version 8" in lines
    assert "  part of       night-7\n" in lines


def test_tells_a_cause_from_elsewhere(history: Path, done: Run) -> None:
    """A cause outside of this log is named, and ends the chain."""
    done("phase", "complete", "--causation-id", "ticket-9")
    assert blamed(done, "phases[setup].elapsed")["causes"] == []
    lines = done("why", "phases[setup].elapsed").out
    assert "  caused by     ticket-9, which is not in this log\n" in lines


def test_takes_several_fields(history: Path, done: Run) -> None:
    """Each field has its answer, in the given order."""
    answers = done("why", "status", "/phases/0/id", "--json").lines
    assert [answer["field"] for answer in answers] == ["status", "/phases/0/id"]


def test_tells_every_line_of_the_file(history: Path, done: Run) -> None:
    """`--all` is the state file with the event of each line."""
    lines = done("why", "--all", "--json").lines
    text = (history / "PROGRESS.yaml").read_text()
    assert [line["text"] for line in lines] == text.splitlines()
    by_field = {line["field"]: line for line in lines}
    status = by_field["phases[setup].status"]
    assert (status["type"], status["version"], status["brought_back"]) == (
        "rolled-back",
        9,
        3,
    )
    assert by_field["phases[setup].id"]["type"] == "sprint-compiled"
    people = done("why", "--all").out.splitlines()
    assert people[3].endswith("│   - id: setup")
    assert "rolled-back (of 3)" in people[4]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("phases[nope].status",), 3, "there are: setup, build, review"),
        (("stats.nope",), 3, "total-phases"),
        (("src/login.py",), 3, "`sprintlog why src/login.py:1`"),
        (("phases[",), 1, "does not name a field"),
        ((), 2, "--all"),
        (("status", "--all"), 2, "--all"),
    ],
)
def test_says_what_could_be_asked(
    history: Path, run: Run, arguments: tuple[str, ...], code: int, said: str
) -> None:
    """A field that never existed is not found; the hint names existing ones."""
    result = run("why", *arguments)
    assert result.code == code
    assert said in result.err
