"""The reference of the settings: every key, its type, and what overrides it."""

from typing import Any

from sprintlog.cli.intake.settings import Settings
from sprintlog.cli.settings.file import KEYS, TABLES

INTRODUCTION = """\
# Configuration

{note}

This page lists every key of `sprintlog.toml` at the work tree's root, or, if that does
not exist, of `[tool.sprintlog]` in `pyproject.toml`. An option overrides an environment
variable, which overrides the file, which overrides the default. `sprintlog config` shows
each value and its origin, `sprintlog schema config` the JSON Schema. See also [how to
configure](../how-to/configure.md).

Keys that need trust are ignored until `sprintlog config --trust`, and again after each
change of one of them ([why](../adr/0027-untrusted-logs-and-settings.md)).

| file | maximum |
|---|---|
| `sprintlog.toml` | 64 KiB; a link is refused |
| `pyproject.toml` | 1 MiB; a larger file or a link is ignored |
"""


def configuration_page(note: str) -> str:
    """Return the page of the settings."""
    schema = Settings.model_json_schema()
    parts = [INTRODUCTION.format(note=note)]
    for table in TABLES:
        reference = schema["properties"][table]
        found = schema["$defs"][reference["$ref"].rpartition("/")[2]]
        said = found["description"].strip().splitlines()[0]
        parts.append(f"\n## [{table}]\n\n{said}\n")
        parts.append("\n| key | type | default | overridden by | needs trust | meaning |")
        parts.append("\n|---|---|---|---|---|---|\n")
        for name, field in found["properties"].items():
            key = KEYS[f"{table}.{name}"]
            before = (key.option, key.variable)
            first = ", ".join(f"`{one}`" for one in before if one)
            trusted = "yes" if key.needs_trust else ""
            kind, what = _kind(field), field["description"]
            row = (f"`{name}`", kind, key.default, first, trusted, what)
            parts.append(f"| {' | '.join(row)} |\n")
    return "".join(parts)


def _kind(field: dict[str, Any]) -> str:
    kinds = [one for one in field.get("anyOf", [field]) if one.get("type") != "null"]
    return " or ".join(_one(kind) for kind in kinds)


def _one(kind: dict[str, Any]) -> str:
    if "enum" in kind:
        return ", ".join(f"`{word}`" for word in kind["enum"])
    if "const" in kind:
        return f'`"{kind["const"]}"`'
    if kind["type"] == "array":
        return "list of texts"
    if kind["type"] == "object":
        return "table of numbers"
    words = {"boolean": "true or false", "string": "text", "integer": "whole number"}
    return words.get(kind["type"], "number")
