"""The journal's events for the page of events, and their structs."""

import re

import msgspec

from sprintlog.engine.journal import events, parts

EVENTS = events.JOURNAL_EVENTS
STRUCTS: dict[str, type[msgspec.Struct]] = {
    "entry": parts.Entry,
    "observation": parts.Observation,
    "context": parts.Context,
    "learning": parts.Learning,
    "pattern": parts.Pattern,
}
WORDS = {
    "Needed": "text",
    "Moment": "text",
    "Count": "integer",
    "FromOne": "integer",
    "tuple[Entry, ...]": "list of [entries](#entry)",
    "tuple[Learning, ...]": "list of [learnings](#learning)",
    "tuple[Pattern, ...]": "list of [patterns](#pattern)",
    "Entry": "[entry](#entry)",
    "tuple[Observation, ...]": "list of [observation](#observation)",
    "Context": "[context](#context)",
    "Learning": "[learning](#learning)",
    "Pattern": "[pattern](#pattern)",
}


def without_rule(annotation: str) -> str:
    """Return the type of a field without the rule that it may have."""
    return re.sub(r"^Annotated\[(\w+), .*\]$", r"\1", annotation)


def default_of(field: msgspec.structs.FieldInfo) -> object:
    """Return a field's default, created if it is created each time."""
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()
