"""The named steps before and after every decision.

Both lists are at the end of the module, in order. A step that has itself recorded an event
in the stream raises `MovedOnError`; the state is then loaded and the decision is made
again.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Self

import msgspec
from msgspec.structs import replace

from .. import errors, hashes
from ..judging import events as judged
from ..log.event import Event, Kind
from ..sprint import events as f
from ..sprint.state import queue, transitions, words
from ..sprint.state.sprint import Sprint
from . import port, state_file_owner
from .place.location import NOTES
from .place.trees import shown_tree
from .streams.catalogue import State, sprint_of

if TYPE_CHECKING:
    from ..journal.state import Journal


class Handling(msgspec.Struct, Generic[State], frozen=True):
    """A command being handled: its service, state, time and envelope."""

    service: port.Service
    state: State
    at: str
    envelope: port.Envelope


Before = Callable[[Handling[State]], None]
After = Callable[[Handling[State], list[Event]], list[Event]]


class Middlewares(msgspec.Struct, Generic[State], frozen=True):
    """The steps before and after each decision on a type of stream, in order."""

    before: tuple[Before[State], ...]
    """The steps before the decision."""
    after: tuple[tuple[frozenset[type[Event]] | None, After[State]], ...]
    """The steps that convert the decided events to those that are appended.

    Each step runs only if at least one event has one of its types; None means all types.
    """

    def without(self, left_out: Collection[port.Skippable]) -> Self:
        """Return these middlewares without the given steps."""
        if not left_out:
            return self
        return replace(
            self,
            before=tuple(step for step in self.before if step.__name__ not in left_out),
            after=tuple(one for one in self.after if one[1].__name__ not in left_out),
        )


def _check_alone(action: Handling[State]) -> None:
    """Raise `AloneError` if other actions are waiting for the same commit."""
    if action.service.is_side_by_side:
        raise port.AloneError


def finish_restores(action: Handling[Sprint]) -> None:
    """Finish an interrupted restore of files.

    Otherwise, events would refer to files that the restore has yet to replace.
    """
    if not action.state.knowledge.restoring:
        return
    _check_alone(action)
    if ended := action.service.finish_restores(action.state):
        raise port.MovedOnError(ended)


def edit_policy(sprint: Sprint) -> str:
    """Return the policy for edits to the sprint's file (`--progress-edits`)."""
    rules = sprint.knowledge.tracker.rules
    return (rules[-1][1] if rules else judged.RulesSet()).progress_edits


def refuse_edits(action: Handling[Sprint]) -> None:
    """Refuse commands while the state file has a third-party edit, if so configured.

    Observed facts have already happened and are recorded anyway.
    """
    if edit_policy(action.state) != judged.REFUSE or action.envelope.get("observed"):
        return
    found = action.service.state_files.of_sprint().check(action.state)
    if found.state == "edited":
        raise errors.RefusedError(
            f"{found.problem}: nothing is recorded until it is resolved",
            hint="run `sprintlog rebuild` to save the edited file and write a valid one, "
            "then `sprintlog adopt` to adopt the edit",
            file=found.path,
            sprint=action.state.id,
        )


def record_lost_run(action: Handling[Sprint]) -> None:
    """Record the loss of the loop's latest run if its process died."""
    runs = action.state.knowledge.loops
    if runs.started is None or runs.ended is not None:
        return
    # Imported here: usually no run is in progress.
    from .lost_runs import record_lost

    if record_lost(action.service, action.state):
        raise port.MovedOnError(1)


def return_requests(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Add the events that return deferred requests to the operator queue."""
    plan = action.state.plan
    has_queue = plan.decisions or queue.QUEUE in plan.document
    if not has_queue or not queue.deferrals(plan.document, plan.decisions):
        return events
    # Imported here: few sprints have deferred a request.
    from ..sprint.queue.returns import with_returns

    return with_returns(action.state, events, at=action.at)


def check_moment(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Reject a user-supplied time that precedes the first event.

    Times from a clock, on the other hand, may go backwards.
    """
    if action.envelope.get("at") is not None and not action.envelope.get("observed"):
        transitions.check_moment(action.state, events, action.at)
    return events


def check_worktree(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Refuse to run a gate in a work tree other than the sprint's own."""
    sprint = action.state
    if sprint.plan.place is None or action.service.tree.has(sprint.knowledge.own_tree):
        return events
    where = shown_tree(action.service.location, sprint.knowledge.own_tree)
    raise errors.RefusedError(
        f"sprint {sprint.id} works in {where}, so its gate would check the wrong files "
        "here",
        hint="run the command there",
        sprint=sprint.id,
        command="gate",
    )


def take_over(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """When a sprint starts, transfer to it the requests deferred to the next sprint.

    Each transfer is a separate append under its own key, before the start itself. Each
    request is therefore transferred exactly once, even if several sprints start at the same
    time or a process is killed.
    """
    # Imported here: a sprint starts only once.
    from ..sprint.queue import requests, returns

    service, sprint_id, taken = action.service, action.state.id, 0
    for other in (name for name in service.sprints() if name != sprint_id):
        for entry in returns.for_the_next_sprint(service.sprint(other)):
            origin = f.RequestOrigin(other, entry["id"])
            first = _queued_in(service, other, origin.request)
            digest = hashes.sha256(f"{first}\n{origin.request}".encode()).digest()
            outcome = service.handle_with(
                sprint_id,
                requests.TakeOverRequest(entry, origin),
                actor=action.envelope.get("actor", "runtime"),
                at=action.at,
                key=f"next-sprint/{digest.hex()}",
                key_digest=digest,
            )
            taken += 0 if outcome.duplicate else len(outcome.events)
    if taken:
        raise port.MovedOnError(taken)
    return events


def _queued_in(service: port.Service, sprint_id: str, request: str) -> str:
    """Return the sprint in which a request was queued; its forks have only copies."""
    knowledge = service.sprint(sprint_id).knowledge
    version, _ = knowledge.requests.get(request, (0, None))
    origins = (source for last, source in knowledge.forks if version <= last)
    return sprint_of(next(origins, "")) or sprint_id


def give_place(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Ensure that no other sprint's file occupies the path of this sprint's file.

    A finished sprint that is continued reclaims its path. Raise `RefusedError` if an
    unfinished sprint occupies it.
    """
    sprint = action.state
    place = None
    for event in events:
        place = place or getattr(event, "place", None)
    if place is None and sprint.plan.status == words.COMPLETED:
        goes_on = any(event.kind is not Kind.KNOWLEDGE for event in events)
        place = sprint.plan.place if goes_on else None
    if place is None:
        return events
    if not sprint.exists or action.service.tree.has(sprint.knowledge.own_tree):
        _check_alone(action)
        state_file_owner.free_place(action.service, sprint, place)
    return events


_git_found: dict[tuple[Path, str], f.GitState | None] = {}
"""The latest repository state, by the repository's root and the time of the action."""


def note_git(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Add the repository's state to iteration ends and snapshots.

    The state is unknown for events from a different time or place.
    """
    is_now = action.envelope.get("at") is None and not action.envelope.get("observed")
    if not is_now:
        return events
    _check_alone(action)
    # Imported here: required only if an iteration ends.
    from ..adapters.git.untrusted import repository_state
    from .work_tree.own_paths import own_paths

    service, place = action.service, (action.service.location.root, action.at)
    # A run whose end was observed already contains the state.
    state = next((x.git_after for x in events if isinstance(x, f.AgentRan)), None)
    if state is None and place not in _git_found:
        found = repository_state(
            place[0], service.environment, but=lambda: own_paths(service)
        )
        _git_found.clear()
        _git_found[place] = found and f.GitState(found.head, found.is_dirty)
    state = state or _git_found[place]
    return [
        replace(event, git=state)
        if isinstance(event, f.IterationEnded | f.SnapshotTaken) and event.git is None
        else event
        for event in events
    ]


def note_tree(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Add the current work tree to the events that have a field for it."""
    if not [event for event in events if getattr(event, "work_tree", "") is None]:
        return events
    tree = action.service.own_tree.recorded()
    return [
        replace(event, work_tree=tree) if getattr(event, "work_tree", "") is None else event
        for event in events
    ]


def note_overlapping(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Record in a new iteration which other iterations overlap in this work tree."""
    started = next(x for x in events if isinstance(x, f.IterationStarted))
    # Imported here: few events start an iteration.
    from .agent_sessions.at_work import begin_iteration, others_at_work

    location, own = action.service.location, (action.state.id, started.number)
    begin_iteration(location, *own)
    others = {(work.sprint, work.iteration) for work in others_at_work(location)} - {own}
    names = tuple(
        f"{number}" if sprint == action.state.id else f"{sprint}:{number}"
        for sprint, number in sorted(others)
        if number
    )
    return [
        replace(event, overlapping=names) if event is started else event for event in events
    ]


def limit_agents(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Refuse the events that only a person may record, and mark an agent's claims."""
    # Imported here: few events concern the judge.
    from .agents import begin_turn, is_agents, limited

    if not action.state.exists or not is_agents(action.service, action.envelope):
        return events
    if begin_turn(action.service):
        raise port.MovedOnError(1)
    return limited(action.state, events, observed=action.envelope.get("observed", False))


def mark_notes(action: Handling[Sprint], events: list[Event]) -> list[Event]:
    """Mark an agent's notes to the working agent; refuse those that would end its run."""
    to_agent = [x for x in events if isinstance(x, f.NoteAdded) and x.to_agent]
    if not to_agent:
        return events
    with suppress(OSError):
        (action.service.location.folder / NOTES).touch(mode=0o600)
    # Imported here: most notes are for the readers of the log.
    from .agents import is_agents

    if not is_agents(action.service, action.envelope):
        return events
    if any(note.now for note in to_agent):
        raise errors.RefusedError("an agent cannot end a run: this requires a person")
    return [replace(x, by_agent=True) if x in to_agent else x for x in events]


def open_journal(action: "Handling[Journal]", new: list[Event]) -> list[Event]:
    """Open the journal in this work tree before its first event."""
    # Imported here and below: recording to a sprint does not require it.
    from ..journal import events, rules

    if action.state.exists or not new:
        return new
    if not isinstance(new[0], events.JournalOpened):
        new = [*rules.OpenJournal().decide(action.state, action.at), *new]
    first = new[0]
    assert isinstance(first, events.JournalOpened)
    place = action.service.journal_place or first.place
    worktree = action.service.location.worktree
    return [replace(first, worktree=worktree, place=place), *new[1:]]


def refuse_strangers(action: "Handling[Journal]", new: list[Event]) -> list[Event]:
    """Refuse to create a journal file at a path where another tool has a file."""
    from ..journal import events, foreign

    if new and isinstance(first := new[0], events.JournalOpened | events.JournalMoved):
        theirs = action.service.state_files.foreign(first.place)
        if theirs is not None:
            foreign.check_no_stranger(theirs, first.place)
    return new


JUDGING: frozenset[type[Event]] = frozenset(
    {
        *(judged.BaselineCaptured, judged.BaselineReplaced, judged.InstrumentsAccepted),
        *(judged.IterationMeasured, judged.MeasurementRetracted),
        *(judged.RecommendationGiven, judged.RulesSet, f.BudgetsSet, f.GoalSet),
        *(f.ClaimAccepted, f.ClaimReviewed, f.GoalClaimed, f.GoalCompleted),
        f.SprintCompleted,
    }
)
"""The events that concern the judge, which an agent cannot record as a person can."""
WITH_TREE = frozenset(event for event in f.EVENTS if "work_tree" in event.__struct_fields__)
"""The events that name the work tree in which they were recorded."""
ON_SPRINTS: Middlewares[Sprint] = Middlewares(
    before=(finish_restores, refuse_edits, record_lost_run),
    after=(
        (frozenset({f.GateStarted}), check_worktree),
        (JUDGING, limit_agents),
        (frozenset({f.NoteAdded}), mark_notes),
        (None, return_requests),
        (None, check_moment),
        (frozenset({f.SprintStarted}), take_over),
        (None, give_place),
        (frozenset({f.IterationEnded, f.SnapshotTaken}), note_git),
        (WITH_TREE, note_tree),
        (frozenset({f.IterationStarted}), note_overlapping),
    ),
)
ON_THE_JOURNAL: "Middlewares[Journal]" = Middlewares(
    before=(), after=((None, open_journal), (None, refuse_strangers))
)
