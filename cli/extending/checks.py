"""Whether what an extension brings is what its kind has to be."""

from typing import Any

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.extensions import Extension, load
from sprintlog.engine.service.streams.extension_events import event_schema
from sprintlog.projections.extended import reading_of

STORE_NAMES = ("create", "append", "read", "read_stream", "scan", "head", "close")
"""Some of what a store has, which another class has not."""


def problem_of(extension: Extension) -> str | None:
    """Return why an extension cannot be used; None where it can."""
    try:
        if extension.kind == "event":
            event_schema(extension)
            return None
        made = load(extension)
        if extension.kind == "projection":
            reading_of(extension, made)
        return _problem(extension, made)
    except SprintlogError as error:
        return error.message


def _problem(extension: Extension, made: Any) -> str | None:
    if extension.kind == "store":
        missing = [name for name in STORE_NAMES if not hasattr(made, name)]
        return f"has no {missing[0]}()" if missing else None
    is_called = extension.kind != "projection"
    return "cannot be called" if is_called and not callable(made) else None
