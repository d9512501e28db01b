"""The shape every event shares: a frozen struct that declares what is known about it.

Each class says where it is defined what it is about, how far it reaches, what a rollback
does to it, and whether it is a decision. No table elsewhere lists events for that.
"""

import re
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
"""What is said in the place of a text."""


def remains(event: msgspec.Struct, stays: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields of an event without its words.

    `stays` names the texts that others refer to, those within a field after a dot. Every
    other text is `ERASED`. Lists of texts and objects of any shape are empty: their
    lengths and their keys would say something, too.
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


Struct = TypeVar("Struct", bound=msgspec.Struct)


class Kind(Enum):
    """What a rollback does to an event."""

    EXECUTION = "execution"
    """Voided when a rollback goes back before it."""
    KNOWLEDGE = "knowledge"
    """Never voided: what was learned stays learned."""
    CONTROL = "control"
    """Never voided: rollbacks themselves, and the rules in force."""


class Reach(Enum):
    """Which part of its stream's document an event can change."""

    NOTHING = "nothing"
    """None of it."""
    TOP = "top"
    """All but its nodes: a sprint's phases with all below, a journal's entries."""
    NODE = "node"
    """Besides, the node that the event is about, and all above it."""
    BRANCH = "branch"
    """Besides, all below that node."""
    WHOLE = "whole"
    """Everything, and which nodes there are."""


class Subject(msgspec.Struct, frozen=True):
    """What an event is about, and which of its fields say so."""

    word: str
    """What kind of thing: `sprint`, `phase`, `iteration`, `request` ..."""
    names: tuple[str, ...] = ()
    """The fields that name it in its one line, like `number` or `entry.id`; the first
    that says something counts. Without any its type says it all."""
    address: str = ""
    """The field with the address in the plan, where it is at one."""
    is_told: bool = False
    """Whether who recorded it is told the name, to use from now on."""


IN_FORCE = "in force"
HERE, EVERYTHING = "here", "everything"


class AsDecision(msgspec.Struct, frozen=True):
    """How an event is read as a decision."""

    kind: str
    said: tuple[str, ...] = ("reason",)
    """The fields that say what was decided; those that are there."""
    evidence: tuple[str, ...] = ()
    """The fields that it was decided on."""
    looks_back: bool = False
    """Whether what went wrong there before is evidence too."""
    judges: str = ""
    """What is judged for it: the iteration `in force`, or the one that a field names."""
    stops: bool = False
    """Whether the sprint waits then: whatever comes next is what followed."""


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that happened; its fields are the payload, its tag the contract."""

    type: ClassVar[str]
    subject: ClassVar[Subject]
    reach: ClassVar[Reach]
    records: ClassVar[str] = ""
    """The list at the top of the document that it adds to or changes, where there is one.

    Such lists grow with the log, so no other event that does not reach the whole document
    changes one that is there."""
    kind: ClassVar[Kind] = Kind.EXECUTION
    only_caused: ClassVar[str] = ""
    """What causes it, where no command is there to record just this."""
    is_structural: ClassVar[bool] = False
    """Whether all else is read by it, so that nobody records it against the rules."""
    as_decision: ClassVar[AsDecision | None] = None
    """How it is read as a decision; None where it is none."""
    as_evidence: ClassVar[tuple[str, ...] | None] = None
    """The fields that tell a later decision what went wrong, or stopped the sprint."""
    stays: ClassVar[tuple[str, ...]] = ()
    """The texts that stay when what it says is erased, since others refer to them; those
    within a field after a dot. Figures stay, too."""
    ends: ClassVar[tuple[str, ...]] = ()
    """Such evidence that is overcome with it: types, all `HERE`, or `EVERYTHING`."""
    is_quiet: ClassVar[bool] = False
    """Whether it does not count as following: signs of life, reports of runs."""
    schema_version: ClassVar[int] = 1
    payload_bytes_max: ClassVar[int] = PAYLOAD_BYTES_MAX

    def own_time(self) -> str | None:
        """Return when it happened, where the event itself says so."""
        return None

    def remains(self) -> Self:
        """Return what is left of it when its words are erased."""
        return msgspec.structs.replace(self, **remains(self, self.stays))

    def name(self) -> str:
        """Return the name of what it is about; empty where its type says it all."""
        return next((str(x) for n in self.subject.names if (x := attrgetter(n)(self))), "")

    def described(self) -> str:
        """Return its type and what it is about: its one line."""
        return f"{self.type} {self.name()}".rstrip()

    def told(self) -> dict[str, Any]:
        """Return the names to use from now on."""
        name = self.name() if self.subject.is_told else ""
        return {self.subject.word: name} if name else {}


Takers = dict[type[Event], Callable[..., Any]]
"""By event, the function by which a state takes it in."""


def event_of(kind: type[Event], data: object) -> Event:
    """Return an event from its data as JSON gives it.

    Raise `RefusedError` naming a field that is missing, unknown or of the wrong type.
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
    """Return data as a struct; raise `RefusedError` naming the field that is wrong."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        field = f"{field}{where.rstrip('`')}"
        raise RefusedError(f"{field}: {problem}", field=field) from error


Versioned = tuple[int, str, Event]
"""Version, time it happened, and the event."""


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
