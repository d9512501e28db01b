"""The result of a definition: phases, steps, ids, models and gates, in order."""

from pathlib import Path

import pytest

from sprintlog.cli.intake.definition import compile_files
from sprintlog.engine.log.codec import encode
from sprintlog.engine.sprint.events import SprintCompiled
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint

from .definitions import Data, compiled, tree, write

STEPS = """\
workflow: main
steps:
  - prompt: Log in
  - prompt: Log out
    id: logout
"""
COLLECTIONS = STEPS.replace("steps:", "collections:\n  step:").replace("\n  -", "\n    -")
COLLECTIONS = COLLECTIONS.replace("\n    id", "\n      id")
MAIN = """\
phases:
  - id: setup
    prompt: Prepare {{sprint.id}}
  - id: build
    for-each: step
    workflow: one
  - id: review
    prompt: Read it
"""
ONE = """\
phases:
  - id: write
    prompt: 'Write: {{item.prompt}}'
  - id: check
    prompt: Check {{step.id}}
"""


def phases(folder: Path, sprint: str, **workflows: str) -> list[Data]:
    """Return the phases of the plan."""
    found: list[Data] = compiled(folder, sprint, **workflows).plan["phases"]
    return found


@pytest.mark.parametrize("sprint", [STEPS, COLLECTIONS])
def test_both_generations_give_the_same(tmp_path: Path, sprint: str) -> None:
    """`steps` is `collections.step`; each item becomes a step with all sub-phases."""
    result = compiled(tmp_path, sprint + "sprint-id: auth\n", main=MAIN, one=ONE)
    assert tree(result.plan) == [
        ("setup", "Prepare auth"),
        ("build", None),
        ("build/step-0", "Log in"),
        ("build/step-0/write", "Write: Log in"),
        ("build/step-0/check", "Check step-0"),
        ("build/logout", "Log out"),
        ("build/logout/write", "Write: Log out"),
        ("build/logout/check", "Check logout"),
        ("review", "Read it"),
    ]


def test_each_for_each_has_its_collection(tmp_path: Path) -> None:
    """A phase iterates over the collection it names, which determines the ids."""
    sprint = "workflow: main\ncollections:\n  bug: [{prompt: B}]\n  step: [{prompt: S}]\n"
    main = "phases:\n  - {id: fix, for-each: bug}\n  - {id: build, for-each: step}\n"
    assert tree(compiled(tmp_path, sprint, main=main).plan) == [
        ("fix", None),
        ("fix/bug-0", "B"),
        ("fix/bug-0/execute", "B"),
        ("build", None),
        ("build/step-0", "S"),
        ("build/step-0/execute", "S"),
    ]


def test_an_item_can_name_its_workflow(tmp_path: Path) -> None:
    """The item's workflow overrides the phase's, with or without a file extension."""
    sprint = STEPS.replace("id: logout", "workflow: two.yaml")
    two = "phases: [{id: only, prompt: x}]\n"
    found = tree(compiled(tmp_path, sprint, main=MAIN, one=ONE, two=two).plan)
    assert [address for address, _ in found if address.startswith("build/step-1")] == [
        "build/step-1",
        "build/step-1/only",
    ]


def test_an_inlined_workflow_stands_in_place(tmp_path: Path) -> None:
    """Its phases, including for-each ones, combine the inlining phase's id with theirs."""
    main = "phases:\n  - {id: a, prompt: x}\n  - {id: all, workflow: inner}\n"
    inner = MAIN.replace("Prepare {{sprint.id}}", "'{{phase.id}} is {{phase.index}}'")
    found = tree(compiled(tmp_path, STEPS, main=main, inner=inner, one=ONE).plan)
    assert [address for address, _ in found if "/" not in address] == [
        "a",
        "all-setup",
        "all-build",
        "all-review",
    ]
    assert ("all-setup", "all-setup is 1") in found
    assert ("all-build/step-0/write", "Write: Log in") in found


def test_a_workflow_of_items_can_inline(tmp_path: Path) -> None:
    """Sub-phases can also come from inlined workflows."""
    one = "phases:\n  - {id: qa, workflow: two}\n"
    two = "phases:\n  - {id: lint, prompt: '{{phase.id}} {{item.index}}'}\n"
    found = tree(compiled(tmp_path, STEPS, main=MAIN, one=one, two=two).plan)
    assert ("build/logout/qa-lint", "qa-lint 1") in found


def test_models_have_an_order(tmp_path: Path) -> None:
    """The step's model overrides the phase's, the sprint's and the workflow's."""
    main = "model: haiku\nphases:\n  - {id: a, prompt: x}\n"
    main += "  - {id: b, for-each: step, workflow: one}\n"
    one = "phases: [{id: c, prompt: x, model: sonnet}, {id: d, prompt: x}]\n"
    models = {}
    for name, sprint, workflow in (
        ("workflow", STEPS, main),
        ("sprint", f"{STEPS}model: opus\n", main),
        ("step", f"{STEPS}    model: opus\n", main),
        ("none", STEPS, main.replace("model: haiku\n", "")),
    ):
        folder = tmp_path / name
        folder.mkdir()
        simple, each = phases(folder, sprint, main=workflow, one=one)
        last = each["steps"][1]
        models[name] = [node.get("model") for node in (simple, each, last, *last["phases"])]
    assert models == {
        "workflow": ["haiku", None, None, "sonnet", "haiku"],
        "sprint": ["opus", None, None, "sonnet", "opus"],
        "step": ["haiku", None, "opus", "opus", "opus"],
        "none": [None, None, None, "sonnet", None],
    }


def test_the_nearest_model_holds(tmp_path: Path) -> None:
    """An inlined phase's model overrides that of the inlining phase."""
    main = "model: haiku\nphases:\n  - {id: a, workflow: in, model: opus}\n"
    main += "  - {id: b, workflow: in}\n"
    inner = (
        "model: sonnet\nphases: [{id: x, prompt: x}, {id: y, prompt: y, model: haiku}]\n"
    )
    found = phases(tmp_path, "workflow: main\n", main=main, **{"in": inner})
    assert [phase["model"] for phase in found] == ["opus", "haiku", "sonnet", "haiku"]


def test_gates_are_compiled_flat(tmp_path: Path) -> None:
    """A gate gets its defaults, and its repair prompt is filled in; its script is not."""
    gates = """\
phases:
  - id: a
    prompt: x
    gate: {script: 'make {{x}}', on-fail: {prompt: 'Fix {{phase.id}}'}}
  - id: b
    prompt: x
    gate: {script: make, on-fail-prompt: Fix, max-retries: 0, timeout: 1.5}
  - id: c
    prompt: x
    gate: {script: make, on-fail: {prompt: Fix, max-retries: 5}, timeout: 9}
"""
    found = phases(tmp_path, "workflow: main\n", main=gates)
    assert [phase["gate"] for phase in found] == [
        {
            "script": "make {{x}}",
            "on-fail-prompt": "Fix a",
            "max-retries": 3,
            "timeout": 60,
        },
        {"script": "make", "on-fail-prompt": "Fix", "max-retries": 0, "timeout": 1.5},
        {"script": "make", "on-fail-prompt": "Fix", "max-retries": 5, "timeout": 9},
    ]


def test_what_an_inlining_phase_says_holds_for_all_of_it(tmp_path: Path) -> None:
    """Its waits precede its first phase, and its gate and break follow its last."""
    main = """\
phases:
  - id: qa
    workflow: one
    break: true
    wait-for-parallel: true
    parallel: true
    gate: {script: make}
"""
    one = "phases: [{id: a, prompt: x}, {id: b, prompt: x}]\n"
    first, last = phases(tmp_path, "workflow: main\n", main=main, one=one)
    assert (first.get("wait-for-parallel"), last.get("wait-for-parallel")) == (True, None)
    assert (first.get("break"), last.get("break")) == (None, True)
    assert (first.get("parallel"), last.get("parallel")) == (True, True)
    assert ("gate" in first, last["gate"]["script"]) == (False, "make")


def test_a_for_each_phase_keeps_its_own(tmp_path: Path) -> None:
    """A gate and a break of a for-each phase are on the phase, before its steps."""
    main = MAIN.replace("workflow: one", "break: true\n    gate: {script: make}")
    node = phases(tmp_path, STEPS, main=main)[1]
    assert list(node) == ["id", "break", "gate", "steps"]


def test_dependencies_of_items_are_kept(tmp_path: Path) -> None:
    """`depends-on` is on the step, as written."""
    sprint = f"{STEPS}    depends-on: [step-0]\n"
    steps = phases(tmp_path, sprint, main=MAIN, one=ONE)[1]["steps"]
    assert [step.get("depends-on") for step in steps] == [None, ["step-0"]]


@pytest.mark.parametrize(
    ("given", "line", "expected"),
    [
        (None, "sprint-id: auth", "auth"),
        (None, "", "2026-01-15_auth"),
        (None, "sprint-id:", "2026-01-15_auth"),
        ("other", "sprint-id: auth", "other"),
    ],
)
def test_the_id_of_the_sprint(
    tmp_path: Path, given: str | None, line: str, expected: str
) -> None:
    """The id is the given one, else SPRINT.yaml's, else the folder's name."""
    folder = tmp_path / "2026-01-15_auth"
    folder.mkdir()
    file = write(folder, f"{STEPS}{line}\n", main=MAIN, one=ONE)
    result = compile_files(file, sprint_id=given)
    assert (result.sprint_id, result.plan["sprint-id"]) == (expected, expected)
    assert result.plan["phases"][0]["prompt"] == f"Prepare {expected}"


def test_ten_thousand_phases_can_be_recorded(tmp_path: Path) -> None:
    """A sprint of 10,000 sub-phases compiles to one event within its limit."""
    items = "".join(f"  - prompt: Item {n}, {'x' * 190}\n" for n in range(5_000))
    sprint = f"workflow: main\nsprint-id: s\nsteps:\n{items}"
    plan = compiled(tmp_path, sprint, main=MAIN, one=ONE).plan
    [event] = CreateSprint(plan=plan).decide(Sprint("s"), "2026-01-15T09:00:00Z")
    assert len(tree(plan)) == 3 + 5_000 * 3
    assert len(encode(event)) < SprintCompiled.payload_bytes_max
