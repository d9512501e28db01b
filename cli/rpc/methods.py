"""The table of methods: the parameters and the function of each method."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from msgspec import Struct

from sprintlog.errors import InvalidInputError
from sprintlog.questions import QUESTIONS, answer
from sprintlog.servers import ResidentLog, append_event, record_command
from sprintlog.stores import Expect
from sprintlog.workspaces import Workspace

from . import params
from .params import PROTOCOL, Params


class RpcHost(NamedTuple):
    """The functions that the command line provides to the RPC server."""

    open: Callable[[], Workspace]
    check_is_on: Callable[[], None]
    """Raises an error if recording is off."""
    check_actor: Callable[[str], str]
    refresh: Callable[[Workspace, str], None]
    """Writes the state file of a stream; reports problems instead of raising errors."""
    call: Callable[..., params.CallEnded]
    """Runs a command in a separate process."""
    schema_of: Callable[[str], Any]
    """Returns the JSON Schema of commands, events or answers."""
    correlation_id: str | None = None
    """The work to which a request belongs by default."""


class Asking(Struct):
    """A client and the defaults of its requests."""

    host: RpcHost
    actor: str
    sprint: str | None
    has_processes: bool = True
    """Whether a request may start a process."""


Act = Callable[[ResidentLog, Any, Asking], Any]


class Method(NamedTuple):
    """A method that clients can call."""

    takes: type[Params]
    says: str
    """A one-sentence description."""
    act: Act | None = None
    """The function that answers a request; None for the session's own methods."""
    is_process: bool = False
    """Whether the method runs in a separate process."""
    records: bool = False
    """Whether the method only records, so that it can share a commit with other requests.
    """


def _initialize(
    log: ResidentLog, given: params.Initialize, asking: Asking
) -> params.Initialized:
    if given.protocol != PROTOCOL:
        said = f"protocol {given.protocol} is not supported; supported: {PROTOCOL}"
        raise InvalidInputError(said, field="params.protocol")
    if given.actor is not None:
        asking.actor = asking.host.check_actor(given.actor)
    if given.sprint is not None:
        asking.sprint = given.sprint
    return params.Initialized(
        PROTOCOL, version("sprintlog"), asking.actor, asking.sprint, methods_for(asking)
    )


def methods_for(asking: Asking) -> list[str]:
    """Return the names of the methods that a client may call."""
    has_all = asking.has_processes
    return [name for name, method in METHODS.items() if has_all or not method.is_process]


def _record(log: ResidentLog, given: params.Record, asking: Asking) -> Any:
    return record_command(log.to_record(), given.command, **_about(given, asking))


def _append(log: ResidentLog, given: params.Append, asking: Asking) -> Any:
    line = {x: getattr(given, x) for x in ("type", "data", "stream", "observed")}
    return append_event(log.to_record(), line, **_about(given, asking))


def _about(given: params.AboutEvents, asking: Asking) -> Any:
    """Return the sprint and the envelope of the events that a request records."""
    expect = given.expect
    return {
        "sprint_id": getattr(given, "sprint", None) or asking.sprint,
        "actor": asking.host.check_actor(given.actor or asking.actor),
        "at": given.at,
        "key": given.key,
        "expect": Expect(expect) if isinstance(expect, str) else expect,
        "correlation_id": given.correlation_id or asking.host.correlation_id,
        "causation_id": given.causation_id,
        "masks": given.mask,
    }


def _ask(log: ResidentLog, given: params.Ask, asking: Asking) -> Any:
    said = {name: str(value) for name, value in given.given.items()}
    question = QUESTIONS.get(given.question)
    if question is not None and "sprint" in question.takes and asking.sprint is not None:
        said.setdefault("sprint", asking.sprint)
    return answer(log.workspace(), given.question, said)


METHODS: dict[str, Method] = {
    "initialize": Method(
        params.Initialize, "Identify the client and its protocol; optional.", _initialize
    ),
    "record": Method(
        params.Record,
        "Let a command be decided on, and record what follows from it.",
        _record,
        records=True,
    ),
    "append": Method(
        params.Append,
        "Record an event by the command that would have caused it.",
        _append,
        records=True,
    ),
    "ask": Method(params.Ask, "Ask a question; nothing is recorded.", _ask),
    "call": Method(
        params.Call,
        "Run any command that answers with `--json`, in a separate process.",
        is_process=True,
    ),
    "follow": Method(
        params.Follow, "Receive each event after a position, and all new ones."
    ),
    "unfollow": Method(params.Unfollow, "Stop receiving events."),
    "schema": Method(
        params.Schema,
        "Answer the JSON Schema of commands, events or answers.",
        lambda log, given, asking: asking.host.schema_of(given.of),
    ),
    "cancel": Method(params.Cancel, "Say that a request is not wanted any more."),
}
"""All methods by name."""
