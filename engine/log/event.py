"""The base class of all events, which are frozen structs with their own rules.

Each event class declares its subject, its reach, the effect of a rollback on it and whether
it is a decision; there is no separate table of events. Extension events, such as
`x-acme-deployed`, are stored verbatim and can be read without the extension. They change no
plan, so a log that contains them can be folded, shown, searched and exported anywhere. A
redacted event keeps its position and figures but loses its text.
"""

import re
import sys
from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar

import msgspec
from msgspec import json, structs
from msgspec.structs import replace

from ..errors import InvalidInputError, RefusedError
from .envelope import PAYLOAD_BYTES_MAX

ERASED = "[erased]"
"""The replacement for an erased text."""
Struct = TypeVar("Struct", bound=msgspec.Struct)
IN_FORCE = "in force"
HERE, EVERYTHING = "here", "everything"
PREFIX = "x-"
TAG = r"x-[a-z0-9]+(-[a-z0-9]+)+"
"""The type of an extension's event: a vendor and a description."""
TAG_CHARS_MAX = 64
NAMED_BY = ("name", "id", "phase")
"""The data fields that may name an extension's event; the first one present is used."""

_data = json.Decoder(dict[str, Any])


class Kind(Enum):
    """The effect of a rollback on an event."""

    EXECUTION = "execution"
    """Discarded by a rollback to an earlier version."""
    KNOWLEDGE = "knowledge"
    """Never discarded, because it is knowledge."""
    CONTROL = "control"
    """Never discarded: rollbacks themselves, and rules."""


class Reach(Enum):
    """The part of the stream's document that an event can change."""

    NOTHING = "nothing"
    """No part."""
    TOP = "top"
    """Everything but the nodes: a sprint's phases and their descendants, or entries."""
    NODE = "node"
    """In addition, the event's node and its ancestors."""
    BRANCH = "branch"
    """In addition, all descendants of that node."""
    WHOLE = "whole"
    """Everything, including the set of nodes."""


class Subject(msgspec.Struct, frozen=True):
    """An event's subject, and the fields that identify it."""

    word: str
    """The kind of subject: `sprint`, `phase`, `iteration`, `request` ..."""
    names: tuple[str, ...] = ()
    """The fields that contain its name, such as `number` or `entry.id`; the first non-empty
    field is used. Empty if the type alone is sufficient."""
    address: str = ""
    """The field that contains its address in the plan, if any."""
    is_told: bool = False
    """Whether the answer to the caller includes the name, for later commands."""


class AsDecision(msgspec.Struct, frozen=True):
    """How an event is presented as a decision."""

    kind: str
    said: tuple[str, ...] = ("reason",)
    """The fields that state the decision, if present."""
    evidence: tuple[str, ...] = ()
    """The fields that contain its evidence."""
    looks_back: bool = False
    """Whether earlier failures of the same subject also count as evidence."""
    judges: str = ""
    """The judged iteration: `IN_FORCE` for the effective one, or the name of a field."""
    stops: bool = False
    """Whether the sprint waits afterwards, so that any following event is a consequence."""


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_KEBAB = {ord(letter): f"-{letter.lower()}" for letter in _LETTERS}


def kebab(name: str) -> str:
    """Return an event or command class's name in kebab case, such as `phase-started`."""
    return name.translate(_KEBAB).removeprefix("-")


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """A recorded fact; its fields are the payload."""

    type: ClassVar[str]
    """The event type, as in `phase-started`; it is stored in logs, so it never changes."""
    subject: ClassVar[Subject]
    reach: ClassVar[Reach]
    records: ClassVar[str] = ""
    """The top-level list in the document that the event extends or changes, if any.

    Such lists grow with the log. Only events that declare a list, or that reach the whole
    document, change it.
    """
    kind: ClassVar[Kind] = Kind.EXECUTION
    only_caused: ClassVar[str] = ""
    """The event's cause, if no command records exactly this event."""
    is_structural: ClassVar[bool] = False
    """Whether other events depend on this event, so that it must obey the rules."""
    as_decision: ClassVar[AsDecision | None] = None
    """How the event is presented as a decision; None if it is not a decision."""
    as_evidence: ClassVar[tuple[str, ...] | None] = None
    """The fields that show later decisions what failed or stopped the sprint."""
    stays: ClassVar[tuple[str, ...]] = ()
    """The texts that redaction keeps because other events refer to them; a nested field is
    written as `field.inner`. Figures are always kept."""
    ends: ClassVar[tuple[str, ...]] = ()
    """The evidence that the event resolves: event types, all `HERE`, or `EVERYTHING`."""
    is_quiet: ClassVar[bool] = False
    """Whether the event is never a consequence, such as heartbeats and reports of runs."""
    schema_version: ClassVar[int] = 1
    payload_bytes_max: ClassVar[int] = PAYLOAD_BYTES_MAX

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "type" not in vars(cls):
            cls.type = kebab(cls.__name__)

    def own_time(self) -> str | None:
        """Return the time at which the event happened, if its data contains that time."""
        return None

    def remains(self) -> Self:
        """Return the event with its text erased."""
        return msgspec.structs.replace(self, **remains(self, self.stays))

    def name(self) -> str:
        """Return the subject's name, or an empty string if the type is sufficient."""
        for path in self.subject.names:
            if name := attrgetter(path)(self):
                return str(name)
        return ""

    def described(self) -> str:
        """Return a one-line description: the type and the subject's name."""
        return f"{self.type} {self.name()}".rstrip()

    def told(self) -> dict[str, Any]:
        """Return a mapping from the subject's kind to its name, if a name is needed."""
        name = self.name() if self.subject.is_told else ""
        return {self.subject.word: name} if name else {}


class KnowledgeEvent(Event, frozen=True):
    """An event that survives rollbacks and does not change the document."""

    kind: ClassVar[Kind] = Kind.KNOWLEDGE
    reach: ClassVar[Reach] = Reach.NOTHING


def events_of(module: str) -> tuple[type[Event], ...]:
    """Return a module's event classes in definition order, excluding base classes."""
    return tuple(
        kind
        for kind in vars(sys.modules[module]).values()
        if isinstance(kind, type)
        and issubclass(kind, Event)
        and kind.__module__ == module
        and not kind.__subclasses__()
    )


Takers = dict[type[Event], Callable[..., Any]]
"""The functions that apply events to a state, by event type."""

Versioned = tuple[int, str, Event]
"""An event with its version and the time at which it happened."""


class ExtensionEvent(Event, frozen=True):
    """An event whose type an extension defines."""

    subject: ClassVar[Subject] = Subject("event")
    reach: ClassVar[Reach] = Reach.NOTHING
    only_caused: ClassVar[str] = "an extension names its type"
    type: str  # type: ignore[misc]
    data: dict[str, Any]
    schema_version: int = 1  # type: ignore[misc]

    def name(self) -> str:
        """Return the name in the event's data, or an empty string."""
        found = (self.data.get(name) for name in NAMED_BY)
        return next((x for x in found if isinstance(x, str) and x), "")

    def remains(self) -> Self:
        """Return the event with its data erased; only its type remains."""
        return replace(self, data={})


def remains(event: msgspec.Struct, stays: tuple[str, ...]) -> dict[str, Any]:
    """Return an event's fields with its text erased.

    `stays` lists the text fields to keep because other events refer to them; a nested field
    is written as `field.inner`. Every other string becomes `ERASED`. Lists of strings and
    free-form objects become empty, because their lengths and keys could reveal information.
    """
    return {
        name: _of(getattr(event, name), name, stays) for name in event.__struct_fields__
    }


def _of(value: Any, name: str, stays: tuple[str, ...]) -> Any:
    if name in stays:
        return value
    if isinstance(value, str):
        return value and ERASED
    if isinstance(value, msgspec.Struct):
        inner = (n for n in value.__struct_fields__)
        changed = {n: _of(getattr(value, n), f"{name}.{n}", stays) for n in inner}
        return structs.replace(value, **changed)
    if isinstance(value, list | tuple):
        whole = (one for one in value if isinstance(one, msgspec.Struct))
        return type(value)(_of(one, name, stays) for one in whole)
    return {} if isinstance(value, dict) else value


def event_of(kind: type[Event], data: object) -> Event:
    """Return an event from its data as decoded from JSON.

    Raise `RefusedError`, naming the field, if a field is missing, unknown or of the wrong
    type.
    """
    if not isinstance(data, dict):
        raise RefusedError(f"data of {kind.type} must be an object", field="data")
    known = kind.__struct_fields__
    if extra := [name for name in data if name not in known]:
        raise RefusedError(
            f"data.{extra[0]}: {kind.type} has no such field; "
            f"allowed: {', '.join(known) or 'none'}",
            field=f"data.{extra[0]}",
            allowed=list(known),
        )
    return converted(data, kind, field="data")


def converted(data: Any, kind: type[Struct], *, field: str) -> Struct:
    """Return data converted to a struct; raise `RefusedError` naming an invalid field."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        field = f"{field}{where.rstrip('`')}"
        raise RefusedError(f"{field}: {problem}", field=field) from error


def made_from(kind: type[Struct], source: Any, **others: Any) -> Struct:
    """Return a struct built from a source's matching fields and the given values."""
    names = getattr(source, "__struct_fields__", None) or source._fields
    same = {name: getattr(source, name) for name in kind.__struct_fields__ if name in names}
    return kind(**same | others)


def check_event(event: ExtensionEvent) -> None:
    """Raise `InvalidInputError` unless this is a valid extension event."""
    check_tag(event.type)
    shape = event.schema_version
    if type(shape) is not int or shape < 1:
        raise InvalidInputError("must be a positive number", field="schema_version")
    if type(event.data) is not dict:
        raise InvalidInputError("must be an object", field="data")


def is_extension(tag: object) -> bool:
    """Return whether an event type belongs to an extension."""
    return isinstance(tag, str) and tag.startswith(PREFIX)


def check_tag(tag: str) -> None:
    """Raise `InvalidInputError` unless the tag is valid for an extension event."""
    if len(tag) > TAG_CHARS_MAX or not re.fullmatch(TAG, tag):
        raise InvalidInputError(
            f"invalid extension event type {tag[:TAG_CHARS_MAX]!r}: must be x-OWNER-NAME, "
            f"for example x-acme-deployed, with at most {TAG_CHARS_MAX} characters",
            field="type",
        )


def read(tag: str, shape: int, payload: str | bytes) -> ExtensionEvent:
    """Return an extension event from its payload."""
    return ExtensionEvent(tag, _data.decode(payload), shape)
