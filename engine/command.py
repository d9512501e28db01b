"""The base class of all commands: argument structs with a pure method `decide`.

This module also checks the format of actors, and computes the digests for idempotency keys.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import chain, combinations, islice
from types import MappingProxyType
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import asdict

from . import hashes
from .errors import InvalidInputError, wrong_type_error
from .log.event import Event, kebab

UNNAMED: Final = ("runtime", "operator")
"""The actors that need no name."""
ACTORS: Final = ("agent:", "operator:", "import:")
ACTOR_FORMS: Final = "runtime, operator, operator:NAME, agent:NAME or import:NAME"
_NEVER_EMPTY = ("reason", "error", "details")
"""The commands' optional text fields: None if omitted, never empty."""
NOT_THE_TYPE = AttributeError, LookupError, TypeError, ValueError
"""The exceptions that Python raises if a rule receives a value of the wrong type."""
OLDER_DIGESTS_MAX = 4096
_EMPTY: tuple[object, ...] = None, False, "", (), [], {}


class Command(msgspec.Struct, frozen=True, tag_field="type", tag=kebab):
    """A request for a change: its fields are its arguments, and its tag is its name."""

    stream: ClassVar[str] = "sprint"
    """The type of the stream that the command changes."""
    needs_context: ClassVar[bool] = False
    """Whether the service adds facts from outside the stream to the command."""

    @classmethod
    def name(cls) -> str:
        """Return the command's name, such as `complete-phase`."""
        return str(cls.__struct_config__.tag)

    def decide(self, state: Any, at: str, /) -> list[Event]:
        """Return the command's events at a given time; raise an error if it is refused.

        This is a pure function of the command, the state and the time.
        """
        raise NotImplementedError


class JournalCommand(Command, frozen=True):
    """A command that changes the journal."""

    stream = "journal"


Causes = Callable[..., Command]
Events = dict[type[Event], Causes]
"""The command that causes an event, or a function that returns it for an event.

The fields of such a command are filled from the event's fields of the same names.
"""


class GivenArguments(dict[str, Any]):
    """A command's arguments by name, including default values."""

    defaults: Mapping[str, Any] = MappingProxyType({})


class KeyDigest(bytes):
    """The digest of a command and its arguments, stored with an idempotency key.

    Arguments with default values are omitted, so that adding a field with a default value
    in a later version does not change the digest.
    """

    older: Iterator[bytes] = iter(())
    """The digests computed by earlier versions, which included every field that they had.

    Any field with a default value may have been added later. A matching digest agrees in
    all other fields.
    """


def check_actor(actor: str) -> str:
    """Return the actor; raise `InvalidInputError` if its format is invalid."""
    if actor in UNNAMED or (actor.startswith(ACTORS) and actor[-1] != ":"):
        return actor
    raise InvalidInputError(
        f"invalid actor {actor[:40]!r}: must be {ACTOR_FORMS}", field="actor"
    )


def decided(
    decide: Command | Callable[[Any, str], list[Event]], state: Any, at: str
) -> list[Event]:
    """Return the events from a command or an equivalent function.

    Raise `InvalidInputError` if the reason, error or details are an empty string.
    """
    if isinstance(decide, Command):
        for name in _NEVER_EMPTY if decide.stream == Command.stream else ():
            if isinstance(text := getattr(decide, name, None), str) and not text.strip():
                raise InvalidInputError(
                    "is empty", field=name, hint="specify a non-empty text"
                )
        return decide.decide(state, at)
    return decide(state, at)


def check_types(command: Command) -> None:
    """Raise `InvalidInputError` naming the first field whose value has the wrong type.

    Python does not check argument types, and checking them takes as long as deciding, so
    this function should be called only after a decision has failed.
    """
    kind = type(command).__name__
    hint = f"run `sprintlog schema commands` to see the fields of {kind}"
    said: dict[str, Any] = {"type": command.name()}
    for name, value in asdict(command).items():
        try:
            said[name] = msgspec.to_builtins(value)
        except TypeError as error:
            raise wrong_type_error(error, kind, field=name, hint=hint) from error
    try:
        read = msgspec.convert(said, type(command))
    except msgspec.ValidationError as error:
        raise wrong_type_error(error, kind, hint=hint) from error
    for name, value in asdict(command).items():
        if type(wanted := getattr(read, name)) is not type(value):
            problem = f"expected {type(wanted).__name__}, got {type(value).__name__}"
            raise InvalidInputError(f"{problem}, in {kind}", field=name, hint=hint)


def command_from_event(
    event: Event, made: Causes, left_out: Mapping[str, Any] = MappingProxyType({})
) -> Command:
    """Return the command that causes an event.

    A field whose value in the event equals the value in `left_out` keeps its default.
    """
    if (names := getattr(made, "__struct_fields__", None)) is None:
        return made(event)
    said = {name: getattr(event, name) for name in names if hasattr(event, name)}
    return made(**{n: x for n, x in said.items() if n not in left_out or x != left_out[n]})


def digest_of(name: str, arguments: Mapping[str, Any]) -> KeyDigest:
    """Return the digest of a command's name and arguments."""
    defaults = getattr(arguments, "defaults", {})
    said = {n: x for n, x in arguments.items() if x != defaults.get(n)}
    digest, optional = KeyDigest(_sha256(name, said)), [*(arguments.keys() - said.keys())]
    optional += [n for n, x in said.items() if x in _EMPTY]
    counts = range(len(optional) + 1)
    left_out = chain.from_iterable(combinations(optional, n) for n in counts)
    digest.older = (
        _sha256(name, {n: x for n, x in arguments.items() if n not in names})
        for names in islice(left_out, OLDER_DIGESTS_MAX)
    )
    return digest


def digest(command: Command) -> KeyDigest:
    """Return a command's digest, which is stored with its idempotency key."""
    return digest_of(command.name(), arguments_of(command))


def arguments_of(command: Command, typed: Collection[str] | None = None) -> GivenArguments:
    """Return a command's fields: all of them, or only those in `typed`."""
    given = asdict(command)
    found = GivenArguments(
        given if typed is None else {name: given[name] for name in typed}
    )
    found.defaults = _defaults(type(command))
    return found


def _defaults(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the defaults of a struct's fields, by name."""
    names, values = struct.__struct_fields__, struct.__struct_defaults__
    pairs = zip(names[len(names) - len(values) :], values, strict=True)
    return {n: x.factory() if hasattr(x, "factory") else x for n, x in pairs}


def _sha256(name: str, arguments: Mapping[str, Any]) -> bytes:
    said = [name, dict(arguments)]
    try:
        encoded = msgspec.json.encode(said, order="sorted")
    except UnicodeEncodeError:
        # Imported here: hardly any argument is not UTF-8.
        from .readable import as_json

        encoded = as_json(said, order="sorted")
    return hashes.sha256(encoded).digest()
