"""The TypeScript client and the agents' plugins match the current program."""

import json

import pytest

from sprintlog.engine.commands import registered
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.projections.questions import QUESTIONS
from sprintlog.projections.views.answers import ANSWERS

from ..sessions import ROOT
from .client_plugins import FILES, KINDS
from .typescript import MODULES, typed

SOURCES = ROOT / "docs" / "clients" / "typescript" / "src"


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_generated_from_the_schemas(name: str) -> None:
    """`python -m tests.docs.generate` writes exactly the existing file."""
    assert (SOURCES / name).read_text(encoding="utf-8") == MODULES[name]()


@pytest.mark.parametrize("name", FILES)
def test_a_plugin_contains_what_the_program_installs(name: str) -> None:
    """The hooks, servers, skill and version of a plugin are those of this version."""
    assert (SOURCES.parents[1] / name).read_text(encoding="utf-8") == FILES[name]()


@pytest.mark.parametrize("kind", KINDS)
def test_a_plugin_has_no_other_files(kind: str) -> None:
    """Each plugin folder contains the generated files only, and its hooks record."""
    folder = SOURCES.parents[1] / kind
    found = {str(x.relative_to(folder.parent)) for x in folder.rglob("*") if x.is_file()}
    assert found == {name for name in FILES if name.startswith(f"{kind}/")}
    hooks = json.loads((folder / "hooks" / "hooks.json").read_text())["hooks"]
    assert all(f"sprintlog hook {KINDS[kind][0]}" in str(one) for one in hooks.values())


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
