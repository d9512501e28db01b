"""Sentences about manual edits to a state file."""

from collections.abc import Mapping, Sequence
from typing import Any

from sprintlog.engine.service.place.location import PROGRESS
from sprintlog.engine.sprint.state.patch import segments, under_key

NAMED_MAX = 2


def edited(edit: Mapping[str, Any], *, of_journal: bool = False) -> str:
    """Return an `edit-observed` event as a sentence that explains how to adopt the edit."""
    said, changes = f"{edit['path']} was edited by hand", edit.get("changes")
    if changes is None:
        return f"{said}: {edit.get('problem') or 'the changes are unknown'}"
    names = edit.get("fields") or [_named(change["path"]) for change in changes]
    shown, more = names[:NAMED_MAX], len(changes) - NAMED_MAX
    if len(names) > NAMED_MAX:
        shown = [*shown[:-1], f"{shown[-1]} and {more} more"]
    count = f"{len(changes)} change{'s' * (len(changes) != 1)}"
    told = f"{said}: {', '.join(shown)} ({count})" if shown else f"{said}: {count}"
    if of_journal:
        return f"{told}, not adopted; run `sprintlog adopt --journal` to adopt the edit"
    if str(edit["path"]).endswith(PROGRESS):
        return f"{told}, not adopted; run `sprintlog adopt` to adopt the edit"
    return told


def _named(pointer: str) -> str:
    """Return a JSON pointer as a field name; numbers are assumed to be list indexes."""
    name = ""
    steps: Sequence[str] = segments(pointer)
    for step in steps:
        is_index = bool(name) and step.isascii() and step.isdecimal()
        name = f"{name}[{step}]" if is_index else under_key(name, step)
    return name
