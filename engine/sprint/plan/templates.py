r"""The items of a SPRINT.yaml, and the prompt templates that are filled with them.

A variable such as `{{item.prompt}}` is replaced by its value in a single pass: values are
never expanded again. `\{{name}}` produces the braces themselves. The prompt file of a loop
is also such a template.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ...errors import InvalidInputError, RefusedError
from ..state import document_fields, transitions, tree
from .definitions import Definition, Path, Problems, is_given, nearest

_VARIABLE = r"\\?\{\{[ \t]*([A-Za-z_][\w-]*(?:\.[\w-]+)*)[ \t]*\}\}"

ALWAYS_ITEM = ("item", "step")
"""The names of the item in every `for-each` phase, regardless of the collection."""
OF_EVERY_ITEM = ("prompt", "id", "index", "type")

Report = Callable[[str, str, str, str | None], None]
"""A function that reports a problem, given a code, the variable, a message and a hint."""


class Scope(NamedTuple):
    """The values to which the variables of a prompt can refer."""

    sprint: tree.Data
    phase: tree.Data
    item: tree.Data | None
    """The item; None outside a `for-each` phase."""
    kinds: tuple[str, ...]
    """The collection iterated over; outside a `for-each` phase, all collections."""


class Variable(NamedTuple):
    """A variable in a text: its name, and how it is written in the text."""

    name: str
    written: str


Template = list[str | Variable]
"""A text split at its variables."""


def cut(text: str) -> Template:
    """Return the text as a template, split at its variables."""
    pieces: Template = []
    end = 0
    for found in re.finditer(_VARIABLE, text):
        pieces.append(text[end : found.start()])
        written = found.group()
        # An escaped variable is text, without its escape character.
        pieces.append(
            written[1:] if written[0] == "\\" else Variable(found.group(1), written)
        )
        end = found.end()
    pieces.append(text[end:])
    return [piece for piece in pieces if piece]


def names_in(value: Any) -> Iterator[str]:
    """Yield the dot-separated parts of all variable names in a nested value."""
    values = [value]
    for found in values:
        if isinstance(found, dict | list):
            values.extend(found.values() if isinstance(found, dict) else found)
        elif isinstance(found, str) and "{{" in found:
            for piece in cut(found):
                if isinstance(piece, Variable):
                    yield from piece.name.split(".")


def filled(template: Template, scope: Scope, report: Report) -> Iterator[str]:
    """Yield the pieces of the filled text; report and keep variables without a value."""
    for piece in template:
        yield piece if isinstance(piece, str) else _value(piece, scope, report)


def _value(variable: Variable, scope: Scope, report: Report) -> str:
    head, *fields = variable.name.split(".")
    if not fields:
        # A name without a dot is a field of the item.
        head, fields = "item", [head]
    if head in ("sprint", "phase"):
        holder: Any = scope.sprint if head == "sprint" else scope.phase
    elif head in (*ALWAYS_ITEM, *scope.kinds):
        if (holder := scope.item) is None:
            _report_without_item(variable, fields, report)
            return variable.written
    else:
        known = [*ALWAYS_ITEM, *scope.kinds, "phase", "sprint"]
        _report_unknown(variable, f"there is no {head!r}", nearest(head, known), report)
        return variable.written
    for field in fields:
        owner, holder = holder, holder.get(field) if isinstance(holder, dict) else None
    if holder is None:
        names = [str(name) for name in owner] if isinstance(owner, dict) else []
        said = f"{_called(head, scope)} has no {'.'.join(fields)!r}"
        hint = nearest(fields[-1], names)
        if (head, fields) == ("sprint", ["name"]):
            hint = "give SPRINT.yaml a `name`"
        _report_unknown(variable, said, hint, report)
        return variable.written
    return holder if isinstance(holder, str) else msgspec.json.encode(holder).decode()


def _called(head: str, scope: Scope) -> str:
    if scope.item is None or head in ("sprint", "phase"):
        return f"the {head}"
    return f"item {scope.item['id']!r}"


def _report_without_item(variable: Variable, fields: list[str], report: Report) -> None:
    """Report an item variable used outside a `for-each` phase; it remains as written."""
    if len(fields) == 1 and fields[0] in OF_EVERY_ITEM and "." in variable.name:
        report(
            "variable-without-item",
            variable.written,
            f"{variable.written} is not replaced: the phase is not run for each item",
            "give the phase a `for-each`, or name the items in words",
        )
    else:
        said = "the phase is not run for each item"
        _report_unknown(variable, said, "only phase.… and sprint.… have a value", report)


def _report_unknown(variable: Variable, said: str, hint: str, report: Report) -> None:
    escaped = f"write \\{variable.written} for literal braces"
    report(
        "unknown-variable",
        variable.written,
        f"{variable.written}: {said}",
        f"{hint}; {escaped}",
    )


VARIABLES = {
    "prompt": "the whole default prompt",
    "task": "the prompt of the phase, or the purpose of the iteration",
    "position": "phase, step and sub-phase, or the iteration",
    "step": "the text of the step that contains the phase",
    "goal": "the goal of the sprint",
    "steps": "the steps towards the goal, open ones in full",
    "error": "the error of the previous attempt",
    "judged": "why an iteration was not a success, and whether its work was discarded",
    "resumed": "a note that the work was interrupted before",
    "claimed": "a note that the goal was claimed but not accepted",
    "learnings": "learnings from the journal",
    "requests": "the titles of undecided requests",
    "answer": "the form of the answer",
    "sprint": "the sprint's id",
    "phase": "the phase's address; empty for the goal",
    "iteration": "the number of the iteration",
    "attempt": "the number of the attempt, from 1",
    "model": "the model that the plan specifies",
}
"""Every variable with its meaning; variables that do not apply are empty."""


class PromptTemplate(msgspec.Struct, frozen=True):
    """A prompt text split at its variables, all of which are known."""

    pieces: tuple[str | Variable, ...]


def read_template(text: str, *, file: str) -> PromptTemplate:
    """Return a text as a template; raise `InvalidInputError` for an unknown variable."""
    line, pieces = 1, cut(text)
    for piece in pieces:
        if isinstance(piece, str):
            line += piece.count("\n")
        elif piece.name not in VARIABLES:
            meant = nearest(piece.name, list(VARIABLES))
            raise InvalidInputError(
                f"there is no variable {piece.written}",
                file=file,
                line=line,
                hint=f"{meant}; write \\{piece.written} for these literal characters",
            )
    return PromptTemplate(tuple(pieces))


def filled_prompt(template: PromptTemplate, values: Mapping[str, str]) -> str:
    """Return the text with its variables replaced by their values."""
    return "".join(
        piece if isinstance(piece, str) else values.get(piece.name, "")
        for piece in template.pieces
    )


FIRST_GENERATION = "step"
"""The name of the collection that a `steps` list represents."""
RESERVED = ("phase", "sprint")


class Collection(NamedTuple):
    """A named list of items in the form that templates use, and its location."""

    items: list[Definition]
    path: Path


def collections_of(sprint: Definition, problems: Problems) -> dict[str, Collection]:
    """Return the collections by name; a `steps` list becomes the collection `step`."""
    data = sprint.data
    if "steps" in data and "collections" in data:
        message = "`steps` and `collections` are both there; only one of them may be"
        hint = "`steps: […]` is the same as `collections: {step: […]}`"
        problems.add("mixed-generations", sprint, ("steps",), message, hint=hint)
    given = data.get("collections")
    found = {}
    for name, items in given.items() if isinstance(given, dict) else ():
        path: Path = ("collections", name)
        if name in RESERVED:
            problems.add("bad-id", sprint, path, f"a collection cannot be called {name!r}")
        found[name] = _collection(sprint, name, items, path, problems)
    if "steps" in data and FIRST_GENERATION not in found:
        found[FIRST_GENERATION] = _collection(
            sprint, FIRST_GENERATION, data["steps"], ("steps",), problems
        )
    return found


def _collection(
    sprint: Definition, name: str, given: Any, path: Path, problems: Problems
) -> Collection:
    if given == []:
        hint = "an item is `- prompt: …`"
        problems.add("empty-collection", sprint, path, "has no items", hint=hint)
    items: list[Definition] = []
    seen: dict[str, int] = {}
    for index, data in enumerate(given if isinstance(given, list) else ()):
        if not isinstance(data, dict):
            continue
        where = (*path, index)
        identity = document_fields.text_of(data, "id") or f"{name}-{index}"
        if check_text_id(identity, sprint, (*where, "id"), problems) and identity in seen:
            message = f"{identity!r} is the id of item {seen[identity]} already"
            hint = "ids must be unique in a collection"
            problems.add("duplicate-id", sprint, (*where, "id"), message, hint=hint)
        seen.setdefault(identity, index)
        seen_by_templates = {
            "type": name,
            **data,
            "prompt": document_fields.text_of(data, "prompt") or "",
            "id": identity,
            "index": index,
        }
        items.append(sprint.part(seen_by_templates, *where))
    for item in items:
        _check_dependencies(item, seen, problems)
    return Collection(items, path)


def _check_dependencies(
    item: Definition, places: dict[str, int], problems: Problems
) -> None:
    own = item.data["id"]
    for index, name in enumerate(document_fields.list_of(item.data, "depends-on")):
        path = ("depends-on", index)
        if name == own:
            problems.add("self-reference", item, path, f"item {own!r} depends on itself")
        elif isinstance(name, str) and name not in places:
            message = f"there is no item {name!r}"
            hint = nearest(name, list(places))
            problems.add("unknown-item", item, path, message, hint=hint)
        elif isinstance(name, str) and places[name] > item.data["index"]:
            message = f"{name!r} comes after {own!r}; items are run in the order written"
            problems.add("later-dependency", item, path, message, hint=f"move {name!r} up")


def check_text_id(identity: str, where: Definition, path: Path, problems: Problems) -> bool:
    """Return whether a string is a valid id; report a problem if it is not."""
    try:
        transitions.check_id(identity, field="id")
    except RefusedError as error:
        problems.add("bad-id", where, path, error.message.partition(": ")[2])
        return False
    return True


def missing_items(sprint: Definition, problems: Problems) -> None:
    """Report a problem if there are neither `steps` nor `collections`."""
    if not is_given(sprint.data, "steps") and not is_given(sprint.data, "collections"):
        message = "there are neither `steps` nor `collections`"
        hint = "list the items: `collections: {step: [{prompt: …}]}`"
        problems.add("missing-items", sprint, (), message, hint=hint)
