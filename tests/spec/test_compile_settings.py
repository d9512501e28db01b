"""What a plan says beside its phases: Ralph mode, hooks, retry, limits."""

from pathlib import Path

import pytest

from sprintlog.engine.sprint.plan import create_sprint
from sprintlog.engine.sprint.state import Sprint

from .definitions import Data, compiled

RALPH = """\
mode: ralph
goal-prompt: Plan it
reflection-prompt: Think
per-iteration-hooks:
  - id: learning
    prompt: /extract $ITERATION_TRANSCRIPT
    parallel: true
    enabled: false
  - id: docs
    workflow: plugin:docs
"""
GOAL = "workflow: main\ngoal: |\n  Build it\n"
SIMPLE = "phases: [{id: a, prompt: x}]\n"


def plan(folder: Path, sprint: str, main: str) -> Data:
    """Return the plan."""
    return compiled(folder, sprint, main=main).plan


def test_a_ralph_sprint_has_no_phases(tmp_path: Path) -> None:
    """A Ralph plan holds its goal, settings, hooks, and an exit that was not detected."""
    found = plan(tmp_path, f"{GOAL}sprint-id: r\n", RALPH)
    assert found == {
        "sprint-id": "r",
        "mode": "ralph",
        "goal": "Build it\n",
        "ralph": {"idle-threshold": 3},
        "goal-prompt": "Plan it",
        "reflection-prompt": "Think",
        "per-iteration-hooks": [
            {
                "id": "learning",
                "prompt": "/extract $ITERATION_TRANSCRIPT",
                "parallel": True,
                "enabled": False,
            },
            {
                "id": "docs",
                "workflow": "plugin:docs",
                "parallel": False,
                "enabled": True,
            },
        ],
        "dynamic-steps": [],
        "hook-tasks": [],
        "ralph-exit": {"detected-at": None, "iteration": None, "final-summary": None},
    }
    [fact] = create_sprint(Sprint("r"), plan=found)
    assert "phases" not in fact.document  # type: ignore[attr-defined]


def test_a_sprint_switches_hooks(tmp_path: Path) -> None:
    """`per-iteration-hooks` of the sprint turns the workflow's on and off."""
    switches = (
        "per-iteration-hooks:\n  learning: {enabled: true}\n  docs: {enabled: false}\n"
    )
    hooks = plan(tmp_path, GOAL + switches, RALPH)["per-iteration-hooks"]
    assert [hook["enabled"] for hook in hooks] == [True, False]


def test_hooks_belong_to_phases_as_well(tmp_path: Path) -> None:
    """A workflow of phases may have hooks."""
    main = f"{SIMPLE}per-iteration-hooks: [{{id: a, prompt: x}}]\n"
    hooks = plan(tmp_path, "workflow: main\n", main)["per-iteration-hooks"]
    assert hooks == [{"id": "a", "prompt": "x", "parallel": False, "enabled": True}]


def test_ralph_settings_of_the_sprint_win(tmp_path: Path) -> None:
    """The sprint's settings go over the workflow's, theirs over the defaults."""
    main = f"{RALPH}ralph: {{idle-threshold: 5, min-iterations: 2}}\n"
    found = plan(tmp_path, f"{GOAL}ralph: {{min-iterations: 4}}\n", main)
    assert found["ralph"] == {"idle-threshold": 5, "min-iterations": 4}


def test_a_goal_can_stand_beside_phases(tmp_path: Path) -> None:
    """A sprint of phases keeps its goal, and does not become a Ralph sprint."""
    found = plan(tmp_path, GOAL, SIMPLE)
    assert (found["goal"], "mode" in found, "ralph" in found) == (
        "Build it\n",
        False,
        False,
    )


def test_the_retry_policy_is_kept(tmp_path: Path) -> None:
    """`retry` stands in the plan as it was written."""
    retry = {"maxAttempts": 2, "backoffMs": [10], "retryOn": ["timeout"]}
    sprint = (
        "workflow: main\nretry: {maxAttempts: 2, backoffMs: [10], retryOn: [timeout]}\n"
    )
    assert plan(tmp_path, sprint, SIMPLE)["retry"] == retry


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("max-iterations: 30", {"max-iterations": 30}),
        ("config: {max-iterations: 30}", {"max-iterations": 30}),
        ("max-iterations: unlimited", None),
        ("max-iterations: 0", None),
        ("config: {max-tasks: 10}", None),
        ("config:", None),
    ],
)
def test_iterations_may_be_limited(
    tmp_path: Path, line: str, expected: Data | None
) -> None:
    """`max-iterations` of the sprint or its `config` goes to the figures."""
    found = plan(tmp_path, f"workflow: main\n{line}\n", SIMPLE)
    assert found.get("stats") == expected


def test_other_keys_are_left_out(tmp_path: Path) -> None:
    """What belongs to other tools is allowed and does not get into the plan."""
    sprint = "workflow: main\nowner: ana\nworktree: {enabled: true}\ngithub: {labels: []}\n"
    assert set(plan(tmp_path, sprint, SIMPLE)) == {"sprint-id", "phases"}
