"""The parameters and results of each method, from which schemas and types are generated."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from sprintlog.errors import RefusedError

PROTOCOL = 1
"""The protocol version; only incompatible changes increase it."""
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
    """The client's name."""
    version: Text | None = None
    """The client's version."""


class Initialize(Params, frozen=True, kw_only=True):
    """The identity of a client; omitted fields do not change."""

    protocol: int = PROTOCOL
    """The protocol version that the client uses."""
    client: ClientName | None = None
    """The client's name and version."""
    actor: Text | None = None
    """The default actor for the client's requests."""
    sprint: Text | None = None
    """The default sprint for the client's requests."""


class AboutEvents(Params, frozen=True, kw_only=True):
    """The envelope of the events that a request records."""

    actor: Text | None = None
    """The actor of the events."""
    at: Text | None = None
    """The time of the events in ISO 8601 format."""
    key: Text | None = None
    """An idempotency key; a request with the same key is recorded only once."""
    expect: Count | Literal["none", "exists", "any"] | None = None
    """The expected version of the stream; if it differs, the request is refused."""
    correlation_id: Text | None = None
    """The work to which the events belong."""
    causation_id: Text | None = None
    """The event that caused the events."""
    mask: bool = True
    """Whether to mask secrets in texts."""


class Record(AboutEvents, frozen=True, kw_only=True):
    """A command, given by its `type` and its fields."""

    command: dict[str, Any]
    """The command in the format of `sprintlog schema commands`."""
    sprint: Text | None = None
    """The sprint; by default the only unfinished sprint."""


class Append(AboutEvents, frozen=True, kw_only=True):
    """An event that is recorded by the command that would have caused it."""

    type: Text
    """The event's type."""
    data: dict[str, Any] = {}
    """The event's fields in the format of `sprintlog schema events`."""
    stream: Text | None = None
    """The stream, such as `sprint/ID`; not required for events of the journal."""
    observed: bool = False
    """Whether another tool observed the event; it is marked and exempt from our rules."""


class Ask(Params, frozen=True, kw_only=True):
    """A question, named like the command that answers it."""

    question: Text
    """The question, such as `gate show`."""
    given: dict[str, Text | Count] = {}
    """The question's parameters by name."""


class Call(Params, frozen=True, kw_only=True):
    """Any command-line command that supports `--json`."""

    words: Annotated[list[Text], Meta(min_length=1, max_length=WORDS_MAX)]
    """The arguments of `sprintlog`, without `--json`."""
    input: str | None = None
    """The command's standard input, by default empty."""


class Follow(Params, frozen=True, kw_only=True):
    """The start of a subscription to events."""

    after: Count | None = None
    """The last known position; by default the end of the log."""
    stream: Text | None = None
    """The stream to which the subscription is limited."""


class Unfollow(Params, frozen=True, kw_only=True):
    """The subscription to end."""

    subscription: Count
    """The subscription number that `follow` returned."""


class Schema(Params, frozen=True, kw_only=True):
    """The schemas to return."""

    of: Literal["commands", "events", "answers"]
    """The kind of schemas, as for `sprintlog schema`."""


class Cancel(Params, frozen=True, kw_only=True):
    """The request to cancel."""

    id: Text | int
    """The id of the request."""


# --- Results, in addition to the answers of commands ------------------------------------
class Initialized(msgspec.Struct, frozen=True):
    """The identity of the server."""

    protocol: int
    """The protocol version in use."""
    version: str
    """The sprintlog version."""
    actor: str
    """The default actor for requests."""
    sprint: str | None
    """The default sprint for requests."""
    methods: list[str]
    """The available methods."""


class CallEnded(msgspec.Struct, frozen=True):
    """The result of a command that ran in a separate process."""

    exit_code: int
    """The exit status; a failed gate or a stopped loop is not reported as an error."""
    answer: Any
    """The command's `--json` output: a list for lines, null if it prints nothing."""


class Following(msgspec.Struct, frozen=True):
    """A subscription that has started."""

    subscription: int
    """The subscription number, included in each `event`."""
    after: int
    """The position after which each event is sent once, in order."""


class Cancelled(msgspec.Struct, frozen=True):
    """Whether the request was still unanswered."""

    known: bool
    """Whether the request was still running; the answer to it contains the result."""


class Unfollowed(msgspec.Struct, frozen=True):
    """Whether the subscription existed."""

    ended: bool
    """Whether the subscription existed; no more of its events are sent."""
