"""`append`: events by type, one or many lines, under the same rules."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from sprintlog.projections.state_files.yaml.reader import load


def append_lines(folder: Path, *lines: object, arguments: tuple[str, ...] = ()) -> Any:
    """Run `sprintlog append` with these lines on standard input."""
    text = "".join(
        (line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines
    )
    return subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", "append", *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )


def test_records_a_event_by_its_type(sprint: Path, done: Any) -> None:
    """`append TYPE` records the same as the command of that event."""
    answer = done("append", "phase-started", "--data", '{"phase": "setup"}', "--json").json
    assert (answer["type"], answer["version"]) == ("phase-started", 3)


def test_obeys_the_rules(sprint: Path, run: Any) -> None:
    """`append` refuses everything that the command would refuse."""
    result = run("append", "phase-completed", "--data", '{"phase": "setup"}')
    assert result.code == 1
    assert "pending" in result.err


def test_records_what_was_observed_against_the_rules(sprint: Path, done: Any) -> None:
    """`--observed` records events that the rules would refuse, and marks them."""
    done("append", "phase-completed", "--data", '{"phase": "setup"}', "--observed")
    event = done("log", "--last", "1", "--json").json
    assert event["observed"] is True
    assert (
        load((sprint / "PROGRESS.yaml").read_bytes())["phases"][0]["status"] == "completed"
    )


def test_names_a_wrong_field(sprint: Path, run: Any) -> None:
    """An unknown field is named, with the event's fields."""
    result = run("append", "phase-started", "--data", '{"phse": "setup"}', "--json")
    error = json.loads(result.err)
    assert result.code == 1
    assert error["field"] == "data.phse"
    assert error["allowed"] == ["phase", "model"]


def test_refuses_a_type_that_only_rules_cause(sprint: Path, run: Any) -> None:
    """An event that no command can request is refused with its cause."""
    result = run("append", "breakpoint-reached", "--data", '{"phase": "setup"}')
    assert result.code == 1
    assert "break: true" in result.err


def test_answers_every_line_of_a_loop(sprint: Path) -> None:
    """Every line on standard input is answered by one line; the file follows at the end."""
    result = append_lines(
        sprint,
        {"type": "phase-started", "data": {"phase": "setup"}},
        {"type": "phase-completed", "data": {"phase": "setup", "summary": "done"}},
        {"type": "iteration-started", "data": {"number": 1}, "actor": "agent:loop"},
    )
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 0
    assert [a["version"] for a in answers] == [3, 4, 5]
    assert load((sprint / "PROGRESS.yaml").read_bytes())["stats"]["current-iteration"] == 1


def test_goes_on_after_a_bad_line(sprint: Path) -> None:
    """A line that is refused is answered with its error; the others are recorded."""
    result = append_lines(
        sprint,
        "not json",
        {"type": "phase-started", "data": {"phase": "nowhere"}},
        {"type": "phase-started", "data": {"phase": "setup"}, "at": "yesterday"},
        {"type": "phase-started", "data": {"phase": "setup"}},
    )
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 1
    assert [a.get("error") for a in answers] == ["invalid", "not-found", "invalid", None]


def test_records_a_repeated_line_once(sprint: Path) -> None:
    """The same key on two lines is recorded once and answered twice."""
    line = {"type": "note-added", "data": {"text": "hello"}, "key": "n1"}
    first, second = map(json.loads, append_lines(sprint, line, line).stdout.splitlines())
    assert second == {**first, "duplicate": True}


def test_checks_a_whole_document_like_a_file(folder: Path, run: Any) -> None:
    """A plan given as data is checked like one in a file, and named by its field."""
    run("init")
    data = json.dumps(
        {"document": {"sprint-id": "x", "phases": [{"id": 3, "prompt": "p"}]}}
    )
    result = run("append", "sprint-compiled", "--data", data, "--json")
    assert (result.code, json.loads(result.err)["field"]) == (1, "phases[0].id")


def test_observed_events_may_not_break_the_stream(sprint: Path, run: Any) -> None:
    """Events on which everything depends must obey the rules even if observed."""
    result = run("append", "rolled-back", "--data", '{"to": 99}', "--observed")
    assert result.code == 1
    assert run("status").code == 0


def test_gives_an_iteration_its_number(sprint: Path, done: Any) -> None:
    """An iteration without a number gets the next one."""
    done("append", "iteration-started")
    assert done("log", "--last", "1", "--json").json["data"]["number"] == 1
    done("append", "iteration-ended", "--data", '{"summary": "x"}')
    ended = done("log", "--last", "1", "--json").json["data"]
    assert ended == {"number": 1, "summary": "x"}


def test_ends_an_iteration_once(sprint: Path, done: Any) -> None:
    """`iteration end` ends the started iteration; again it records nothing."""
    done("iteration", "start")
    assert done("iteration", "end", "--summary", "x", "--json").json["version"] == 4
    assert done("iteration", "end", "--summary", "x", "--json").json["unchanged"]


def test_warns_of_a_phase_that_is_not_in_the_plan(sprint: Path, done: Any) -> None:
    """An observation of an unknown phase is recorded, with a warning."""
    data = '{"phase": "nowhere"}'
    result = done("append", "phase-completed", "--data", data, "--observed")
    assert "not in the plan" in result.err


def test_names_the_line_that_is_no_json(sprint: Path) -> None:
    """A bad line is named by its number."""
    answer = json.loads(append_lines(sprint, "{}", "nope").stdout.splitlines()[1])
    assert answer["line"] == 2


def test_takes_no_file_of_another_sprint(sprint: Path, run: Any) -> None:
    """A plan given as data cannot take over another sprint's state file."""
    document = {"sprint-id": "other", "phases": [{"id": "a", "prompt": "p"}]}
    data = json.dumps({"document": document, "place": {"path": "PROGRESS.yaml"}})
    result = run("append", "sprint-compiled", "--data", data)
    assert result.code == 1
    assert "sprint auth" in result.err


def test_takes_no_stream_of_another_name(sprint: Path, run: Any) -> None:
    """A plan belongs to the stream of its id, and an id cannot leave its folder."""
    data = json.dumps(
        {"document": {"sprint-id": "b", "phases": [{"id": "a", "prompt": "p"}]}}
    )
    assert (
        run("append", "sprint-compiled", "--data", data, "--stream", "sprint/c").code == 1
    )
    assert (
        run("append", "sprint-compiled", "--data", data, "--stream", "sprint/../x").code
        == 1
    )
    assert len(run("sprint", "list", "--json").json) == 1
