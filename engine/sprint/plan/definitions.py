"""The problems that a SPRINT.yaml or a workflow can have, with their stable codes."""

from typing import NamedTuple

from ..state.tree import Data

PROBLEMS_MAX = 1_000
"""The maximum number of collected problems."""

Path = tuple[str | int, ...]
"""The path from a file's root to a value: keys and indices."""

ERRORS = {
    "not-yaml": "The file cannot be read, or not as YAML.",
    "duplicate-key": "A mapping has the same key twice.",
    "missing-field": "A field that must be there is not.",
    "no-value": "Nothing (`null`) is where a list, a mapping or a text belongs.",
    "wrong-type": "A value has another type than the field takes.",
    "unknown-word": "A word is not in the field's list.",
    "out-of-range": "A number is too small or too large.",
    "empty-prompt": "A prompt, goal or script has no text.",
    "bad-id": "An id is too long, holds what an id may not hold, or is reserved.",
    "duplicate-id": "Two phases, items or hooks beside each other have the same id.",
    "mixed-generations": "Both `steps` and `collections` are there.",
    "missing-items": "There are neither `steps` nor `collections` to iterate over.",
    "empty-collection": "A list of items is empty.",
    "unknown-collection": "A `for-each` names a collection that SPRINT.yaml does not have.",
    "unknown-workflow": "There is no file for a workflow that is named.",
    "self-reference": "A workflow names itself, or an item depends on itself.",
    "workflow-cycle": "Workflows name each other in a circle.",
    "too-deep": "Workflows are nested more than five deep.",
    "no-phases": "A workflow has no phases.",
    "no-action": "A phase or hook has no action.",
    "two-actions": "A phase or hook has both a `prompt` and a `workflow`.",
    "two-gates": "A phase and the last phase of its workflow both have a gate.",
    "nested-for-each": "A workflow that is run for each item iterates itself.",
    "unknown-variable": "A template names a variable that does not exist, or has no value.",
    "unknown-item": "`depends-on` names an item that its collection does not have.",
    "missing-goal": "A Ralph sprint has no `goal`.",
    "unknown-hook": "`per-iteration-hooks` names a hook that the workflow does not have.",
    "plan-too-large": "The plan would be larger than what can be recorded.",
}
"""The codes of errors, which prevent compilation, with their meanings."""

WARNINGS = {
    "unused-collection": "No phase iterates over a collection.",
    "unused-prompt": "A `for-each` phase has a prompt, which nothing uses.",
    "variable-without-item": "A phase outside of any `for-each` names a field of the item.",
    "ignored-field": "A field has no effect in its place.",
    "unknown-field": "A key that no field has: it does nothing. An error with `--strict`.",
    "kept-as-text": "What looks like a number would be written differently, and is text.",
    "later-dependency": "An item depends on one that comes after it.",
}
"""The codes of warnings, with their meanings."""


class Definition(NamedTuple):
    """A SPRINT.yaml or a workflow, or a part of one."""

    file: str
    data: Data
    path: Path = ()
    """The location of the part in the file."""

    def part(self, data: Data, *keys: str | int) -> "Definition":
        """Return the part of this definition at the given keys."""
        return Definition(self.file, data, (*self.path, *keys))


class Problem(NamedTuple):
    """A problem in a definition: its location, a message, and a hint."""

    code: str
    message: str
    file: str
    path: Path = ()
    hint: str | None = None
    near: str | None = None
    """The part of the value's text that the problem concerns."""
    line: int | None = None
    """The line in the file, filled in by the file's reader."""
    is_strict: bool = False
    """Whether the problem causes rejection although its code is a warning."""

    @property
    def is_warning(self) -> bool:
        """Return whether the definition compiles despite the problem."""
        return self.code in WARNINGS and not self.is_strict


class Problems:
    """A collection of problems; a problem repeated at the same location counts once."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, Path, str | None], Problem] = {}

    def add(
        self,
        code: str,
        where: Definition,
        path: Path,
        message: str,
        *,
        hint: str | None = None,
        near: str | None = None,
    ) -> None:
        """Add a problem with a known code; `path` is relative to the part."""
        if code not in ERRORS and code not in WARNINGS:
            raise KeyError(code)
        path = (*where.path, *path)
        key = (code, where.file, path, near)
        if len(self._found) < PROBLEMS_MAX:
            self._found.setdefault(
                key, Problem(code, message, where.file, path, hint, near)
            )

    @property
    def found(self) -> list[Problem]:
        """Return the problems in the order in which they were found."""
        return list(self._found.values())


def is_given(data: Data, key: str) -> bool:
    """Return whether a field is present and not null."""
    return data.get(key) is not None


def nearest(word: str, known: list[str]) -> str:
    """Return a hint with the closest known word, or with all known words."""
    # Imported here: required only for errors.
    from difflib import get_close_matches

    if close := get_close_matches(word, known, n=1):
        return f"did you mean {close[0]}?"
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"there are: {shown}" if known else "there is none"
