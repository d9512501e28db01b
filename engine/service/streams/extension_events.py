"""Events of an extension's type, checked by the extension's struct."""

from typing import Any

import msgspec

from ...command import Command
from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...extensions import Extension, ExtensionError, find, load, named
from ...log.event import ExtensionEvent, check_event, check_tag, converted
from ...sprint.commands import RecordExtensionEvent

EVENT = "event"


def extension_event(tag: str, data: object, *, is_observed: bool = False) -> ExtensionEvent:
    """Return an extension event to record; its type checks and completes the data.

    An observed event whose type is not installed is recorded unchanged. Otherwise, raise
    `NotFoundError` for such a type, or `RefusedError` naming an invalid field.
    """
    check_tag(tag)
    if not isinstance(data, dict):
        raise RefusedError(f"data of {tag} must be an object", field="data")
    try:
        extension = find(EVENT, tag)
    except NotFoundError as error:
        if is_observed:
            return ExtensionEvent(tag, data)
        raise NotFoundError(
            f"no installed extension provides the event type {tag}",
            hint="install the package that provides it, or record the event unchanged "
            "with --observed",
            unknown=error.unknown,
            field="type",
        ) from error
    kind = event_type(extension)
    said = checked_data(extension, kind, data)
    return ExtensionEvent(tag, said, getattr(kind, "schema_version", 1))


def checked_command(command: Command, is_observed: bool | None) -> Command:
    """Return the command that records an extension event, checked by `extension_event`."""
    assert isinstance(command, RecordExtensionEvent)
    check_event(command.event)
    said = command.event
    event = extension_event(said.type, said.data, is_observed=bool(is_observed))
    return RecordExtensionEvent(event)


def event_as_said(tag: str, data: dict[str, Any], *, shape: int = 1) -> ExtensionEvent:
    """Return an event with the given data, even if its type is not installed."""
    return ExtensionEvent(tag, data, shape)


def checked_data(
    extension: Extension, kind: type[msgspec.Struct], data: dict[str, Any]
) -> dict[str, Any]:
    """Return an event's data, completed by its type; raise an error if it is invalid."""
    _check_fields(extension.name, kind, data)
    # The type's own code may check more than shapes: `__post_init__` is the package's.
    with named(extension):
        said = msgspec.to_builtins(converted(data, kind, field="data"))
    if not isinstance(said, dict):
        raise ExtensionError(
            f"{extension.described()} did not return an object for its data"
        )
    return said


def event_type(extension: Extension) -> type[msgspec.Struct]:
    """Return the struct of an event type; raise `ExtensionError` for any other object."""
    check_tag(extension.name)
    kind = load(extension)
    if (problem := struct_problem(kind)) is not None:
        raise ExtensionError(f"{extension.described()} {problem}")
    return kind  # type: ignore[no-any-return]


def struct_problem(kind: object) -> str | None:
    """Return why an object cannot be an event type; None if it can."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return "is not a msgspec.Struct, whose fields are those of the event's data"
    config = kind.__struct_config__
    if config.array_like or config.tag is not None:
        return "must be a plain object, without array_like and tag"
    shape = getattr(kind, "schema_version", 1)
    is_shape = type(shape) is int and shape >= 1
    return None if is_shape else "has an invalid schema_version: must be a number from 1 on"


def event_schema(extension: Extension) -> dict[str, Any]:
    """Return the JSON Schema for an event type's data."""
    with named(extension):
        return msgspec.json.schema(event_type(extension))


def _check_fields(tag: str, kind: type[msgspec.Struct], data: dict[str, Any]) -> None:
    known = [field.encode_name for field in msgspec.structs.fields(kind)]
    if extra := [name for name in data if name not in known]:
        name = str(extra[0])[:60]
        raise InvalidInputError(
            f"{tag} has no such field; allowed: {', '.join(known) or 'none'}",
            field=f"data.{name}",
            unknown=(name, known),
        )
