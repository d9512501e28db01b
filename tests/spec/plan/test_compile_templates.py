"""Templates: the values of variables, in one pass, and unchanged text."""

import json
from pathlib import Path

import pytest

from .definitions import compiled, problems

ITEM = """\
workflow: main
name: Auth
sprint-id: s
collections:
  feature:
    - prompt: "Log in {{item.id}} $& \\\\1 {{nope}}"
      id: login
      priority: 1
      done: false
      ratio: 1.5
      files: [a.py, b.py]
      owner: {name: ana}
      index: 7
      type: form
      endpoint: /login
"""
MAIN = "phases: [{id: build, for-each: feature, workflow: one}]\n"


def filled(folder: Path, text: str, sprint: str = ITEM) -> str:
    """Return the compiled prompt of a sub-phase."""
    one = f"phases:\n  - id: do\n    prompt: {json.dumps(text)}\n"
    plan = compiled(folder, sprint, main=MAIN, one=one).plan
    return str(plan["phases"][0]["steps"][0]["phases"][0]["prompt"])


PROMPT = "Log in {{item.id}} $& \\1 {{nope}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{item.prompt}}", PROMPT),
        ("{{step.prompt}}", PROMPT),
        ("{{feature.prompt}}", PROMPT),
        ("{{prompt}}", PROMPT),
        ("{{ item.id }}/{{\titem.id}}", "login/login"),
        ("{{item.index}}", "0"),
        ("{{item.type}}", "form"),
        ("{{endpoint}}", "/login"),
        ("{{item.priority}} {{item.done}} {{item.ratio}}", "1 false 1.5"),
        ("{{item.files}}", '["a.py","b.py"]'),
        ("{{item.owner.name}}", "ana"),
        ("{{phase.id}} {{phase.index}}", "do 0"),
        ("{{sprint.id}} {{sprint.name}}", "s Auth"),
        (r"\{{item.id}} \{{anything.else}}", "{{item.id}} {{anything.else}}"),
        ("{{}} {{ }} {{.Name}} {{#if a}} {{a b}} {{1}} {item.id}", None),
        ("${{ 1 + 2 }} {{{ }}} {{item.id", None),
    ],
)
def test_a_variable_stands_for_one_thing(
    tmp_path: Path, text: str, expected: str | None
) -> None:
    """Every form of a variable is replaced; similar text is unchanged."""
    assert filled(tmp_path, text) == (text if expected is None else expected)


def test_an_item_without_a_type_is_of_its_collection(tmp_path: Path) -> None:
    """`type` is the collection's name if the item has none."""
    sprint = ITEM.replace("      type: form\n", "")
    assert filled(tmp_path, "{{item.type}}", sprint) == "feature"


def test_a_step_keeps_its_prompt(tmp_path: Path) -> None:
    """The prompt of a step is the item's text verbatim, including braces (SPR-022)."""
    plan = compiled(tmp_path, ITEM, main=MAIN, one="phases: [{id: a, prompt: x}]").plan
    assert plan["phases"][0]["steps"][0]["prompt"] == PROMPT


@pytest.mark.parametrize(
    "text",
    [
        *("{{item.nope}}", "{{item.owner.nope}}", "{{item.id.x}}", "{{nope}}"),
        *("{{bug.id}}", "{{phase.nope}}", "{{sprint.nope}}", "{{secrets.TOKEN}}"),
        *("{{item.empty}}", "${{ github.ref }}"),
    ],
)
def test_what_does_not_exist_is_refused(tmp_path: Path, text: str) -> None:
    """A variable that does not exist or has no value is named with its line."""
    one = f"phases:\n  - id: do\n    prompt: |\n      one\n\n      two {text}\n"
    sprint = f"{ITEM}      empty:\n"
    assert problems(tmp_path, sprint, main=MAIN, one=one) == [
        ("unknown-variable", "one.yaml", 6)
    ]


@pytest.mark.parametrize("text", ["{{item.id}}", "{{step.prompt}}", "{{feature.index}}"])
def test_an_item_is_not_at_hand_outside(tmp_path: Path, text: str) -> None:
    """Item variables in a phase without items are unchanged and reported."""
    main = f"{MAIN.rstrip()[:-1]}, {{id: end, prompt: 'Read {text}'}}]\n"
    one = "phases: [{id: a, prompt: x}]"
    result = compiled(tmp_path, ITEM, main=main, one=one)
    assert result.plan["phases"][1]["prompt"] == f"Read {text}"
    assert [one.code for one in result.warnings] == ["variable-without-item"]


@pytest.mark.parametrize("text", ["{{item.priority}}", "{{id}}", "{{endpoint}}"])
def test_other_fields_of_items_are_refused_outside(tmp_path: Path, text: str) -> None:
    """A field that only some items have cannot be meant outside of a for-each."""
    main = "phases:\n  - {id: build, for-each: feature}\n"
    main += f"  - {{id: end, prompt: '{text}'}}\n"
    assert problems(tmp_path, ITEM, main=main) == [("unknown-variable", "main.yaml", 3)]


def test_each_variable_is_told_once(tmp_path: Path) -> None:
    """A mistake is reported once, however many items and positions it affects."""
    sprint = f"{ITEM}    - prompt: x\n    - prompt: y\n"
    one = "phases:\n  - id: do\n    prompt: '{{a}} {{a}} {{b}}'\n"
    assert problems(tmp_path, sprint, main=MAIN, one=one) == [
        ("unknown-variable", "one.yaml", 3),
        ("unknown-variable", "one.yaml", 3),
    ]
