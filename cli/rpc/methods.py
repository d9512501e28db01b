"""The methods: what each takes, and what does it; the one table of them."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

from sprintlog.engine.errors import InvalidInputError

from .. import questions
from ..record import check_actor
from ..resident_log import ResidentLog
from . import params, records
from .params import PROTOCOL, Params
from .records import Asking

Act = Callable[[ResidentLog, Any, Asking], Any]


class Method(NamedTuple):
    """Something that can be called."""

    takes: type[Params]
    says: str
    """What it does, in a sentence."""
    act: Act | None = None
    """Its answer; None for a method of the session itself."""
    is_process: bool = False
    """Whether it is done by a process of its own, beside all else."""
    records: bool = False
    """Whether it only records: it can be committed with the requests of others."""


def _initialize(
    log: ResidentLog, given: params.Initialize, asking: Asking
) -> params.Initialized:
    if given.protocol != PROTOCOL:
        said = f"{given.protocol} is not known here; there is {PROTOCOL}"
        raise InvalidInputError(said, field="params.protocol")
    if given.actor is not None:
        asking.actor = check_actor(given.actor)
    if given.sprint is not None:
        asking.sprint = given.sprint
    return params.Initialized(
        PROTOCOL, version("sprintlog"), asking.actor, asking.sprint, methods_for(asking)
    )


def methods_for(asking: Asking) -> list[str]:
    """Return the names of the methods that a client may call."""
    has_all = asking.has_processes
    return [name for name, method in METHODS.items() if has_all or not method.is_process]


def _ask(log: ResidentLog, given: params.Ask, asking: Asking) -> Any:
    said = {name: str(value) for name, value in given.given.items()}
    route = questions.ROUTES.get(given.question)
    if route is not None and "sprint" in route.takes and asking.sprint is not None:
        said.setdefault("sprint", asking.sprint)
    return questions.answer(log.workspace(), given.question, said)


def _schema(log: ResidentLog, given: params.Schema, asking: Asking) -> Any:
    # Imported here: all types of events and of answers are, which few clients ask for.
    from sprintlog.projections.views import answers

    from ..upkeep.schema import commands_schema, events_schema

    if given.of == "answers":
        return answers.schemas()
    return commands_schema() if given.of == "commands" else events_schema()


METHODS: dict[str, Method] = {
    "initialize": Method(
        params.Initialize,
        "Say who you are and which protocol you know; it may be left out.",
        _initialize,
    ),
    "record": Method(
        params.Record,
        "Let a command be decided on, and record what follows from it.",
        records.record,
        records=True,
    ),
    "append": Method(
        params.Append,
        "Record an event by the command that would have caused it.",
        records.append,
        records=True,
    ),
    "ask": Method(params.Ask, "Ask a question; nothing is recorded.", _ask),
    "call": Method(
        params.Call,
        "Do any command that answers with `--json`, by a process of its own.",
        is_process=True,
    ),
    "follow": Method(
        params.Follow, "Be told of each event after a position, and of those that come."
    ),
    "unfollow": Method(params.Unfollow, "Be told no more."),
    "schema": Method(
        params.Schema, "Answer the JSON Schema of commands, events or answers.", _schema
    ),
    "cancel": Method(params.Cancel, "Say that a request is not wanted any more."),
}
"""By name; what a client can call."""
