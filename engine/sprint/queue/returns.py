"""What brings back requests that were put off: the end of a phase, or of the sprint.

Whatever event reaches such an end, the returns are appended with it, so that each
deferral comes back exactly once. What goes to the next sprint is taken over there.
"""

from ...log.event import Event, Kind
from .. import events as f
from ..fold import fold_ahead
from ..state.completion import finished_phases, has_ended
from ..state.queue import Data, deferrals, takes_part
from ..state.sprint import Sprint, pack, unpack
from ..state.words import DEFERRALS, DEFERRED

END_OF_PHASE, END_OF_SPRINT, NEXT_SPRINT = DEFERRALS
_ANOTHER_STATE = (f.RolledBack, f.SprintCompiled)
"""They put another state in place of this one, and it knows itself what came back."""
_END_NOTHING = (f.ActivitySeen, f.IterationStarted, f.PhaseStarted)
"""They come often and end nothing, so no state is copied for them."""


def with_returns(sprint: Sprint, events: list[Event], *, at: str) -> list[Event]:
    """Return events that were decided on, and the returns of what they bring back."""
    if all(x.kind is Kind.KNOWLEDGE or isinstance(x, _END_NOTHING) for x in events):
        return events
    waiting = _waiting(sprint)
    if not waiting or any(isinstance(x, _ANOTHER_STATE) for x in events):
        return events
    # A document that comes in first is what is gone on from: it stands as it came, and
    # what is due by it is brought back with the first event of our own.
    first = sum(isinstance(event, f.SprintImported) for event in events)
    if first == len(events):
        return events
    after = copied(sprint)
    fold_ahead(after, events[:first], at)
    had_ended, were_over = has_ended(after.plan), finished_phases(after.plan)
    waiting = _waiting(after)
    fold_ahead(after, events[first:], at)
    # A goal that waits for nothing but decisions is where the sprint ends.
    at_goal = any(isinstance(x, f.GoalClaimed) and x.requests for x in events)
    ended = at_goal or (has_ended(after.plan) and not had_ended)
    phases = finished_phases(after.plan)
    news = phases - were_over
    due = [
        f.RequestReturned(identity, said.deferred_until or END_OF_PHASE)
        for identity, said in waiting.items()
        if _is_due(said, phases, news, ended=ended)
    ]
    return [*events, *due]


def for_the_next_sprint(sprint: Sprint) -> list[Data]:
    """Return the requests that the next sprint takes over, as the document shows them."""
    return [
        entry
        for entry in sprint.queue
        if takes_part(entry)
        and entry["status"] == DEFERRED
        and entry.get("deferred-until") == NEXT_SPRINT
    ]


def copied(sprint: Sprint) -> Sprint:
    """Return a sprint that may be folded on without changing this one."""
    return unpack(pack(sprint))


def _waiting(sprint: Sprint) -> dict[str, f.RequestDecided]:
    """Return the deferrals that this sprint itself brings back."""
    plan = sprint.plan
    found = deferrals(plan.document, plan.decisions)
    if not found:
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
    # Of a deferral that came with a document nobody knows the phase: the next one is it.
    return said.phase in phases if said.phase is not None else bool(news)
