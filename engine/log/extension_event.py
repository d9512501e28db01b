"""Events of others' types, `x-acme-deployed`: read in one way, whoever brought the type.

What they say is kept as it is. They change no plan, so a log with them is folded, shown,
searched and exported where the package that brought the type was never installed.
"""

import re
from typing import Any, ClassVar, Self

from msgspec import json
from msgspec.structs import replace

from ..errors import InvalidInputError
from .event import Event, Reach, Subject

PREFIX = "x-"
TAG = re.compile(r"x-[a-z0-9]+(-[a-z0-9]+)+")
"""Whose it is, and what happened."""
TAG_CHARS_MAX = 64
NAMED_BY = ("name", "id", "phase")
"""Fields of its data that name it in its one line; the first that is there."""

_data = json.Decoder(dict[str, Any])


class ExtensionEvent(Event, frozen=True):
    """Something that happened which an extension knows more of."""

    subject: ClassVar[Subject] = Subject("event")
    reach: ClassVar[Reach] = Reach.NOTHING
    only_caused: ClassVar[str] = "an extension names its type"
    type: str  # type: ignore[misc]
    data: dict[str, Any]
    schema_version: int = 1  # type: ignore[misc]

    def name(self) -> str:
        """Return what its data calls it."""
        found = (self.data.get(name) for name in NAMED_BY)
        return next((x for x in found if isinstance(x, str) and x), "")

    def remains(self) -> Self:
        """Return what is left of it when its words are erased: its type alone."""
        return replace(self, data={})


def check_event(event: ExtensionEvent) -> None:
    """Raise `InvalidInputError` for one that no reader could take for an extension's."""
    check_tag(event.type)
    shape = event.schema_version
    if type(shape) is not int or shape < 1:
        raise InvalidInputError("must be a positive number", field="schema_version")
    if type(event.data) is not dict:
        raise InvalidInputError("must be an object", field="data")


def is_extension(tag: object) -> bool:
    """Tell whether a type is one of others."""
    return isinstance(tag, str) and tag.startswith(PREFIX)


def check_tag(tag: str) -> None:
    """Raise `InvalidInputError` for a type that no extension can bring."""
    if len(tag) > TAG_CHARS_MAX or not TAG.fullmatch(tag):
        raise InvalidInputError(
            f"{tag[:TAG_CHARS_MAX]!r} is no type of an extension: it is x-, whose it is, "
            f"and what happened, like x-acme-deployed; at most {TAG_CHARS_MAX} characters",
            field="type",
        )


def read(tag: str, shape: int, payload: str | bytes) -> ExtensionEvent:
    """Return the event that a payload says."""
    return ExtensionEvent(tag, _data.decode(payload), shape)
