"""The writer's text, byte for byte, against a table that js-yaml 4 wrote."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.state_files.yaml.blocks import LAYOUT
from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.state_files.yaml.writer import (
    DEPTH_MAX,
    dump,
    dump_entry,
    dump_items,
)

FIXTURE = Path(__file__).parents[2] / "fixtures" / "yaml" / "nasty.json"
TABLE: dict[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
SAME: list[dict[str, Any]] = TABLE["same"]
DIFFERING: list[dict[str, Any]] = TABLE["differing"]


def named(case: dict[str, Any]) -> str:
    """Return a short name of a case for the test report."""
    return json.dumps(case["document"])[:40]


def nested(levels: int) -> dict[str, Any]:
    """Return a document that is `levels` collections deep."""
    value: Any = []
    for _ in range(levels - 2):
        value = [value]
    return {"deep": value}


@pytest.mark.parametrize("case", SAME, ids=named)
def test_text_is_what_js_yaml_writes(case: dict[str, Any]) -> None:
    """Unusual scalars, keys and shapes are written exactly as by js-yaml 4."""
    assert dump(case["document"]) == case["yaml"]


@pytest.mark.parametrize("case", DIFFERING, ids=named)
def test_text_differs_where_a_reader_would_be_misled(case: dict[str, Any]) -> None:
    """If other parsers read js-yaml's text differently, ours is the safe form."""
    assert dump(case["document"]) == case["yaml"] != case["js_yaml"]


@pytest.mark.parametrize("case", [*SAME, *DIFFERING], ids=named)
def test_text_reads_back(case: dict[str, Any]) -> None:
    """Every text in the table is read back as the document from which it was written."""
    assert repr(load(case["yaml"].encode())) == repr(case["document"])


@pytest.mark.parametrize("time", ["00:00:07", "7456:12:33", "2026-01-15T09:00:00.123Z"])
def test_times_are_quoted(time: str) -> None:
    """Times are quoted, including elapsed times with any number of hours."""
    assert dump({"time": time}) == f"time: '{time}'\n"


def test_another_text_is_another_layout() -> None:
    """After a change of the writer's output, cached blocks of earlier versions are ignored.

    Increase `LAYOUT` and update the digest here.
    """
    texts = "".join(dump(case["document"]) for case in [*SAME, *DIFFERING])
    found = sha256(texts.encode()).hexdigest()[:16]
    assert (LAYOUT, found) == (1, "293f76eaa5df1e8b")


def test_entries_join_to_the_document() -> None:
    """Joining a document's separately written entries results in the document."""
    for case in SAME:
        document = case["document"]
        parts = [dump_entry(key, value) for key, value in document.items()]
        assert ("".join(parts) or "{}\n") == dump(document)


def test_items_join_to_the_sequence() -> None:
    """A sequence is its key's line and its separately written items."""
    phases = [case["document"] for case in SAME]
    parts = [dump_items([phase]).decode() for phase in phases]
    assert "phases:\n" + "".join(parts) == dump({"phases": phases})


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (float("nan"), "a number must be finite, not nan"),
        (float("-inf"), "a number must be finite, not -inf"),
        (2**63, "an integer must fit in 64 bits with its sign"),
        (-(2**63) - 1, "an integer must fit in 64 bits with its sign"),
        ("half \ud83d", "half a surrogate pair is not a character"),
        ("line\nhalf \udc00", "half a surrogate pair is not a character"),
        (b"bytes", "YAML cannot represent a value of type bytes"),
        ((1, 2), "YAML cannot represent a value of type tuple"),
        ({1: 2}, "a key must be a string, not a value of type int"),
    ],
)
def test_value_is_refused_by_its_path(value: object, problem: str) -> None:
    """A value that YAML cannot represent is refused with the path of its field."""
    document = {"phases": [{}, {"steps": [{"prompt": value}]}]}
    with pytest.raises(InvalidInputError) as refusal:
        dump(document)
    field = refusal.value.fields["field"]
    assert field.startswith("phases[1].steps[0].prompt")
    assert refusal.value.fields["problem"] == problem


def test_path_quotes_what_is_no_plain_word() -> None:
    """A key that is not a plain word is quoted and escaped in a path."""
    with pytest.raises(InvalidInputError) as refusal:
        dump({"a b": {"line\nbreak": {"é": {"half \ud83d": 1}}}})
    field = refusal.value.fields["field"]
    assert field == r'["a b"]["line\nbreak"]["é"]["half \ud83d"]'


def test_depth_is_bounded() -> None:
    """Written files can be read, because both have the same depth limit."""
    document = nested(DEPTH_MAX)
    assert load(dump(document).encode()) == document
    with pytest.raises(InvalidInputError, match="nested deeper than 64 levels"):
        dump(nested(DEPTH_MAX + 1))


def test_circle_is_refused() -> None:
    """A document that contains itself is refused as too deep."""
    circle: dict[str, Any] = {}
    circle["again"] = circle
    with pytest.raises(InvalidInputError, match="nested deeper"):
        dump(circle)
