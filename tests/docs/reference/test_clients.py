"""The types of the TypeScript client match the current schemas."""

import pytest

from sprintlog.engine.commands import registered
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.projections.questions import QUESTIONS
from sprintlog.projections.views.answers import ANSWERS

from ..sessions import ROOT
from .typescript import MODULES, typed

SOURCES = ROOT / "docs" / "clients" / "typescript" / "src"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_generated_from_the_schemas(name: str) -> None:
    """`python -m tests.docs.generate` writes exactly the existing file."""
    assert (SOURCES / name).read_text(encoding="utf-8") == MODULES[name]()


def test_every_name_has_a_type() -> None:
    """Each command, event type, question and answer has a type with a name."""
    for file, names in (
        ("commands.ts", registered()),
        ("events.ts", CODEC.events),
        ("answers.ts", {**QUESTIONS, **ANSWERS}),
    ):
        text = (SOURCES / file).read_text(encoding="utf-8")
        missing = [
            name
            for name in names
            if f'  "{name}": ' not in text and f"  {name}: " not in text
        ]
        assert missing == [], file


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "object", "additionalProperties": {"type": "number"}},
         "{ [name: string]: number }"),
        ({"$ref": "#/$defs/Usage"}, "Usage"),
        ({}, "unknown"),
    ],
)  # fmt: skip
def test_a_schema_is_a_type(schema: object, expected: str) -> None:
    """Each form in our schemas is converted to its TypeScript equivalent."""
    assert typed(schema) == expected


def test_a_form_that_is_not_known_is_no_type() -> None:
    """A new form in a schema fails here instead of being guessed."""
    with pytest.raises(ValueError, match="no type for"):
        typed({"not": {"type": "string"}})
