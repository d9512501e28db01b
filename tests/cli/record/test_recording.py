"""Recording through the command line: the answers and the contents of the files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

State = Callable[[], Any]


def test_answers_with_the_recorded_events_place(sprint: Path, done: Any) -> None:
    """With --json a recording command returns the place of its event in the log."""
    answer = done("phase", "start", "setup", "--json").json
    assert set(answer) == {"position", "stream", "version", "id", "type", "hash"}
    assert (answer["position"], answer["version"]) == (3, 3)
    assert (answer["stream"], answer["type"]) == ("sprint/auth", "phase-started")


def test_answers_with_a_list_for_several_events(sprint: Path, done: Any) -> None:
    """Several events of one action are returned as a list, in order."""
    done("phase", "start", "setup")
    answers = done("phase", "fail", "setup", "--error", "no", "--json").json
    assert [a["type"] for a in answers] == ["phase-failed", "sprint-blocked"]


def test_writes_the_state_file_after_recording(
    sprint: Path, done: Any, state: State
) -> None:
    """After a recording command PROGRESS.yaml has the recorded state."""
    done("phase", "start", "--model", "opus", "--at", "2026-01-15T09:05:00Z")
    assert state()["phases"][0]["status"] == "in-progress"
    assert state()["phases"][0]["model"] == "opus"
    assert state()["last-activity"] == "2026-01-15T09:05:00Z"


def test_takes_the_pointers_leaf_by_default(sprint: Path, done: Any, state: State) -> None:
    """Without a name the leaf that the pointer is on is meant."""
    for _ in range(2):
        done("phase", "start")
        done("phase", "complete")
    assert state()["current"] == {"phase": 1, "step": 0, "sub-phase": 1}


def test_records_the_same_command_only_once(sprint: Path, done: Any) -> None:
    """The same command with the same content records nothing."""
    done("phase", "start", "setup")
    again = done("phase", "start", "setup", "--json").json
    assert again == {"unchanged": True, "stream": "sprint/auth", "version": 3}


def test_refuses_with_the_state_and_what_is_allowed(sprint: Path, run: Any) -> None:
    """A refusal exits with 1, names status and allowed commands, and changes nothing."""
    before = (sprint / "PROGRESS.yaml").read_bytes()
    result = run("phase", "complete", "setup", "--json")
    error = json.loads(result.err)
    assert result.code == 1
    assert (error["state"], error["command"]) == ("pending", "complete")
    assert error["allowed"] == ["start", "block", "skip"]
    assert (sprint / "PROGRESS.yaml").read_bytes() == before
    assert len(run("log", "--json").lines) == 2


def test_answers_a_repeated_key_with_the_first_result(sprint: Path, done: Any) -> None:
    """The same key and content returns the first event, marked as a duplicate."""
    arguments = ("note", "look here", "--key", "k1", "--json")
    first, second = done(*arguments).json, done(*arguments).json
    assert second == {**first, "duplicate": True}


def test_refuses_a_key_for_something_else(sprint: Path, run: Any) -> None:
    """A key used before for other content is a conflict, exit code 5."""
    run("note", "look here", "--key", "k1")
    result = run("note", "look there", "--key", "k1")
    assert result.code == 5
    assert "k1" in result.err


def test_refuses_another_expected_version(sprint: Path, run: Any) -> None:
    """If a stream is not at the expected version, the conflict names both versions."""
    result = run("phase", "start", "--expect", "7", "--json")
    error = json.loads(result.err)
    assert result.code == 5
    assert (error["expected"], error["actual"]) == (7, 2)
    assert run("phase", "start", "--expect", "2").code == 0


def test_names_an_unknown_phase(sprint: Path, run: Any) -> None:
    """An address that is not in the plan ends with 3 and suggests one that is."""
    result = run("phase", "start", "implement")
    assert result.code == 3
    assert "did you mean `build/login/implement`?" in result.err


def test_refuses_a_parents_address(sprint: Path, run: Any) -> None:
    """A parent gets its status from its children; a leaf is suggested."""
    result = run("phase", "start", "build/login")
    assert result.code == 1
    assert "build/login/implement" in result.err


def test_asks_which_sprint_when_several_are_open(folder: Path, run: Any, done: Any) -> None:
    """With several unfinished sprints elsewhere a command is refused, listing them."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: x}]")
    done("init")
    for name in ("auth", "other"):
        done("sprint", "create", name, "--plan", "plan.yaml", "--sprint-dir", name)
    result = run("phase", "start")
    assert result.code == 1
    assert "auth, other" in result.err
    assert run("sprint", "start", "--sprint", "auth").code == 0


def test_resumes_a_blocked_sprint_with_who_and_why(sprint: Path, run: Any) -> None:
    """After a block, resuming requires who resolved it and why."""
    run("sprint", "block", "--reason", "no credentials")
    assert run("sprint", "resume").code == 1
    assert run("sprint", "resume", "--by", "ana", "--why", "got them").code == 0
    event = run("log", "--type", "sprint-resumed", "--json").lines[0]
    assert event["data"] == {"by": "ana", "why": "got them"}


def test_refuses_a_meaningless_actor(sprint: Path, run: Any) -> None:
    """An actor is runtime, agent:…, operator:… or import:…; anything else is usage."""
    assert run("phase", "start", "--actor", "somebody").code == 2


def test_keeps_who_did_it(sprint: Path, done: Any) -> None:
    """The actor of an event is the given one."""
    done("phase", "start", "--actor", "agent:coder")
    assert done("log", "--last", "1", "--json").json["actor"] == "agent:coder"


def test_masks_secrets_unless_told_not_to(sprint: Path, done: Any) -> None:
    """A token in a text is masked before it is recorded; --no-mask preserves it."""
    token = "ghp_" + "a1" * 18
    done("note", f"use {token}")
    done("note", f"use {token}", "--no-mask")
    texts = [e["data"]["text"] for e in done("log", "--last", "2", "--json").lines]
    assert texts == ["use [masked: github-token 3e74e065]", f"use {token}"]


def test_two_sprints_never_share_a_file(sprint: Path, run: Any) -> None:
    """A second sprint in the same folder is refused: each has a separate state file."""
    result = run("sprint", "create", "other", "--plan", "plan.yaml")
    assert result.code == 1
    assert "belongs to sprint auth" in result.err
    assert [row["sprint"] for row in run("sprint", "list", "--json").json] == ["auth"]


@pytest.mark.parametrize("command", [["log"], ["replay"], ["rebuild"], ["sprint", "pause"]])
def test_names_an_unknown_sprint(sprint: Path, run: Any, command: list[str]) -> None:
    """A sprint that is not in the log ends with 3, in reading and in recording."""
    assert run(*command, "--sprint", "nosuch").code == 3


def test_tells_what_happens_inside_when_asked(sprint: Path, run: Any) -> None:
    """With --verbose, stderr names the opened log; without it, stderr is empty."""
    assert "log opened" in run("-v", "phase", "start").err
    assert run("phase", "complete").err == ""


SECRET = "ghp_" + "a1" * 18


@pytest.mark.parametrize(
    "command",
    [
        ["note", SECRET],
        ["rollback", "start", "--reason", SECRET],
        ["sprint", "pause", "--reason", SECRET],
        ["sprint", "needs-human", "--reason", "x", "--details", SECRET],
        ["phase", "skip", "--reason", SECRET],
        ["append", "note-added", "--data", json.dumps({"text": SECRET})],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_no_command_records_a_token(sprint: Path, done: Any, command: list[str]) -> None:
    """Whatever the command, a token in its text does not reach the log."""
    done(*command)
    assert SECRET not in done("log", "--json").out


def test_a_plan_is_asked_for_slips(folder: Path, run: Any) -> None:
    """An unknown key of a plan is stored and reported, or refused with `--strict`."""
    plan = "phases: [{id: a, prompt: x, brake: true, gate: {script: x, max_retries: 1}}]\n"
    (folder / "plan.yaml").write_text(plan)
    run("init")
    words = ("sprint", "create", "auth", "--plan", "plan.yaml")
    refused = run(*words, "--strict")
    assert (refused.code, refused.err.splitlines()) == (
        1,
        [
            "error: plan.yaml: phases[0].brake: is unknown and has no effect",
            "hint: did you mean break?",
        ],
    )
    told = run(*words)
    assert (told.code, told.err.splitlines()) == (
        0,
        [
            "warning: plan.yaml: phases[0].brake is an unknown field; did you mean break?",
            "warning: plan.yaml: phases[0].gate.max_retries is an unknown field; "
            "did you mean max-retries?",
            "hint: run `sprintlog sprint start` to start the sprint; its state file is "
            "PROGRESS.yaml",
        ],
    )
    assert "brake: true" in (folder / "PROGRESS.yaml").read_text()


def test_a_number_alone_shows_the_event_of_that_position(sprint: Path, done: Any) -> None:
    """`log` prints numbers; `show` accepts one as printed."""
    assert done("show", "2", "--json").json == done("show", "event", "2", "--json").json
