"""Requests and rules in files."""

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from .test_queue import queue as queue
from .test_queue import statuses

FOUND = [
    {"title": "One", "priority": "low", "type": "docs", "status": "pending"},
    {"id": "two", "title": "Two", "priority": "high", "type": "bug", "context": {"a": 1}},
]


@pytest.mark.parametrize("form", [json.dumps, lambda x: "\n".join(map(json.dumps, x))])
def test_adds_many_in_one_append(
    sprint: Path, done: Any, form: Callable[[Any], str]
) -> None:
    """A JSON array, or JSON lines, are recorded together."""
    (sprint / "found.json").write_text(form(FOUND))
    answers = done("queue", "add", "--file", "found.json", "--json").json
    assert [answer["request"] for answer in answers] == ["req-1", "two"]
    assert [e["remaining"] for e in done("log", "--json").lines[-2:]] == [1, 0]


def test_reads_standard_input(
    sprint: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output of another program can be piped in."""
    stdin = TextIOWrapper(BytesIO(json.dumps(FOUND).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert "req-1, request-queued two" in done("queue", "add", "--file", "-").out


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[{"title": "x", "priority": "low"}]', "requests[0].type"),
        ('[{"title": "x", "priority": "low", "type": "docs", "who": 1}]', "[0].who"),
        ('[{"title": "x", "priority": "now", "type": "docs"}]', "requests[0].priority"),
        ('[{"title": "", "priority": "low", "type": "docs"}]', "requests[0].title"),
        ('{"title": "x", "priority": "low", "type": "docs"}\n\n{"title": 7}', ":3: title"),
        ('{"title": "x", "priority": "low", "type": "docs"}\n7', ":2: "),
        ('{"title": "x", "priority": "low", "type": "docs", "id": "a"}\n' * 2, ""),
        ('{"title": "x", "priority": "low", "type": "docs", "id": "doc"}', ":1: id"),
        ('{"title": "x", "title": "y"}', ":1: duplicate key"),
        ("nonsense", ":1: not JSON"),
        ("[", "not JSON"),
        ("\n", ""),
    ],
)
def test_names_what_is_wrong_in_a_file(
    queue: Path, run: Any, done: Any, text: str, place: str
) -> None:
    """File, line and field are named, and none of its requests is recorded."""
    (queue / "found").write_text(text)
    result = run("queue", "add", "--file", "found")
    if place:
        assert result.code == 1
        assert result.err.startswith("error: found")
        assert place in result.err
    assert len(statuses(done)) == (2 if place or not text.strip() else 3)


RULES = """\
rules:
  - name: bugs
    priority: [critical, high]
    type: bug
    decision: approve
    position: end-of-workflow
    model: haiku
    reasoning: Bugs first
  - name: rest
    decision: defer
    deferred-until: end-of-sprint
"""


def test_takes_rules_of_a_file(queue: Path, done: Any) -> None:
    """Rules are read from a file, in which the first match decides."""
    (queue / "rules.yaml").write_text(RULES)
    done("queue", "decide", "--auto", "--rules", "rules.yaml")
    document = done("show", "progress", "--json").json
    assert document["phases"][-1]["model"] == "haiku"
    first, second = document["operator-queue"]
    assert first["decision"]["reasoning"] == "Bugs first"
    assert second["deferred-until"] == "end-of-sprint"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rules: []", "rules"),
        ("rule: []", "rules"),
        ("rules: [{name: a, decision: drop}]", "rules[0].decision"),
        ("rules: [{decision: defer}]", "rules[0].name"),
        ("rules: [{name: a, decision: defer, type: idea}]", "rules[0].type"),
        (
            "rules: [{name: a, decision: defer, model: opus}]",
            "model requires decision approve",
        ),
        ("rules: [{name: a, decision: approve, position: there}]", "rules[0].position"),
        (
            "rules: [{name: a, decision: defer}, {name: a, decision: defer}]",
            "rules[1].name",
        ),
        ("rules: [{name: a, decision: defer, x: 1}]", "rules[0].x"),
        ("7", "rules.yaml"),
    ],
)
def test_names_what_is_wrong_in_rules(queue: Path, run: Any, text: str, place: str) -> None:
    """An invalid rule is named, and nothing is decided."""
    (queue / "rules.yaml").write_text(text)
    result = run("queue", "decide", "--auto", "--rules", "rules.yaml")
    assert result.code == 1
    assert result.err.startswith("error: rules.yaml")
    assert place in result.err
