"""The methods: what each takes, and what does it; the one table of them."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.views.events import Answered

from ..questions import registry
from ..record import check_actor
from . import records
from .kept_log import KeptLog
from .params import (
    PROTOCOL,
    Append,
    Ask,
    Call,
    Cancel,
    Follow,
    Initialize,
    Initialized,
    Params,
    Record,
    Schema,
    Unfollow,
)
from .records import DecidedRequest


class Asking:
    """Who asks: what holds where a request does not say it."""

    def __init__(
        self, actor: str, sprint: str | None, *, has_processes: bool = True
    ) -> None:
        self.actor = actor
        self.sprint = sprint
        self.has_processes = has_processes
        """Whether a request may start a process."""


Act = Callable[[KeptLog, Any, Asking], Any]
Decide = Callable[[KeptLog, Any, Asking], DecidedRequest]


class Method(NamedTuple):
    """Something that can be called."""

    takes: type[Params]
    says: str
    """What it does, in a sentence."""
    act: Act
    is_process: bool = False
    """Whether it is done by a process of its own, beside all else."""
    decide: Decide | None = None
    """The first half of what only records: it can be committed with that of others."""


def _initialize(log: KeptLog, given: Initialize, asking: Asking) -> Initialized:
    if given.protocol != PROTOCOL:
        said = f"{given.protocol} is not known here; there is {PROTOCOL}"
        raise InvalidInputError(said, field="params.protocol")
    if given.actor is not None:
        asking.actor = check_actor(given.actor)
    if given.sprint is not None:
        asking.sprint = given.sprint
    return Initialized(
        PROTOCOL, version("sprintlog"), asking.actor, asking.sprint, methods_for(asking)
    )


def methods_for(asking: Asking) -> list[str]:
    """Return the names of the methods that a client may call."""
    has_all = asking.has_processes
    return [name for name, method in METHODS.items() if has_all or not method.is_process]


def _record(log: KeptLog, given: Record, asking: Asking) -> DecidedRequest:
    return records.record(log.to_record(), given, actor=asking.actor, sprint=asking.sprint)


def _append(log: KeptLog, given: Append, asking: Asking) -> DecidedRequest:
    return records.append(log.to_record(), given, actor=asking.actor, sprint=asking.sprint)


def _followed(decide: Decide) -> Act:
    def act(log: KeptLog, given: Any, asking: Asking) -> Answered:
        decided = decide(log, given, asking)
        records.follow(log.workspace(), decided.stream)
        return decided.answer

    return act


def _ask(log: KeptLog, given: Ask, asking: Asking) -> Any:
    said = {name: str(value) for name, value in given.given.items()}
    route = registry.ROUTES.get(given.question)
    if route is not None and "sprint" in route.takes and asking.sprint is not None:
        said.setdefault("sprint", asking.sprint)
    return registry.answer(log.workspace(), given.question, said)


def _schema(log: KeptLog, given: Schema, asking: Asking) -> Any:
    # Imported here: all types of events and of answers are, which few clients ask for.
    from sprintlog.projections.views import answers

    from ..upkeep.schema import commands_schema, events_schema

    match given.of:
        case "commands":
            return commands_schema()
        case "events":
            return events_schema()
        case _:
            return answers.schemas()


def _by_session(log: KeptLog, given: Any, asking: Asking) -> Any:
    """Stand for what the session does itself."""
    raise NotImplementedError


METHODS: dict[str, Method] = {
    "initialize": Method(
        Initialize,
        "Say who you are and which protocol you know; it may be left out.",
        _initialize,
    ),
    "record": Method(
        Record,
        "Let a command be decided on, and record what follows from it.",
        _followed(_record),
        decide=_record,
    ),
    "append": Method(
        Append,
        "Record an event by the command that would have caused it.",
        _followed(_append),
        decide=_append,
    ),
    "ask": Method(
        Ask,
        "Ask a question; nothing is recorded.",
        _ask,
    ),
    "call": Method(
        Call,
        "Do any command that answers with `--json`, by a process of its own.",
        _by_session,
        is_process=True,
    ),
    "follow": Method(
        Follow,
        "Be told of each event after a position, and of those that come.",
        _by_session,
    ),
    "unfollow": Method(Unfollow, "Be told no more.", _by_session),
    "schema": Method(
        Schema,
        "Answer the JSON Schema of commands, events or answers.",
        _schema,
    ),
    "cancel": Method(Cancel, "Say that a request is not wanted any more.", _by_session),
}
"""By name; what a client can call."""
