"""The events for the items of an agent's answer, and the return of deferred requests.

Items become notes, steps and requests. Requests are knowledge: they are queued undecided,
regardless of the run's outcome, and only once if they are repeated. Deferred requests
return at the end of a phase or of the sprint: the returns are appended together with the
event that reaches that end, so that each deferral returns exactly once. Requests deferred
to the next sprint are taken over by that sprint.
"""

from ...log.event import Event, Kind, made_from
from .. import events as f
from ..answers.items import REQUESTS_MAX, SaidItems, SaidRequest, proposal
from ..fold import fold_ahead
from ..state import completion, notes, words
from ..state.queue import Data, deferrals, takes_part
from ..state.sprint import Sprint, pack, unpack

Key = tuple[str, str, str]
END_OF_PHASE, END_OF_SPRINT, NEXT_SPRINT = words.DEFERRALS
LEARNED = "the agent learned "
"""The start of a note that contains a learning."""
_ANOTHER_STATE = (f.RolledBack, f.SprintCompiled)
"""Events that replace the entire state, including its pending returns."""
_END_NOTHING = (f.ActivitySeen, f.IterationStarted, f.PhaseStarted)
"""Frequent events that end neither a phase nor the sprint, so the check can be skipped."""


def with_returns(sprint: Sprint, events: list[Event], *, at: str) -> list[Event]:
    """Return the decided events, followed by the request returns that they cause."""
    if all(x.kind is Kind.KNOWLEDGE or isinstance(x, _END_NOTHING) for x in events):
        return events
    waiting = _waiting(sprint)
    if not waiting or any(isinstance(x, _ANOTHER_STATE) for x in events):
        return events
    # An imported document at the beginning is the starting point: it is recorded verbatim,
    # and the requests due by it return with the first event after it.
    first = sum(isinstance(event, f.SprintImported) for event in events)
    if first == len(events):
        return events
    after = copied(sprint)
    fold_ahead(after, events[:first], at)
    had_ended = completion.has_ended(after.plan)
    were_over = completion.finished_phases(after.plan)
    waiting = _waiting(after)
    fold_ahead(after, events[first:], at)
    # A goal that waits only for decisions is the end of the sprint.
    at_goal = any(isinstance(x, f.GoalClaimed) and x.requests for x in events)
    ended = at_goal or (completion.has_ended(after.plan) and not had_ended)
    phases = completion.finished_phases(after.plan)
    news = phases - were_over
    due = [
        f.RequestReturned(identity, said.deferred_until or END_OF_PHASE)
        for identity, said in waiting.items()
        if _is_due(said, phases, news, ended=ended)
    ]
    return [*events, *due]


def for_the_next_sprint(sprint: Sprint) -> list[Data]:
    """Return the requests deferred to the next sprint, in document form."""
    return [
        entry
        for entry in sprint.queue
        if takes_part(entry)
        and entry["status"] == words.DEFERRED
        and entry.get("deferred-until") == NEXT_SPRINT
    ]


def copied(sprint: Sprint) -> Sprint:
    """Return a copy of a sprint to which further events can be applied."""
    return unpack(pack(sprint))


def with_item_events(
    sprint: Sprint,
    decided: list[Event],
    said: SaidItems | None,
    at: str,
    *,
    steps: bool = True,
) -> list[Event]:
    """Return an agent run's events, with the events for its items added after the run."""
    if said is None or not decided or not isinstance(decided[0], f.AgentRan):
        return decided
    taken = events_from_items(sprint, said, at, steps=steps, phase=decided[0].phase or None)
    return [decided[0], *taken, *decided[1:]]


def events_from_items(
    sprint: Sprint,
    said: SaidItems,
    at: str,
    *,
    steps: bool = True,
    phase: str | None = None,
) -> list[Event]:
    """Return the events for the items of an answer; without `steps`, ignore its steps.

    `phase` is the phase on which the agent worked.
    """
    # Imported here: few answers have items.
    from .requests import QueueRequests, SubmittedRequest

    texts = [f"the agent's answer: {problem}" for problem in said.problems]
    texts += [
        f"{LEARNED}({one.type}): {one.content}"
        + (f" (where: {one.context})" if one.context else "")
        for one in said.learnings
    ]
    events: list[Event] = [f.NoteAdded(text, phase) for text in texts]
    events += notes.acknowledge(sprint.knowledge.notes, said.acknowledged)
    requests = said.requests
    if steps and (said.completed or said.pending):
        if sprint.plan.is_ralph:
            from ..plan.goal_steps import take_steps

            events += take_steps(sprint, completed=said.completed, pending=said.pending)
        else:
            named = [one for one in said.pending if one.prompt is not None]
            requests += tuple(
                proposal(str(one.prompt), identity=one.id) for one in named[:REQUESTS_MAX]
            )
            events += _no_steps(said, phase)
    asked = [
        made_from(SubmittedRequest, one, request=identity)
        for one, identity in _new(sprint, requests)
    ]
    return [*events, *QueueRequests(asked).decide(sprint, at)] if asked else events


def _waiting(sprint: Sprint) -> dict[str, f.RequestDecided]:
    """Return the deferrals that end within this sprint."""
    plan = sprint.plan
    if not (found := deferrals(plan.document, plan.decisions)):
        return {}
    there = {entry["id"] for entry in sprint.queue if takes_part(entry)}
    return {
        identity: said
        for identity, said in found.items()
        if said.deferred_until != NEXT_SPRINT and identity in there
    }


def _is_due(
    said: f.RequestDecided, phases: set[str], news: set[str], *, ended: bool
) -> bool:
    if ended or said.deferred_until == END_OF_SPRINT:
        return ended
    # The phase of an imported deferral is unknown: it returns after the next phase.
    return said.phase in phases if said.phase is not None else bool(news)


def _no_steps(said: SaidItems, phase: str | None) -> list[Event]:
    """Return a note that an answer contains step ids although the sprint has no goal."""
    bare = [wanted.id for wanted in said.pending if wanted.prompt is None]
    if not (named := [*said.completed, *filter(None, bare)]):
        return []
    shown = ", ".join(map(repr, named[:5])) + (" …" if len(named) > 5 else "")
    text = f"the agent names steps, and the sprint has no goal: {shown}"
    return [f.NoteAdded(text, phase)]


def _new(
    sprint: Sprint, requests: tuple[SaidRequest, ...]
) -> list[tuple[SaidRequest, str | None]]:
    """Return the new requests, each with its id if the id is available.

    Requests with the same title, text and type are the same request, regardless of their
    status.
    """
    from .requests import is_allotted

    known, there = sprint.knowledge, set[Key]()
    for _, event in known.requests.values():
        there.add((event.title, event.description, event.request_type))
    for entry in sprint.queue:
        if isinstance(entry, dict):
            fields = (entry.get(name) for name in ("title", "description", "type"))
            title, description, kind = (str(value) for value in fields)
            there.add((title, description, kind))
    ids = {*known.requests, *known.request_ids}
    found: list[tuple[SaidRequest, str | None]] = []
    for one in requests:
        key = (one.title, one.description or one.title, one.request_type)
        if key in there:
            continue
        there.add(key)
        identity = one.request
        if identity is not None and (identity in ids or is_allotted(identity)):
            identity = None
        if identity is not None:
            ids.add(identity)
        found.append((one, identity))
    return found
