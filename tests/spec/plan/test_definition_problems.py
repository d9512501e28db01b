"""Every error code: a definition with that error, and the reported file and line."""

from pathlib import Path
from typing import NamedTuple

import pytest

from sprintlog.cli.intake.definition import DefinitionError, compile_files
from sprintlog.engine.sprint.plan.definitions import ERRORS, WARNINGS

from .definitions import compiled, problems, write

SPRINT = """\
workflow: main
collections:
  step:
    - prompt: Log in
"""
MAIN = """\
phases:
  - id: build
    for-each: step
    workflow: one
"""
ONE = """\
phases:
  - id: do
    prompt: "{{item.prompt}}"
"""


class Case(NamedTuple):
    """A definition, and the location of its only problem."""

    code: str
    file: str
    line: int
    sprint: str = SPRINT
    main: str = MAIN
    one: str = ONE


def with_item(more: str) -> str:
    """Return a SPRINT.yaml whose item has an additional line."""
    return f"{SPRINT}      {more}\n"


def with_phase(more: str) -> str:
    """Return a step workflow with a second phase."""
    return f"{ONE}  - id: check\n    {more}\n"


def with_settings(more: str) -> str:
    """Return a SPRINT.yaml with another line at its end."""
    return f"{SPRINT}{more}\n"


RALPH = "mode: ralph\nper-iteration-hooks:\n  - id: learn\n    prompt: Learn\n"
CASES = [
    Case("not-yaml", "SPRINT.yaml", 2, "workflow: main\nsteps: ]\n"),
    Case("not-yaml", "one.yaml", 2, one="a: &b 1\nc: *b\n".replace("a: &b", "a:")),
    Case("duplicate-key", "SPRINT.yaml", 5, with_settings("workflow: main")),
    Case("missing-field", "SPRINT.yaml", 1, SPRINT.replace("workflow: main\n", "")),
    Case("missing-field", "SPRINT.yaml", 4, SPRINT.replace("prompt: Log in", "id: a")),
    Case("missing-field", "main.yaml", 2, main=MAIN.replace("id: build", "break: true")),
    Case("no-value", "SPRINT.yaml", 3, "workflow: main\ncollections:\n  step: # x\n"),
    Case("no-value", "SPRINT.yaml", 2, "workflow: main\nsteps:\n"),
    Case("no-value", "one.yaml", 1, one="phases:\n"),
    Case("no-value", "SPRINT.yaml", 4, SPRINT.replace("Log in", "")),
    Case("wrong-type", "SPRINT.yaml", 1, "- workflow: main\n"),
    Case("wrong-type", "SPRINT.yaml", 4, SPRINT.replace("prompt: Log in", "Log in")),
    Case("wrong-type", "SPRINT.yaml", 4, SPRINT.replace("Log in", "12")),
    Case("wrong-type", "SPRINT.yaml", 2, "workflow: main\nsteps: all\n"),
    Case("wrong-type", "one.yaml", 5, one=with_phase("prompt: [x]")),
    Case("wrong-type", "main.yaml", 5, main=f"{MAIN}    break: 'yes'\n"),
    Case("unknown-word", "SPRINT.yaml", 5, with_item("model: gpt")),
    Case("unknown-word", "SPRINT.yaml", 5, with_settings("retry: {retryOn: [never]}")),
    Case("out-of-range", "SPRINT.yaml", 6, with_settings("ralph:\n  idle-threshold: 0")),
    Case("out-of-range", "SPRINT.yaml", 5, with_settings("max-iterations: -1")),
    Case(
        "out-of-range", "main.yaml", 5, main=f"{MAIN}    gate: {{script: x, timeout: 0}}\n"
    ),
    Case("empty-prompt", "SPRINT.yaml", 4, SPRINT.replace("Log in", "'  '")),
    Case("empty-prompt", "one.yaml", 5, one=with_phase("prompt: ''")),
    Case("empty-prompt", "main.yaml", 5, main=f"{MAIN}    gate: {{script: ' '}}\n"),
    Case("bad-id", "SPRINT.yaml", 5, with_item("id: ''")),
    Case("bad-id", "SPRINT.yaml", 5, with_item(f"id: {'x' * 129}")),
    Case("bad-id", "SPRINT.yaml", 5, with_item(r'id: "a\tb"')),
    Case("bad-id", "SPRINT.yaml", 5, with_settings("sprint-id: a/b")),
    Case("bad-id", "SPRINT.yaml", 5, with_settings("  sprint:\n    - prompt: x").rstrip()),
    Case("duplicate-id", "one.yaml", 4, one=with_phase("prompt: x").replace("check", "do")),
    Case(
        "duplicate-id",
        "SPRINT.yaml",
        7,
        with_item("id: login\n    - prompt: Again\n      id: login"),
    ),
    Case("duplicate-id", "SPRINT.yaml", 6, with_item("id: step-1\n    - prompt: Again")),
    Case("mixed-generations", "SPRINT.yaml", 5, with_settings("steps: [{prompt: x}]")),
    Case("missing-items", "SPRINT.yaml", 1, "workflow: main\n"),
    Case("empty-collection", "SPRINT.yaml", 2, "workflow: main\nsteps: []\n"),
    Case("unknown-collection", "main.yaml", 3, main=MAIN.replace("step", "bug")),
    Case("unknown-workflow", "SPRINT.yaml", 1, SPRINT.replace("main", "mian")),
    Case("unknown-workflow", "SPRINT.yaml", 5, with_item("workflow: ../main")),
    Case("unknown-workflow", "main.yaml", 4, main=MAIN.replace(": one", ": two")),
    Case("unknown-workflow", "SPRINT.yaml", 5, with_item(f"workflow: {'x' * 999}")),
    Case("unknown-workflow", "SPRINT.yaml", 5, with_item(r'workflow: "a\0/b"')),
    Case("self-reference", "one.yaml", 5, one=with_phase("workflow: one")),
    Case("self-reference", "SPRINT.yaml", 5, with_item("depends-on: [step-0]")),
    Case("self-reference", "SPRINT.yaml", 5, with_item("workflow: main")),
    Case("workflow-cycle", "one.yaml", 5, one=with_phase("workflow: main")),
    Case("no-phases", "one.yaml", 1, one="phases: []\n"),
    Case("no-phases", "one.yaml", 1, one="name: One\n"),
    Case("no-action", "one.yaml", 4, one=with_phase("model: opus")),
    Case("two-actions", "main.yaml", 2, main=f"{MAIN}    prompt: x\n"),
    Case("nested-for-each", "one.yaml", 5, one=with_phase("for-each: step")),
    Case("unknown-variable", "one.yaml", 5, one=with_phase('prompt: "{{item.owner}}"')),
    Case("unknown-variable", "one.yaml", 5, one=with_phase('prompt: "{{sprint.name}}"')),
    Case(
        "unknown-variable", "one.yaml", 7, one=with_phase("prompt: |\n      a\n      {{b}}")
    ),
    Case("unknown-item", "SPRINT.yaml", 6, with_item("depends-on:\n        - step-9")),
    Case("missing-goal", "SPRINT.yaml", 1, "workflow: main\n", RALPH),
    Case(
        "unknown-hook",
        "SPRINT.yaml",
        4,
        "workflow: main\ngoal: Win\nper-iteration-hooks:\n  lern: {enabled: true}\n",
        RALPH,
    ),
    Case("bad-condition", "SPRINT.yaml", 5, with_settings("until: a=1")),
    Case("unused-collection", "SPRINT.yaml", 5, with_settings("  bug:\n    - prompt: x")),
    Case("unused-prompt", "main.yaml", 4, main=MAIN.replace("workflow: one", "prompt: x")),
    Case("ignored-field", "one.yaml", 6, one=with_phase("prompt: x\n    break: true")),
    Case(
        "variable-without-item",
        "main.yaml",
        6,
        main=f'{MAIN}  - id: end\n    prompt: "{{{{item.id}}}}"\n',
    ),
    Case("unknown-field", "SPRINT.yaml", 5, with_settings("modle: opus")),
    Case("unknown-field", "one.yaml", 6, one=with_phase("prompt: x\n    brake: true")),
    Case("kept-as-text", "SPRINT.yaml", 5, with_item("commit: 6673e79")),
    Case(
        "later-dependency",
        "SPRINT.yaml",
        5,
        with_item("depends-on: [late]\n    - prompt: Late\n      id: late"),
    ),
]
OTHERS = {"too-deep", "two-gates", "plan-too-large"}
"""Codes that need more than a table; their tests are below."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code}-{case.file}")
def test_names_code_file_and_line(tmp_path: Path, case: Case) -> None:
    """A definition with one mistake is answered with its code, its file and its line."""
    found = problems(tmp_path, case.sprint, main=case.main, one=case.one)
    assert [one for one in found if one[0] not in WARNINGS or one[0] == case.code] == [
        (case.code, case.file, case.line)
    ]


def test_every_code_is_tried() -> None:
    """Every code of the table has a definition that leads to it."""
    assert {case.code for case in CASES} | OTHERS == {*ERRORS, *WARNINGS}


def test_warnings_do_not_refuse(tmp_path: Path) -> None:
    """A definition with warnings alone compiles."""
    for number, case in enumerate(case for case in CASES if case.code in WARNINGS):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert compiled(folder, case.sprint, main=case.main, one=case.one).plan


def nested(levels: int) -> dict[str, str]:
    """Return a chain of workflows that inline each other."""
    inner = {
        f"w{n}": f"phases:\n  - id: p{n}\n    workflow: w{n + 1}\n"
        for n in range(2, levels)
    }
    main = "phases:\n  - id: p1\n    workflow: w2\n"
    return {"main": main, **inner, f"w{levels}": "phases: [{id: last, prompt: x}]\n"}


def test_five_workflows_may_stand_in_each_other(tmp_path: Path) -> None:
    """Five in a row compile, and their ids are strung together."""
    plan = compiled(tmp_path, "workflow: main\n", **nested(5)).plan
    assert [phase["id"] for phase in plan["phases"]] == ["p1-p2-p3-p4-last"]


@pytest.mark.parametrize("levels", [6, 12])
def test_six_workflows_are_too_deep(tmp_path: Path, levels: int) -> None:
    """The reference that would open a sixth level is refused."""
    assert problems(tmp_path, "workflow: main\n", **nested(levels)) == [
        ("too-deep", "w5.yaml", 3)
    ]


def test_a_workflow_of_an_item_counts_as_a_level(tmp_path: Path) -> None:
    """A workflow named by an item is one level below the phase that iterates."""
    workflows = nested(5)
    workflows["w5"] = "phases: [{id: each, for-each: step}]\n"
    sprint = with_item("workflow: one")
    assert problems(tmp_path, sprint, **workflows, one=ONE) == [
        ("too-deep", "SPRINT.yaml", 5)
    ]


def test_a_phase_has_one_gate(tmp_path: Path) -> None:
    """An inlining phase with a gate must not end in a phase that has one."""
    gate = "gate: {script: make}"
    main = f"phases:\n  - id: qa\n    workflow: one\n    {gate}\n"
    one = with_phase(f"prompt: x\n    {gate}").replace("{{item.prompt}}", "x")
    assert problems(tmp_path, "workflow: main\n", main=main, one=one) == [
        ("two-gates", "main.yaml", 4)
    ]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("times", [3, 100_000])
def test_a_plan_that_cannot_be_recorded_is_refused(tmp_path: Path, times: int) -> None:
    """Plans that are too large to record, or for memory, are not built."""
    sprint = SPRINT.replace("Log in", "x" * 4_000_000)
    one = ONE.replace("{{item.prompt}}", "{{item.prompt}}" * times)
    assert problems(tmp_path, sprint, main=MAIN, one=one) == [
        ("plan-too-large", "SPRINT.yaml", 1)
    ]


@pytest.mark.long
def test_workflows_that_multiply_are_not_laid_out(tmp_path: Path) -> None:
    """A hundred phases that each inline a hundred, five deep, end in a refusal."""
    workflows = {
        name: "phases:\n"
        + "".join(f"  - {{id: p{n}, workflow: {below}}}\n" for n in range(100))
        for name, below in (("main", "a"), ("a", "b"), ("b", "c"), ("c", "d"))
    }
    workflows["d"] = "phases: [{id: x, prompt: x}]\n"
    assert problems(tmp_path, "workflow: main\n", **workflows) == [
        ("plan-too-large", "SPRINT.yaml", 1)
    ]


def test_all_problems_of_all_files_come_together(tmp_path: Path) -> None:
    """Shapes and meanings, in the sprint and its workflows, by file and line."""
    sprint = "workflow: main\nsteps:\n  - prompt: 1\n  - prompt: x\n    id: step-0\n"
    main = MAIN.replace("id: build", "id: build\n    model: gpt")
    one = with_phase("prompt: '{{nope}}'\n    parallel: 1")
    assert problems(tmp_path, sprint, main=main, one=one) == [
        ("wrong-type", "SPRINT.yaml", 3),
        ("duplicate-id", "SPRINT.yaml", 5),
        ("unknown-word", "main.yaml", 3),
        ("unknown-variable", "one.yaml", 5),
        ("wrong-type", "one.yaml", 6),
    ]


def test_the_error_says_all_for_programs(tmp_path: Path) -> None:
    """The exception contains every problem as plain fields, including paths."""
    file = write(tmp_path, SPRINT.replace("Log in", "''"), main=MAIN, one=ONE)
    with pytest.raises(DefinitionError) as caught:
        compile_files(file)
    [problem] = caught.value.fields["problems"]
    assert problem == {
        "code": "empty-prompt",
        "warning": False,
        "file": str(file),
        "line": 4,
        "path": "collections.step[0].prompt",
        "message": "is empty",
        "hint": None,
    }


def test_a_template_without_quotes_is_explained(tmp_path: Path) -> None:
    """The commonest mistake with templates in YAML gets a hint."""
    file = write(tmp_path, SPRINT, main=MAIN, one=ONE.replace('"', ""))
    with pytest.raises(DefinitionError) as caught:
        compile_files(file)
    assert caught.value.hint == "put a text that starts with {{ in quotes"


def test_countless_mistakes_are_only_counted(tmp_path: Path) -> None:
    """A file with countless errors is refused in one line."""
    sprint = "workflow: main\nsteps:\n" + "- a\n" * 20_000
    assert problems(tmp_path, sprint, main=MAIN, one=ONE) == [
        ("wrong-type", "SPRINT.yaml", 1)
    ]
