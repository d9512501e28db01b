"""Parameters and results of each method, from which schemas and types are generated."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sprintlog.errors import RefusedError

PROTOCOL = 1
"""Increased if older clients could not continue; additions do not increase it."""
WORDS_MAX = 1_000

Text = Annotated[str, Meta(max_length=1 << 20)]
Count = Annotated[int, Meta(ge=0, lt=1 << 53)]


class Params(
    msgspec.Struct,
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    kw_only=True,
):
    """Base class of a method's parameters."""


def converted(data: Any, kind: type[msgspec.Struct], *, field: str) -> Any:
    """Return data as a struct; raise `RefusedError` naming the invalid field."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problem, _, where = str(error).partition(" - at `$")
        field = f"{field}{where.rstrip('`')}"
        raise RefusedError(f"{field}: {problem}", field=field) from error


class ClientName(Params, frozen=True, kw_only=True):
    """The name and version of a client."""

    name: Text
    """Its name."""
    version: Text | None = None
    """Its version."""


class Initialize(Params, frozen=True, kw_only=True):
    """The identity of a client; omitted fields do not change."""

    protocol: int = PROTOCOL
    """Which version of the protocol it speaks."""
    client: ClientName | None = None
    """The name of the client."""
    actor: Text | None = None
    """The default actor of its requests."""
    sprint: Text | None = None
    """The default sprint of its requests."""


class AboutEvents(Params, frozen=True, kw_only=True):
    """The envelope of the events that a request records."""

    actor: Text | None = None
    """Their actor."""
    at: Text | None = None
    """When it happened, ISO 8601."""
    key: Text | None = None
    """An idempotency key: recorded only once."""
    expect: Count | Literal["none", "exists", "any"] | None = None
    """Refused unless the stream is at this version."""
    correlation_id: Text | None = None
    """The work they belong to."""
    causation_id: Text | None = None
    """The event that caused them."""
    mask: bool = True
    """Whether secrets in texts are masked."""


class Record(AboutEvents, frozen=True, kw_only=True):
    """A command, given by its `type` and its fields."""

    command: dict[str, Any]
    """The command, as `sprintlog schema commands` has it."""
    sprint: Text | None = None
    """Which sprint decides; the only unfinished one without it."""


class Append(AboutEvents, frozen=True, kw_only=True):
    """An event, recorded by the command that would have caused it."""

    type: Text
    """The event's type."""
    data: dict[str, Any] = {}
    """Its fields, as `sprintlog schema events` has them."""
    stream: Text | None = None
    """`sprint/ID`; the journal has its own events."""
    observed: bool = False
    """Another tool says it happened: recorded even against our rules, marked."""


class Ask(Params, frozen=True, kw_only=True):
    """A question, named like the command that answers it."""

    question: Text
    """Like `gate show`."""
    given: dict[str, Text | Count] = {}
    """Its parameters by name."""


class Call(Params, frozen=True, kw_only=True):
    """Any command of the command line that supports `--json`."""

    words: Annotated[list[Text], Meta(min_length=1, max_length=WORDS_MAX)]
    """The words after `sprintlog`, without `--json`."""
    input: str | None = None
    """Its standard input; empty without it."""


class Follow(Params, frozen=True, kw_only=True):
    """The start of a subscription to events."""

    after: Count | None = None
    """The last position that is known; without it, the log's end."""
    stream: Text | None = None
    """Only the events of this stream."""


class Unfollow(Params, frozen=True, kw_only=True):
    """The subscription to end."""

    subscription: Count
    """The number that `follow` answered."""


class Schema(Params, frozen=True, kw_only=True):
    """The schemas to return."""

    of: Literal["commands", "events", "answers"]
    """As `sprintlog schema` prints them."""


class Cancel(Params, frozen=True, kw_only=True):
    """The request to cancel."""

    id: Text | int
    """The id of the request."""


# --- Answers, in addition to those of commands --------------------------------------------
class Initialized(msgspec.Struct, frozen=True):
    """The identity of the server."""

    protocol: int
    """The version of the protocol that is spoken."""
    version: str
    """The version of sprintlog."""
    actor: str
    """The default actor of requests."""
    sprint: str | None
    """The default sprint of requests."""
    methods: list[str]
    """What can be called."""


class CallEnded(msgspec.Struct, frozen=True):
    """The result of a command that ran in a process."""

    exit_code: int
    """As on a terminal; a gate that failed, or a loop that stopped, is an answer."""
    answer: Any
    """Its output with `--json`; a list if it prints lines, null if nothing."""


class Following(msgspec.Struct, frozen=True):
    """A subscription that has started."""

    subscription: int
    """Its number; each `event` has it."""
    after: int
    """Events after this position are sent, each once and in order."""


class Cancelled(msgspec.Struct, frozen=True):
    """Whether the request was still unanswered."""

    known: bool
    """Whether it was running; its answer has the result."""


class Unfollowed(msgspec.Struct, frozen=True):
    """Whether the subscription existed."""

    ended: bool
    """Whether it was there; none of its events comes any more."""
