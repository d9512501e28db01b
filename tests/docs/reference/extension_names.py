"""The page of the names that extensions import."""

import ast
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from textwrap import dedent
from typing import Any, NamedTuple

from sprintlog import extensions, testing
from sprintlog.engine.log.envelope import RecordedEvent

HEAD = """\
# Names for extensions

{note}

This page lists the names of `sprintlog.extensions` and `sprintlog.testing`, for packages
that [extend sprintlog](extensions.md). Fields with a default are optional."""

Section = tuple[str, tuple[str, ...]]
SECTIONS: tuple[Section, ...] = (
    ("Event types", ("RecordExtensionEvent", "extension_event", "ExtensionEvent")),
    ("Projections", ("SprintReading", "Happened", "RecordedEvent", "projected")),
    (
        "Importers",
        (*("Imported", "ImportedSprint", "Iteration", "Remark", "ImportedLoop"), "Unread"),
    ),
    (
        "Files that are read",
        (
            *("ForeignFile", "read_text", "load_json", "load_json_lines", "load_yaml"),
            *("checkboxes", "Checkbox", "name_from"),
        ),
    ),
    (
        "Agents",
        (
            *("Item", "Session", "Prompted", "Said", "Called", "Returned", "FileChanged"),
            *("Refused", "Used", "Usage", "FigureSpan", "CallsCounted", "AgentEnded"),
        ),
    ),
    ("Reports", ("Report", "Found", "Coverage")),
    ("Errors and groups", ("ExtensionError", "GROUPS")),
    (
        "Kits",
        (
            *("check_event_type", "check_projection", "check_importer", "check_agent"),
            *("check_report", "check_store", "check_notifier"),
        ),
    ),
)
"""Every name of both modules, and one that they refer to."""
ELSEWHERE = {"RecordedEvent": RecordedEvent}
SAID = {
    "GROUPS": "The groups of entry points by the word for a kind.",
    "Item": "An element of the list that an agent decoder returns.",
}
"""The descriptions of names that are neither classes nor functions."""


class Field(NamedTuple):
    """A field of a class on the page."""

    name: str
    type: str
    default: str
    says: str


def names_page(note: str) -> str:
    """Return the page: each name with its signature and its fields."""
    parts = [HEAD.format(note=note)]
    for title, names in SECTIONS:
        parts.append(f"## {title}")
        parts += [_described(name, _found(name)) for name in names]
    return "\n\n".join(parts) + "\n"


def public_names() -> set[str]:
    """Return every name of the two modules."""
    return {name for module in (extensions, testing) for name in _own(module)}


def _own(module: Any) -> Iterator[str]:
    tree = ast.parse(inspect.getsource(module))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from (one.asname or one.name for one in node.names)


def _found(name: str) -> Any:
    for module in (extensions, testing):
        if hasattr(module, name):
            return getattr(module, name)
    return ELSEWHERE[name]


def _described(name: str, one: Any) -> str:
    if name in SAID:
        return f"**`{name}`**: {SAID[name]}\n\n{_members(one)}"
    says = dedent(inspect.getdoc(one) or "")
    if not inspect.isclass(one):
        return f"**`{name}{_signature(one)}`**\n\n{says}"
    if issubclass(one, Exception):
        return f"**`{name}`**: {says}"
    if issubclass(one, Enum):
        rows = [f"| `{x}` | {says} |" for x, _, _, says in _fields(one)]
        return "\n".join(
            [f"**`{name}`**: {says}\n", "| value | meaning |", "|---|---|", *rows]
        )
    rows = [
        f"| `{x.name}` | `{x.type}`{x.default} | {x.says} |"
        for x in (*_fields(one), *_methods(one))
    ]
    head = ["| name | type | meaning |", "|---|---|---|"]
    return "\n".join([f"**`{name}`**: {says}", *(["", *head, *rows] if rows else [])])


def _members(one: Any) -> str:
    if isinstance(one, dict):
        return ", ".join(f"`{key}`: `{value}`" for key, value in one.items())
    return " or ".join(f"`{x.__name__}`" for x in one.__args__)


def _signature(one: Any) -> str:
    return _plain(str(inspect.signature(one)))


def _plain(text: str) -> str:
    """Return a type without the names of modules."""
    text = re.sub(r"(?:\w+\.)+(\w+)", r"\1", text).replace("'", "")
    items = " | ".join(x.__name__ for x in extensions.Item.__args__)
    return text.replace(items, "Item").replace("|", "\\|")


def _fields(one: type) -> Iterator[Field]:
    """Yield the fields of a class in their order, with the text below each."""
    body = _body(one)
    for node, after in zip(body, [*body[1:], None], strict=True):
        says = ""
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            says = " ".join(str(after.value.value).split())
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            kind = ast.unparse(node.annotation)
            if "ClassVar" not in kind:
                default = f" = `{ast.unparse(node.value)}`" if node.value else ""
                yield Field(node.target.id, _plain(kind), default, says)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield Field(node.targets[0].id, "", "", says)


def _methods(one: type) -> Iterator[Field]:
    """Yield the public methods of a class."""
    for node in _body(one):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            says = " ".join((ast.get_docstring(node) or "").split())
            given = [x for x in node.args.args if x.arg not in ("self", "cls")]
            node.args.args = given
            kind = f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns or node)}"
            yield Field(node.name, _plain(kind), "", says)


def _body(one: type) -> list[ast.stmt]:
    (node,) = ast.parse(dedent(inspect.getsource(one))).body
    assert isinstance(node, ast.ClassDef)
    return node.body
