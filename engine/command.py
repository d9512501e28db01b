"""The shape every command shares: a command as data, which a pure function decides on."""

import sys
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar

import msgspec
from msgspec.structs import asdict

from . import hashes
from .log.event import Event


def _name(struct: str) -> str:
    """Return the name of a command from that of its struct: `CompletePhase`."""
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in struct).removeprefix("-")


class Command(msgspec.Struct, frozen=True, tag_field="type", tag=_name):
    """What somebody asks for: its fields are the arguments, its tag is its name.

    Beside it is the function that decides on it. The `COMMANDS` of its topic have both.
    """

    stream: ClassVar[str] = "sprint"
    """What kind of stream decides on it."""

    @classmethod
    def name(cls) -> str:
        """Return its name, like `complete-phase`."""
        return str(cls.__struct_config__.tag)


class JournalCommand(Command, frozen=True):
    """A command of the journal."""

    stream: ClassVar[str] = "journal"


Decider = Callable[[Any, Any, str], list[Event]]
"""From a state, a command and the time to the events that happen; or it refuses."""
Commands = dict[type[Command], Decider]
"""The commands of a topic, each with the function that decides on it."""
Causes = Callable[..., Command]
Events = dict[type[Event], Causes]
"""Which command causes an event, by equal names of fields, or made of the event."""


def commands_in(names: dict[str, Any]) -> Commands:
    """Return the commands that a module decides on: each function says on which.

    Private ones decide on a part of what another one does.
    """
    found: Commands = {}
    for name, rule in names.items():
        if name.startswith("_"):
            continue
        if isinstance(rule, FunctionType) and rule.__module__ == names["__name__"]:
            struct = rule.__annotations__.get("command")
            if isinstance(struct, type) and issubclass(struct, Command):
                found[struct] = rule
    return found


def rule_of(command: Command) -> Decider:
    """Return the function that decides on a command.

    Its topic was imported by whoever made the command, so nothing more is.
    """
    struct = type(command)
    rule: Decider = sys.modules[struct.__module__].COMMANDS[struct]
    return rule


def decided(
    decide: Command | Callable[[Any, str], list[Event]], state: Any, at: str
) -> list[Event]:
    """Return what is decided on a command, or by what decides in its place."""
    if isinstance(decide, Command):
        return rule_of(decide)(state, decide, at)
    return decide(state, at)


def made_of(
    event: Event, made: Causes, left_out: Mapping[str, Any] = MappingProxyType({})
) -> Command:
    """Return the command that causes an event; `left_out` says what stands for nothing."""
    if (names := getattr(made, "__struct_fields__", None)) is None:
        return made(event)
    said = {name: getattr(event, name) for name in names if hasattr(event, name)}
    return made(**{n: x for n, x in said.items() if n not in left_out or x != left_out[n]})


def digest_of(name: str, arguments: Mapping[str, Any]) -> bytes:
    """Return what an idempotency key stands for: a command and its arguments."""
    return hashes.sha256(
        msgspec.json.encode([name, dict(arguments)], order="sorted")
    ).digest()


def digest(command: Command) -> bytes:
    """Return what an idempotency key of a command stands for."""
    return digest_of(command.name(), asdict(command))
