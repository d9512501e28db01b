"""The shape every command shares: a command as data, which a pure function decides on."""

import sys
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, ClassVar

import msgspec
from msgspec.structs import asdict

from . import hashes
from .errors import InvalidInputError, of_another_type
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


NOT_THE_TYPE = AttributeError, LookupError, TypeError, ValueError
"""What Python raises where a rule meets a value of another type."""


def check_types(command: Command) -> None:
    """Raise `InvalidInputError` naming the first field whose value is of another type.

    Python asks no type of who makes a command, and to look at each takes as long as to
    decide: so this is asked where deciding failed.
    """
    kind = type(command).__name__
    hint = f"`sprintlog schema commands` has the fields of {kind}"
    said: dict[str, Any] = {"type": command.name()}
    for name, value in asdict(command).items():
        try:
            said[name] = msgspec.to_builtins(value)
        except TypeError as error:
            raise of_another_type(error, kind, field=name, hint=hint) from error
    try:
        read = msgspec.convert(said, type(command))
    except msgspec.ValidationError as error:
        raise of_another_type(error, kind, hint=hint) from error
    for name, value in asdict(command).items():
        if type(wanted := getattr(read, name)) is not type(value):
            problem = f"expected {type(wanted).__name__}, got {type(value).__name__}"
            raise InvalidInputError(f"{problem}, in {kind}", field=name, hint=hint)


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
