"""A loop whose agent makes requests is killed after any append, and ends the same."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from .judged_loops import drive

PLAN = """\
retry: {maxAttempts: 2, backoffMs: [1]}
phases:
  - {id: a, prompt: Do a}
  - {id: b, prompt: Do b, gate: {script: test -e repaired, on-fail-prompt: Repair it}}
"""
AGENT = """\
cat > prompt.txt
grep -q 'Repair it' prompt.txt && touch repaired
test "$PHASE_ID$ATTEMPT_NUMBER" = a1 && cat network.json || cat good.json
"""
SAID: dict[str, Any] = {
    "status": "completed",
    "summary": "did it",
    "operatorRequests": [{"title": "Odd", "priority": "low", "type": "bug"}, {}],
    "proposedSteps": ["Test it"],
    "learnings": ["use make"],
}


@pytest.fixture
def prepare(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that creates a sprint in a separate folder."""

    def make(name: str) -> Path:
        tree = folder / name
        tree.mkdir()
        monkeypatch.chdir(tree)
        (tree / "plan.yaml").write_text(PLAN)
        (tree / "agent.sh").write_text(AGENT)
        (tree / "good.json").write_text(json.dumps(SAID))
        failed = {**SAID, "status": "failed", "error": "ECONNRESET"}
        (tree / "network.json").write_text(json.dumps(failed))
        done("init", "--here")
        done("sprint", "create", "one", "--plan", "plan.yaml")
        done("journal", "open")
        return tree

    return make


def outcome(tree: Path) -> dict[str, Any]:
    """Return the requests, learnings and work, without times."""
    written = json.loads((tree / ".ralph/progress.json").read_text())["learnings"]
    with Workspace.open(tree) as workspace:
        sprint = workspace.sprint("one")
        phases = sprint.plan.document["phases"]
        return {
            "queue": [(q["id"], q["title"], q["status"]) for q in sprint.queue],
            "learned": [one.content for one in workspace.document().learnings],
            "written": [one["content"] for one in written],
            "phases": [(p["status"], p.get("retry-count")) for p in phases],
            "notes": [e.type for e in workspace.events("one")].count("note-added"),
            "runs": sprint.knowledge.spent.runs,
        }


@pytest.mark.long
def test_killed_after_any_append_nothing_is_said_twice(prepare: Any) -> None:
    """After a retry, a repair or a kill the same is reported; it is recorded once."""
    tree = prepare("undisturbed")
    last, appends = drive(tree)
    assert last is not None
    expected = outcome(tree)
    assert expected == {
        "queue": [("req-1", "Odd", "pending"), ("req-2", "Test it", "pending")],
        "learned": ["use make"],
        "written": ["use make"],
        "phases": [("completed", 1), ("completed", None)],
        # Each of the four runs reports the malformed items.
        "notes": 4,
        "runs": 4,
    }
    for place in range(1, appends):
        tree = prepare(f"killed-{place}")
        assert drive(tree, appends=place)[0] is None
        again, _ = drive(tree)
        assert again is not None
        assert again.do == last.do
        assert outcome(tree) == expected, place
    assert appends > 10
    assert os.getcwd() == str(tree)
