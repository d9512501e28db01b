"""A plan's settings besides its phases: Ralph mode, hooks, retry, limits."""

from pathlib import Path

import pytest

from sprintlog.cli.intake.definition import DefinitionError, compile_files
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint

from .definitions import Data, compiled, write

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
    """A Ralph plan has its goal, settings, hooks, and an exit that was not detected."""
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
            {"id": "docs", "workflow": "plugin:docs", "parallel": False, "enabled": True},
        ],
        "dynamic-steps": [],
        "hook-tasks": [],
        "ralph-exit": {"detected-at": None, "iteration": None, "final-summary": None},
    }
    [event] = CreateSprint(plan=found).decide(Sprint("r"), "2026-01-15T09:00:00Z")
    assert "phases" not in event.document  # type: ignore[attr-defined]


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
    """The sprint's settings override the workflow's, which override the defaults."""
    main = f"{RALPH}ralph: {{idle-threshold: 5, min-iterations: 2}}\n"
    found = plan(tmp_path, f"{GOAL}ralph: {{min-iterations: 4}}\n", main)
    assert found["ralph"] == {"idle-threshold": 5, "min-iterations": 4}


def test_a_goal_can_stand_beside_phases(tmp_path: Path) -> None:
    """A sprint with phases keeps its goal, and does not become a Ralph sprint."""
    found = plan(tmp_path, GOAL, SIMPLE)
    assert (found["goal"], "mode" in found, "ralph" in found) == (
        "Build it\n",
        False,
        False,
    )


def test_the_retry_policy_is_kept(tmp_path: Path) -> None:
    """`retry` is in the plan as written."""
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
    """`max-iterations` of the sprint or its `config` is copied to the figures."""
    found = plan(tmp_path, f"workflow: main\n{line}\n", SIMPLE)
    assert found.get("stats") == expected


def test_other_keys_are_left_out(tmp_path: Path) -> None:
    """Descriptive keys are allowed and not copied to the plan."""
    sprint = "workflow: main\nowner: ana\ncreated: today\ngithub: {labels: []}\n"
    found = compiled(tmp_path, sprint, main=SIMPLE)
    assert set(found.plan) == {"sprint-id", "phases"}
    assert found.warnings == []


def test_what_other_tools_need_is_kept(tmp_path: Path) -> None:
    """Settings for other tools are in the plan: the sprint's override the workflow's."""
    sprint = (
        "workflow: main\nworktree: {enabled: true, branch: b}\nprompts: {header: Hi}\n"
        "config: {max-tasks: 10, time-box: 4h}\noperator: {enabled: true}\nparallel: 2\n"
    )
    main = (
        f"{SIMPLE}worktree: {{enabled: false, cleanup: never}}\norchestration: {{a: 1}}\n"
    )
    found = compiled(tmp_path, sprint, main=main)
    kept = {key: value for key, value in found.plan.items() if key != "phases"}
    assert kept == {
        "sprint-id": tmp_path.name,
        "worktree": {"enabled": True, "cleanup": "never", "branch": "b"},
        "orchestration": {"a": 1},
        "prompts": {"header": "Hi"},
        "operator": {"enabled": True},
        "config": {"max-tasks": 10, "time-box": "4h"},
        "parallel": 2,
    }
    assert found.warnings == []


def test_items_may_be_called_otherwise(tmp_path: Path) -> None:
    """`collection` names the items of a `for-each` and the template variable."""
    sprint = "workflow: main\ncollections: {bugs: [{prompt: Repair it}]}\n"
    main = "phases: [{id: fix, for-each: bug, collection: bugs, workflow: one}]\n"
    one = 'phases: [{id: do, prompt: "{{bug.id}}: {{bugs.prompt}}"}]\n'
    (phase,) = compiled(tmp_path, sprint, main=main, one=one).plan["phases"]
    assert phase["steps"][0]["phases"][0]["prompt"] == "bugs-0: Repair it"


SLIPS = {
    "brake: true": "break",
    "modle: opus": "model",
    "gates: {script: x}": "gate",
    "gate: {script: x, max_retries: 1}": "max-retries",
    "gate: {script: x, on-fail: {promt: y}}": "prompt",
    "gate: {script: x, on-fail-promt: y}": "on-fail-prompt",
    "color: red": None,
}


@pytest.mark.parametrize("slip", SLIPS)
def test_an_unknown_key_is_told(tmp_path: Path, slip: str) -> None:
    """An unknown key is a warning with a suggestion, or an error."""
    main = f"phases:\n  - id: a\n    prompt: x\n    {slip}\n"
    file = write(tmp_path, "workflow: main\nsteps: [{prompt: x}]\n", main=main)
    found = [w for w in compile_files(file).warnings if w.code == "unknown-field"]
    meant = SLIPS[slip]
    assert [one.hint for one in found] == [meant and f"did you mean {meant}?"]
    assert [one.line for one in found] == [4]
    with pytest.raises(DefinitionError) as refused:
        compile_files(file, is_strict=True)
    codes = [one.code for one in refused.value.problems if not one.is_warning]
    assert codes == ["unknown-field"]


def test_templates_may_name_any_field_of_an_item(tmp_path: Path) -> None:
    """Additional fields of an item can be used in templates, unless misspelled."""
    sprint = "workflow: main\nsteps: [{prompt: x, color: red, mode: dark, promt: y}]\n"
    one = 'phases: [{id: do, prompt: "{{item.mode}}"}]\n'
    main = "phases: [{id: all, for-each: step, workflow: one}]\n"
    found = compiled(tmp_path, sprint, main=main, one=one).warnings
    assert [(one.code, one.path[-1]) for one in found] == [("unknown-field", "promt")]
