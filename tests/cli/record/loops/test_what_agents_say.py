"""Agents' requests, proposals and learnings are recorded once, by all entry points."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "abcdef"
SAID = {
    "status": "completed",
    "summary": "did it",
    "operatorRequests": [
        {"title": f"Token {TOKEN}", "priority": "critical", "type": "security"},
        {"title": "Odd", "priority": "urgent", "type": "bug"},
    ],
    "proposedSteps": [{"prompt": "Test it\nall", "reasoning": "none is there"}],
    "learnings": [{"type": "build-command", "content": f"make with {TOKEN}"}],
}
REQUEST = {"title": "Odd", "priority": "low", "type": "bug"}
PLAN = "phases: [{id: a, prompt: x}, {id: b, prompt: y}]"


def answering(folder: Path, said: object = SAID) -> list[str]:
    """Return the command of an agent that always gives the same answer."""
    script = folder / "agent.py"
    script.write_text(f"import sys; sys.stdin.read(); print({json.dumps(said)!r})")
    return [sys.executable, str(script)]


@pytest.fixture
def planned(folder: Path, done: Run) -> Path:
    """Return a folder with a sprint of two phases."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init", "--here")
    done("sprint", "create", "one", "--plan", "plan.yaml")
    return folder


def queue(done: Run) -> list[tuple[str, str, str]]:
    """Return id, type and title of each request."""
    found = done("queue", "list", "--json").json
    return [(entry["id"], entry["type"], entry["title"]) for entry in found]


def notes(done: Run) -> list[str]:
    """Return the texts of all notes."""
    events = done("log", "--json").lines
    return [e["data"]["text"] for e in events if e["type"] == "note-added"]


def test_run_queues_what_its_agent_says(planned: Path, run: Run, done: Run) -> None:
    """Repeated in every phase it is one request; malformed, a note; secrets are masked."""
    result = run("run", "--json", "--", *answering(planned))
    assert result.code == 24
    assert "requests are undecided: req-1" in result.json["why"]
    (first, second) = queue(done)
    assert first[:2] == ("req-1", "security")
    assert "[masked: " in first[2]
    assert second == ("req-2", "improvement", "Test it")
    problem, learned, *_ = notes(done)
    assert "operatorRequests[1].priority: must be one of critical" in problem
    assert "(build-command): make with [masked: " in learned
    for file in (planned / ".sprintlog").rglob("*"):
        assert not file.is_file() or TOKEN.encode() not in file.read_bytes()
    done("verify")


def test_an_approved_step_is_worked_on(planned: Path, run: Run, done: Run) -> None:
    """The agent is handed the prompt that the request carries."""
    run("run", "--", *answering(planned, {**SAID, "operatorRequests": []}))
    done("sprint", "reopen")
    done("queue", "approve", "req-1", "--reasoning", "yes")
    action = done("next", "--json").json
    assert action["phase"] == "fix-req-1-0"
    assert "Test it\nall" in action["prompt"]


def test_learnings_go_into_the_journal_that_is_open(
    planned: Path, run: Run, done: Run
) -> None:
    """Once, by type, from this sprint; retired learnings are not added again."""
    done("journal", "open")
    run("run", "--", *answering(planned, {**SAID, "operatorRequests": []}))
    (learned,) = done("journal learning list", "--json").json
    assert (learned["type"], learned["source_prd_id"]) == ("build-command", "one")
    assert "[masked: " in learned["content"]
    assert "[masked: " in (planned / ".ralph/progress.json").read_text()
    assert not notes(done)
    done("journal learning retire", learned["id"])
    done("sprint", "create", "two", "--plan", "plan.yaml", "--sprint-dir", "two")
    run(
        "run",
        "--sprint",
        "two",
        "--",
        *answering(planned, {**SAID, "operatorRequests": []}),
    )
    assert done("journal learning list", "--json").json == []


def test_no_journal_is_begun_by_an_answer(planned: Path, run: Run, done: Run) -> None:
    """Without a journal, the learning is a note in the sprint, and no file is created."""
    run("run", "--", *answering(planned))
    assert not (planned / ".ralph").exists()
    assert any("the agent learned" in note for note in notes(done))


def test_a_full_journal_stops_no_loop(planned: Path, run: Run, done: Run) -> None:
    """A learning that the journal refuses is a note with the reason; the loop continues."""
    done("journal", "open")
    last = {"id": "learning-9999", "type": "tool-usage", "content": "x"}
    journal = json.loads((planned / ".ralph/progress.json").read_text())
    full = {"source_prd_id": "p", "created_at": "2026-01-15T09:00:00Z", "still_valid": True}
    journal["learnings"] = [{**last, **full}]
    (planned / "full.json").write_text(json.dumps(journal))
    done("import", "journal", "full.json")
    said = {**SAID, "operatorRequests": []}
    assert run("run", "--", *answering(planned, said)).code == 0
    assert any("the journal refuses them" in note for note in notes(done))


def test_a_journal_that_cannot_be_written_stops_no_loop(
    planned: Path, run: Run, done: Run
) -> None:
    """The learning is in the log; an obstacle in the place of its file is a warning."""
    done("journal", "open")
    (planned / ".ralph/progress.json").unlink()
    (planned / ".ralph").rmdir()
    (planned / ".ralph").write_text("mine")
    result = run("run", "--", *answering(planned, {**SAID, "operatorRequests": []}))
    assert result.code == 0, result.err
    assert "warning: .ralph/progress.json: cannot be brought up to date" in result.err
    assert len(done("journal learning list", "--json").json) == 1
    assert (planned / ".ralph").read_text() == "mine"


def test_wrap_queues_and_changes_nothing_else(folder: Path, done: Run) -> None:
    """The command's output and exit status are unchanged; its requests are recorded."""
    done("init", "--here")
    said = json.dumps({**SAID, "status": "failed"})
    line = [sys.executable, "-m", "sprintlog.cli", "wrap", "--"]
    command = ["sh", "-c", 'printf "%s\\n" "$1"; exit 3', "-", said]
    ended = subprocess.run([*line, *command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (3, f"{said}\n")
    assert [kind for _, kind, _ in queue(done)] == ["security", "improvement"]


def test_an_iteration_ended_by_an_output_queues(planned: Path, run: Run, done: Run) -> None:
    """`iteration end --from` records requests and learnings; repeated, nothing."""
    done("journal", "open")
    (planned / "out.json").write_text(
        json.dumps({"type": "result", "result": json.dumps(SAID), "is_error": False})
    )
    done("sprint", "start")
    done("iteration", "start")
    done("iteration", "end", "--from", "out.json")
    assert len(queue(done)) == 2
    assert len(done("journal learning list", "--json").json) == 1
    before = len(done("log", "--json").lines)
    done("iteration", "end", "--from", "out.json")
    assert len(done("log", "--json").lines) == before


def test_the_prompts_digest_is_recorded(planned: Path, run: Run, done: Run) -> None:
    """The event of a run identifies the prompt of the agent."""
    run("run", "--", "tee", "handed.txt")
    ran = [e["data"] for e in done("log", "--json").lines if e["type"] == "agent-ran"]
    handed = (planned / "handed.txt").read_bytes()
    assert ran[-1]["prompt_sha256"] == sha256(handed).hexdigest()


def test_what_repeats_the_prompt_asks_for_nothing(
    folder: Path, run: Run, done: Run
) -> None:
    """A request in the phase's prompt is not the agent's."""
    line: Any = json.dumps({"operatorRequests": SAID["operatorRequests"]})
    plan = {"phases": [{"id": "a", "prompt": f"End with\n{line}"}]}
    (folder / "plan.json").write_text(json.dumps(plan))
    done("init", "--here")
    done("sprint", "create", "one", "--plan", "plan.json")
    assert run("run", "--", "cat").code == 0
    assert queue(done) == []


def test_a_megabyte_of_requests_is_taken_in_bounds(
    planned: Path, run: Run, done: Run
) -> None:
    """The first hundred are queued, a note counts the others, and the loop continues."""
    asked = [
        {"title": f"{n}", "description": "x" * 900, "priority": "low", "type": "docs"}
        for n in range(1_100)
    ]
    said = {"status": "completed", "operatorRequests": asked}
    assert len(json.dumps(said)) > 10**6
    assert run("run", "--", *answering(planned, said)).code == 0
    assert len(queue(done)) == 100
    assert "only the first 100 of 1100 are taken" in notes(done)[0]


def test_requests_outlive_undo_and_a_second_run(planned: Path, run: Run, done: Run) -> None:
    """Learnings remain known if the work is discarded and repeated."""
    said = {**SAID, "operatorRequests": [{**REQUEST, "id": "V1S"}]}
    run("run", "--", *answering(planned, said))
    before = queue(done)
    done("rollback", "start", "--yes")
    assert queue(done) == before
    done("sprint", "start")
    run("run", "--", *answering(planned, said))
    assert queue(done) == before
    assert len(before) == 2
    assert before[0][0] == "V1S"


def test_each_sprint_has_its_own_requests(planned: Path, run: Run, done: Run) -> None:
    """A request made in two sprints of one log is in both queues."""
    said = {**SAID, "operatorRequests": [REQUEST], "proposedSteps": []}
    done("sprint", "create", "two", "--plan", "plan.yaml", "--sprint-dir", "two")
    for name in ("one", "two"):
        assert run("run", "--sprint", name, "--", *answering(planned, said)).code == 0
        found = done("queue", "list", "--sprint", name, "--json").json
        assert [entry["title"] for entry in found] == ["Odd"]


def test_what_cannot_wait_stops_the_loop_at_once(
    planned: Path, run: Run, done: Run
) -> None:
    """`--stop-on-request` includes the agent's latest requests; nothing else starts."""
    result = run("run", "--stop-on-request", "critical", "--", *answering(planned))
    assert result.code == 24
    assert "undecided urgent requests: req-1" in result.out
    types = [event["type"] for event in done("log", "--json").lines]
    assert types.count("agent-ran") == 1


def test_what_was_put_off_comes_back_at_the_end_of_its_phase(
    planned: Path, run: Run, done: Run
) -> None:
    """An agent's request is deferred and returned like any other."""
    said = {**SAID, "operatorRequests": [REQUEST], "proposedSteps": []}
    run("run", "--stop-on-request", "low", "--", *answering(planned, said))
    done("queue", "defer", "req-1", "--until", "end-of-phase", "--reasoning", "later")
    result = run("run", "--", *answering(planned, said))
    assert result.code == 24
    types = [event["type"] for event in done("log", "--json").lines]
    assert (types.count("request-queued"), types.count("request-returned")) == (1, 1)
