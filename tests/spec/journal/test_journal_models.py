"""Reading a progress.json: accepted exactly if its schema accepts it."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.intake.journal import JournalModel, ReadJournal, read_journal
from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.foreign import take_document
from tests.strict_journal import SCHEMA, faults

EXAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "documents" / "journal.json"


NEVER_EMPTY = re.compile(r".*\.(prd_id|title|content|name)|learnings.*source_prd_id")
"""Texts that the specification's structs demand something in."""
MAYBE_EMPTY = re.compile(r".*\.(category|severity|action_taken|recovery_action|confidence)")
"""Optional enums, where the structs read an empty text as absent (JRN-075)."""


def document() -> Any:
    """Return a part of the example in which every field is present."""
    data = json.loads(EXAMPLE.read_text())
    data["entries"] = [data["entries"][0], data["entries"][2]]
    data["entries"][0]["context"] |= {"blocker_verified": True, "blocker_valid": False}
    data["learnings"], data["patterns"] = data["learnings"][:1], data["patterns"][:1]
    return data


def read(data: Any) -> ReadJournal:
    """Return the result of reading an acceptable document."""
    found = read_journal(json.dumps(data).encode(), file="p.json")
    take_document(JournalDocument(), found.document)
    return found


def refused(data: Any) -> RefusedError:
    """Return why a document cannot be read or imported."""
    with pytest.raises(RefusedError) as error:
        read(data)
    return error.value


def places(data: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield every field of a document: its path, container and key."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        where = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        yield where, data, key
        if isinstance(value, dict | list):
            yield from places(value, where)


def test_reads_the_example() -> None:
    """The schema accepts the specification's example, which can be read."""
    data = json.loads(EXAMPLE.read_text())
    assert faults(data) == []
    assert read(data).document == data


def test_knows_no_other_schema() -> None:
    """The printed schema is the specification's, except for texts about the fields."""
    ours = JournalModel.model_json_schema()
    theirs = json.loads(SCHEMA.read_text())

    def shape(schema: Any, whole: Any) -> Any:
        """Return the requirements of a schema, with references resolved."""
        if "$ref" in schema:
            return shape(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole)
        if "enum" in schema:
            return sorted(schema["enum"])
        if schema["type"] == "array":
            return [shape(schema["items"], whole)]
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            properties = schema["properties"]
            fields = {name: shape(one, whole) for name, one in properties.items()}
            return fields, sorted(schema.get("required", ()))
        pattern = schema.get("pattern", "").replace("[0-9]", r"\d")
        return schema["type"], pattern, schema.get("minimum"), schema.get("format")

    assert shape(ours, ours) == shape(theirs, theirs)
    assert (ours["$id"], ours["title"]) == (theirs["$id"], theirs["title"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("value", [None, 7, "x", True, [], {}, "", -1, 1.5, [None], 1.0])
def test_agrees_with_the_schema(value: Any) -> None:
    """For any value in any field, the document is read if the schema accepts it.

    An exception are empty mandatory texts, which the specification's structs refuse
    (JRN-072).
    """
    for where, _, _ in places(document()):
        data = document()
        holder, key = next((h, k) for w, h, k in places(data) if w == where)
        holder[key] = value
        if where == "version" and isinstance(value, str):
            continue
        if value == "" and MAYBE_EMPTY.fullmatch(where):
            read(data)
            continue
        if faults(data) or (value == "" and NEVER_EMPTY.fullmatch(where)):
            field = str(refused(data).fields["field"])
            assert field.startswith(where) or where.startswith(field)
        else:
            assert read(data).document == data


def test_refuses_what_is_missing() -> None:
    """A missing mandatory field is named as in the specification."""
    for where, _, _ in places(document()):
        data = document()
        holder, key = next((h, k) for w, h, k in places(data) if w == where)
        if isinstance(holder, list):
            continue
        del holder[key]
        if faults(data):
            error = refused(data)
            assert (error.fields["field"], error.fields["problem"]) == (
                where,
                "field is required",
            )


def test_refuses_what_it_does_not_know() -> None:
    """A field that the schema does not have is refused in every object."""
    objects = [(w, h[k]) for w, h, k in places(document()) if isinstance(h[k], dict)]
    for where in ["", *(where for where, _ in objects)]:
        data = document()
        found = [h[k] for w, h, k in places(data) if w == where]
        (found[0] if found else data)["mood"] = "good"
        error = refused(data)
        assert error.fields["field"] == f"{where}.mood".lstrip(".")
        assert error.message.startswith("p.json: ")
        later = {**deepcopy(data), "version": "1.1"}
        assert read(later).unknown == [error.fields["field"]]


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("status", "done", 'invalid value "done"; allowed: completed, failed'),
        ("status", "", "field is required"),
        ("iteration", 0, "must be >= 1"),
        ("id", "Auth-1", "is not of the form"),
    ],
)
def test_says_it_in_the_words_of_the_specification(
    path: str, value: object, said: str
) -> None:
    """Errors name file and field, then the problem as the specification's reader does."""
    data = document()
    data["entries"][1][path] = value
    message = refused(data).message
    assert message.startswith(f"p.json: entries[1].{path}: {said}")


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"7", b'{"a": 1, "a": 2}', b"\xff"])
def test_refuses_what_is_no_object(text: bytes) -> None:
    """Anything but a JSON object is refused with the file's name."""
    with pytest.raises(InvalidInputError, match=r"^p\.json: "):
        read_journal(text, file="p.json")
