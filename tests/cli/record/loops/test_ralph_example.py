"""The Ralph-mode example of the PROGRESS.yaml schema, by the real command alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sprintlog.projections.state_files.yaml.reader import load

GOAL = "Let people log in with tokens\n"
EXPECTED = """\
mode: ralph
goal: |
  Let people log in with tokens
ralph:
  idle-threshold: 3
per-iteration-hooks:
  - id: learning
    workflow: "house:learning-extraction"
    parallel: true
    enabled: true
dynamic-steps:
  - id: step-0
    prompt: "Lay out the module"
    status: completed
    added-at: "2026-01-18T10:00:00Z"
    added-in-iteration: 1
  - id: step-1
    prompt: "Write the tokens"
    status: in-progress
    added-at: "2026-01-18T10:05:00Z"
    added-in-iteration: 1
hook-tasks:
  - iteration: 1
    hook-id: learning
    status: completed
    pid: null
    transcript: transcripts/iter-1-learning.jsonl
ralph-exit:
  detected-at: null
  iteration: null
  final-summary: null
"""
OURS = ["sprint-id", "status", "current", "stats", "last-activity"]
"""The fields that every document has in addition to those of the example."""


def test_ralph_example_comes_out_of_commands(
    folder: Path, done: Any, state: Callable[[], Any]
) -> None:
    """Commands produce every field of the Ralph-mode example, in order."""
    done("init")
    hook = "id=learning,workflow=house:learning-extraction,parallel=true"
    done("sprint", "create", "auth", "--mode", "ralph", "--goal", GOAL, "--hook", hook)
    commands = [
        ("09:59", "sprint", "start"),
        ("10:00", "iteration", "start"),
        ("10:00", "step", "add", "--prompt", "Lay out the module"),
        ("10:04", "step", "complete", "step-0"),
        ("10:05", "step", "add", "--prompt", "Write the tokens"),
        ("10:05", "step", "update", "step-1", "--status", "in-progress"),
        ("10:06", "hook-task", "spawned", "learning"),
        ("10:06", "hook-task", "running", "learning", "--pid", "4711"),
        ("10:07", "hook-task", "completed", "learning"),
    ]
    for time, *command in commands:
        done(*command, "--at", f"2026-01-18T{time}:00Z")
    document, expected = state(), load(EXPECTED.encode())
    assert [key for key in document if key not in OURS] == list(expected)
    for key, value in expected.items():
        assert (key, document[key]) == (key, value)
        if isinstance(value, dict):
            assert list(document[key]) == list(value)
    for key in ("per-iteration-hooks", "dynamic-steps", "hook-tasks"):
        assert list(map(list, document[key])) == list(map(list, expected[key]))
    assert document["current"] == {"phase": 0, "step": None, "sub-phase": None}
    assert (document["stats"]["total-phases"], document["status"]) == (0, "in-progress")
    assert list(document)[:2] == OURS[:2]


def test_the_same_comes_out_of_a_goal_that_is_set_later(
    folder: Path, done: Any, state: Callable[[], Any]
) -> None:
    """A sprint that started without a goal has the same fields once it has one."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]\n")
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("goal", "set", GOAL, "--idle-threshold", "5", "--max-iterations", "9")
    document = state()
    assert (document["mode"], document["goal"]) == ("ralph", GOAL)
    assert document["ralph"] == {"idle-threshold": 5}
    assert document["stats"]["max-iterations"] == 9
    assert (document["dynamic-steps"], document["hook-tasks"]) == ([], [])
