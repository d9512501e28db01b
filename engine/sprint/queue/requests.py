"""The commands and events of requests in the operator queue (SPR-150 to SPR-156).

Decisions are in `decisions.py`, the return of deferred requests in `returns.py`. Requests
are knowledge, so no rollback discards them. Decisions are execution: a rollback to a
version before an approval discards the approval and the injected work.
"""

from collections.abc import Sequence

import msgspec
from msgspec import structs

from ...command import Command, Events
from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...log.event import Event, Takers, made_from
from .. import events as f
from ..phases.leaves import check_word
from ..state import queue, times, transitions
from ..state.sprint import Knowledge, Plan, Sprint
from ..state.tree import Data, Node
from ..state.words import DECISIONS, PRIORITIES, REQUEST_TYPES

ALLOTTED = "req"
"""The prefix of generated ids (`req-1`, `req-2` …), which are never reused."""


class SubmittedRequest(msgspec.Struct, frozen=True):
    """A submitted request; omitted fields have default values."""

    title: str
    priority: str
    request_type: str
    description: str | None = None
    """The description; defaults to the title."""
    request: str | None = None
    """The id; defaults to the next generated id."""
    created_at: str | None = None
    """The time of creation; defaults to the time of recording."""
    discovered_in: str | None = None
    """The origin; defaults to the position of the pointer."""
    context: Data | None = None
    origin: f.RequestOrigin | None = None


class QueueRequests(Command, frozen=True):
    """Add requests to the queue, all of them or none.

    A request that repeats the id and content of a queued request is ignored.
    """

    requests: Sequence[SubmittedRequest]

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_exists(sprint)
        events: list[f.RequestQueued] = []
        number = _highest(sprint)
        for index, asked in enumerate(self.requests):
            where = f"requests[{index}]."
            _check_asked(asked, where)
            if asked.request is not None and (
                known := _known(sprint, events, asked.request)
            ):
                if isinstance(known, f.RequestQueued) and _says(known, asked):
                    continue
                raise RefusedError(
                    f"{where}id: the id {asked.request} was already used",
                    hint="ids are never reused; omit it to get a new one",
                    field=f"{where}id",
                    request=asked.request,
                    command="add",
                )
            if asked.request is None:
                number += 1
            identity = asked.request or f"{ALLOTTED}-{number}"
            events.append(_queued(sprint, asked, identity, at))
        return [*events]


def _queues(event: f.RequestQueued) -> QueueRequests:
    """Return the command that queues the request in an event."""
    given = structs.asdict(event)
    left_out = [name for name, value in given.items() if name != "title" and value == ""]
    return QueueRequests([SubmittedRequest(**{**given, **dict.fromkeys(left_out)})])


class TakeOverRequest(Command, frozen=True):
    """Take over a request that an earlier sprint deferred to the next sprint.

    The request keeps its id if the id is available.
    """

    entry: Data
    origin: f.RequestOrigin

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        entry, origin = self.entry, self.origin
        asked = SubmittedRequest(
            str(entry.get("title", "")),
            str(entry.get("priority", "")),
            str(entry.get("type", "")),
            description=entry.get("description"),
            created_at=entry.get("created-at"),
            discovered_in=entry.get("discovered-in"),
            context=entry.get("context"),
            origin=origin,
        )
        identity = origin.request
        if _known(sprint, [], identity):
            identity = f"{ALLOTTED}-{_highest(sprint) + 1}"
        return [_queued(sprint, asked, identity, at)]


def find_request(sprint: Sprint, identity: str) -> Data:
    """Return a request as the document shows it; raise `NotFoundError` if there is none."""
    transitions.check_exists(sprint)
    plan, requests = sprint.plan, sprint.knowledge.requests
    since = plan.imported_at
    found = queue.find(plan.document, plan.decisions, requests, identity, since=since)
    if found is None:
        raise NotFoundError(
            f"there is no request {identity} in sprint {sprint.id}",
            hint="run `sprintlog queue list` to list the requests",
            request=identity,
        )
    return found


def _check_asked(asked: SubmittedRequest, where: str) -> None:
    if asked.request is not None:
        transitions.check_id(asked.request, field=f"{where}id")
    for name, text in (("title", asked.title), ("description", asked.description)):
        if text is not None and not text.strip():
            raise RefusedError(f"{where}{name} is empty", field=f"{where}{name}")
    check_word(f"{where}priority", asked.priority, PRIORITIES)
    check_word(f"{where}type", asked.request_type, REQUEST_TYPES)
    if asked.created_at is not None:
        try:
            times.normalise(asked.created_at)
        except InvalidInputError as error:
            field = f"{where}created-at"
            raise RefusedError(f"{field}: {error.message}", field=field) from error


def _queued(
    sprint: Sprint, asked: SubmittedRequest, identity: str, at: str
) -> f.RequestQueued:
    leaf = sprint.plan.pointed()
    return made_from(
        f.RequestQueued,
        asked,
        request=identity,
        description=asked.description or asked.title,
        created_at=_time(asked.created_at) or at,
        discovered_in=asked.discovered_in or (_path(leaf) if leaf else sprint.id),
    )


def _time(text: str | None) -> str | None:
    try:
        return times.normalise(text) if text else None
    except InvalidInputError:
        # Another tool wrote this text.
        return text


def _known(
    sprint: Sprint, events: list[f.RequestQueued], identity: str
) -> f.RequestQueued | str | None:
    """Return the request with an id, just the id if nothing else is known, or None."""
    if named := next((event for event in events if event.request == identity), None):
        return named
    if identity in sprint.knowledge.requests:
        return sprint.knowledge.requests[identity][1]
    return identity if identity in sprint.knowledge.request_ids else None


def _says(event: f.RequestQueued, asked: SubmittedRequest) -> bool:
    """Return whether a recorded request equals a submitted one, ignoring omitted fields."""
    said = structs.asdict(asked)
    said["created_at"] = _time(asked.created_at)
    known = structs.asdict(event)
    return all(value is None or known[name] == value for name, value in said.items())


def _highest(sprint: Sprint) -> int:
    """Return the highest number ever used in a generated id."""
    knowledge, highest = sprint.knowledge, 0
    for identity in (*knowledge.requests, *knowledge.request_ids):
        if is_allotted(identity):
            highest = max(highest, int(identity.removeprefix(f"{ALLOTTED}-")[:18]))
    return highest


def is_allotted(identity: str) -> bool:
    """Return whether an id has the form of a generated id."""
    prefix, _, number = identity.rpartition("-")
    return prefix == ALLOTTED and number.isascii() and number.isdigit()


def _path(node: Node) -> str:
    """Return a node's path in the document: its ids joined by ` > `."""
    ids: list[str] = []
    here: Node | None = node
    while here is not None and here.level:
        ids.insert(0, str(here.data["id"]))
        here = here.parent
    return " > ".join(ids)


def _evolve_decided(plan: Plan, event: f.RequestDecided, at: str) -> None:
    # Another tool may have recorded an unknown decision.
    if event.decision in queue.STATUS_OF:
        plan.decisions[event.request] = queue.Decided(event, at)


def _evolve_returned(plan: Plan, event: f.RequestReturned, at: str) -> None:
    said = queue.deferrals(plan.document, plan.decisions).get(event.request)
    if said is not None:
        plan.decisions[event.request] = queue.Decided(said, at, returned=event.until)


def _evolve_reopened(plan: Plan, event: f.RequestReopened, at: str) -> None:
    last = plan.decisions.get(event.request)
    # The decisions in an imported document are not ours.
    said = (
        f.RequestDecided(event.request, DECISIONS[-1], "") if last is None else last.event
    )
    plan.decisions[event.request] = queue.Decided(said, at, returned=queue.REOPENED)


def _record_queued(knowledge: Knowledge, event: f.RequestQueued, version: int) -> None:
    knowledge.requests.setdefault(event.request, (version, event))


EVOLVE: Takers = {
    f.RequestDecided: _evolve_decided,
    f.RequestReturned: _evolve_returned,
    f.RequestReopened: _evolve_reopened,
}
LEARN: Takers = {f.RequestQueued: _record_queued}


CAUSED: Events = {f.RequestQueued: _queues}
