"""The page of the JSON answers of commands."""

import ast
import inspect
import sys
from typing import Any

from sprintlog.projections.views.answers import ANSWERS, LINES, schemas

HEAD = """\
# JSON answers

{note}

This page lists the JSON that each command prints with `--json`: one document on one line,
or one for each item if marked *lines*. `sprintlog schema answers` prints the JSON Schema
of all answers, `sprintlog schema answers gate show` that of one command. Fields marked
*optional* are absent if they have no value. An error is an object on standard error, with
`error`, `message` and `hint`."""

WORDS = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "object",
    "array": "list",
}


def answers_page(note: str) -> str:
    """Return the page: the commands, then the structs of their answers."""
    whole = schemas()
    parts = [HEAD.format(note=note), "## By command"]
    rows = ["| command | answer |", "|---|---|"]
    for name in sorted({*ANSWERS, "every other command"}):
        lines = "*lines* of " if name in LINES else ""
        code = name if name.startswith("every") else f"`{name}`"
        rows.append(f"| {code} | {lines}{_typed(whole['properties'][name])} |")
    parts.append("\n".join(rows))
    for name, part in sorted(whole["$defs"].items()):
        parts += [f"## `{name}`", part.get("description", ""), _fields(name, part)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fields(name: str, part: dict[str, Any]) -> str:
    said, needed = _docs(name), part.get("required", ())
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for field, schema in part["properties"].items():
        more = "" if field in needed else " *Optional.*"
        meaning = f"{said.get(field, '')}{more}".strip()
        rows.append(f"| `{field}` | {_typed(schema)} | {meaning} |")
    return "\n".join(rows)


def _typed(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_typed, schema["anyOf"])))
    items = schema.get("items")
    if schema.get("type") == "array" and items:
        return f"list of {_typed(items)}"
    return WORDS.get(schema.get("type", ""), "any")


def _docs(name: str) -> dict[str, str]:
    """Return the docstrings of the fields of a struct and its bases."""
    kinds = [
        kind
        for module in [*sys.modules.values()]
        if getattr(module, "__name__", "").startswith("sprintlog.")
        if inspect.isclass(kind := vars(module).get(name))
    ]
    found: dict[str, str] = {}
    for kind in kinds[:1]:
        for base in reversed(kind.__mro__):
            if base.__module__.startswith("sprintlog."):
                found |= _of_class(base)
    return found


def _of_class(kind: type) -> dict[str, str]:
    (node,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(node, ast.ClassDef)
    found = {}
    for field, after in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                text = str(after.value.value)
            found[field.target.id] = " ".join(text.split())
    return found
