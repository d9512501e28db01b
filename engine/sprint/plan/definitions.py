"""The problems that a SPRINT.yaml or a workflow can have, with their stable codes."""

from typing import NamedTuple

from ..state.tree import Data

PROBLEMS_MAX = 1_000
"""The maximum number of collected problems."""

Path = tuple[str | int, ...]
"""The path from a file's root to a value: keys and indices."""

ERRORS = {
    "not-yaml": "The file cannot be read or is not valid YAML.",
    "duplicate-key": "A mapping contains a key twice.",
    "missing-field": "A required field is missing.",
    "no-value": "The value is `null` but must be a list, a mapping or a string.",
    "wrong-type": "A value has the wrong type.",
    "unknown-word": "A value is not one of the field's allowed values.",
    "out-of-range": "A number is too small or too large.",
    "empty-prompt": "A prompt, goal or script is empty.",
    "bad-id": "An id is too long, contains an invalid character, or is reserved.",
    "duplicate-id": "Two sibling phases, items or hooks have the same id.",
    "mixed-generations": "Both `steps` and `collections` are present.",
    "missing-items": "Neither `steps` nor `collections` is present.",
    "empty-collection": "A list of items is empty.",
    "unknown-collection": "A `for-each` names a collection that is not defined.",
    "unknown-workflow": "A named workflow has no file.",
    "self-reference": "A workflow names itself, or an item depends on itself.",
    "workflow-cycle": "Workflows reference each other in a cycle.",
    "too-deep": "Workflows are nested more than five levels deep.",
    "no-phases": "A workflow has no phases.",
    "no-action": "A phase or hook has no action.",
    "two-actions": "A phase or hook has both a `prompt` and a `workflow`.",
    "two-gates": "A phase and the last phase of its workflow both have a gate.",
    "nested-for-each": "A workflow that runs for each item contains a `for-each` itself.",
    "unknown-variable": "A template uses a variable that does not exist or has no value.",
    "unknown-item": "`depends-on` names an item that is not in its collection.",
    "missing-goal": "A Ralph sprint has no `goal`.",
    "bad-condition": "`until` is invalid, or the sprint is not a Ralph sprint.",
    "unknown-hook": "`per-iteration-hooks` names a hook that the workflow does not define.",
    "plan-too-large": "The plan would be too large to record.",
}
"""The codes of errors, which prevent compilation, with their meanings."""

WARNINGS = {
    "unused-collection": "No phase iterates over a collection.",
    "unused-prompt": "A `for-each` phase has a prompt, which is not used.",
    "variable-without-item": "A phase outside any `for-each` uses a field of the item.",
    "ignored-field": "A field has no effect at this position.",
    "unknown-field": "An unknown key, which is ignored. An error with `--strict`.",
    "kept-as-text": "A value that looks like a number is stored as text.",
    "later-dependency": "An item depends on a later item.",
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
