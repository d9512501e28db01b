"""Important events as sentences, and decisions with their reasons."""

from collections.abc import Callable
from typing import Any

import msgspec

from sprintlog.engine.judging import events
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.stops import ENDS
from sprintlog.engine.sprint.state.completion import CONDITION, PERSON

from ..views.events import described, event_of
from .event_line import what
from .phrases import counted

_ADVISED = {
    "continue": "continue",
    "rollback": "roll back to iteration {target}",
    "stop": "stop",
    "escalate": "ask a person",
}
_REQUEST = {"approve": "approved", "defer": "deferred until {until}", "reject": "rejected"}


_Said = tuple[str, str | None]


class DecisionWords(msgspec.Struct, frozen=True):
    """A decision as a sentence, with its reason."""

    what: str
    """The decision as a sentence."""
    why: str | None = None
    """The reason; None if the event does not state it."""


def decided(recorded: RecordedEvent, evidence: str | None = None) -> DecisionWords:
    """Return an event as a sentence, with its reason or, if there is none, the evidence."""
    event = event_of(recorded)
    if event is not None and (say := _SAY.get(type(event))) is not None:
        words, why = say(event)
        return DecisionWords(words, evidence if why is None else why)
    mark = " (observed)" if recorded.observed else ""
    subject, _, verb = recorded.type.partition("-")
    names = described(recorded).removeprefix(recorded.type)
    more = what(recorded).removeprefix(f"{recorded.type}{mark}{names}").lstrip(" :")
    words = f"{subject.capitalize()}{names} {verb.replace('-', ' ')}{mark}"
    return DecisionWords(f"{words}: {more}" if more else words, evidence)


def is_important(recorded: RecordedEvent) -> bool:
    """Return whether an event belongs in the short list printed by `log`.

    The list contains decisions, and the start, progress, failure and end of work.
    """
    match event_of(recorded):
        case events.RecommendationGiven(action="continue") | f.AgentRan(status="completed"):
            return False
        case f.RestoreStarted(rollback=rollback) if rollback is not None:
            return False
    kind = CODEC.events.get(recorded.type)
    return kind is not None and (kind.as_decision is not None or kind.type in _COURSE)


def sentence(recorded: RecordedEvent) -> str:
    """Return an event and its reason on one line."""
    found = decided(recorded)
    return f"{found.what}: {found.why}" if found.why else found.what


def _advised(event: events.RecommendationGiven) -> _Said:
    said = _ADVISED.get(event.action, event.action).format(target=event.target)
    words = f"Advice after iteration {event.number}: {said}"
    return words, "; ".join(event.because) or event.reason


def _went_back(event: f.RolledBack) -> _Said:
    if event.undoes is not None:
        return f"The rollback of version {event.undoes} was undone", event.reason or ""
    return f"Everything after version {event.to} was discarded", event.reason or None


def _files_back(event: f.RestoreStarted) -> _Said:
    whose = "a snapshot" if event.iteration is None else f"iteration {event.iteration}"
    words = f"The files of {whose} were restored"
    if event.source:
        words = f"The changes of {event.source}@{event.iteration} were merged"
    return words, event.reason or ""


def _ended(event: f.RunEnded) -> _Said:
    code = f", with exit code {event.exit_code}" if event.exit_code is not None else ""
    return f"The run ended{code}", event.why or ENDS.get(event.because, event.because)


def _selected(event: events.BestSelected) -> _Said:
    how = "chosen by a person" if event.is_chosen else "the best that was measured"
    more = "" if event.final == event.number else f"; iteration {event.final} was the last"
    score = "" if event.score is None else f", score {event.score:.2f}"
    return f"Iteration {event.number} was selected{score}{more}", event.reason or how


def _applied(event: events.ArtifactsApplied) -> _Said:
    files = counted(len(event.files_copied), "file")
    return f"{files} of the selected iteration were copied to {event.destination}", ""


def _decided(event: f.RequestDecided) -> _Said:
    said = _REQUEST.get(event.decision, event.decision)
    said = said.format(until=str(event.deferred_until or "later").replace("-", " "))
    why = event.rejection_reason or event.reasoning or ""
    return f"Request {event.request} was {said}", why


def _gate(event: f.GateChecked) -> _Said:
    said = "passed" if event.exit_code == 0 else f"failed with exit code {event.exit_code}"
    if event.timed_out:
        said = "timed out"
    first = event.output.strip().partition("\n")[0]
    return f"The gate of {event.phase} {said}, attempt {event.attempt}", first


def _person(event: f.HumanNeeded) -> _Said:
    asked = f" It asks: {event.details}" if event.details else ""
    where = f" at {event.phase}" if event.phase else ""
    return f"A person is needed{where}", f"{event.reason}.{asked}".strip()


def _claimed(event: f.GoalClaimed) -> _Said:
    by = "A person" if event.source == PERSON else f"Iteration {event.iteration}"
    by = "The condition" if event.source == CONDITION else by
    early = f" (too early: {event.reason})" if event.reason else ""
    return f"{by} claimed that the goal is reached{early}", event.summary


def _reviewed(event: f.ClaimReviewed) -> _Said:
    verb = "accepts" if event.accepts else "refuses"
    return f"The reviewer {verb} the claim of iteration {event.claim}", event.reason


def _goal_reached(event: f.GoalCompleted) -> _Said:
    by = " by a person" if event.source == PERSON else ""
    return f"The goal was completed{by}", event.summary


def _resumed(event: f.SprintResumed) -> _Said:
    by = f" by {event.by}" if event.by else ""
    return f"The sprint was resumed{by}", event.why or ""


def _plain(words: str, field: str = "reason") -> Callable[[Any], _Said]:
    """Return a function that inserts an event's fields into a sentence."""

    def say(event: Any) -> _Said:
        return words.format(e=event), getattr(event, field, None) or None

    return say


_SAY: dict[type[Event], Callable[[Any], _Said]] = {
    events.RecommendationGiven: _advised,
    events.BestSelected: _selected,
    events.ArtifactsApplied: _applied,
    f.RolledBack: _went_back,
    f.RestoreStarted: _files_back,
    f.RunEnded: _ended,
    f.RequestDecided: _decided,
    f.GateChecked: _gate,
    f.HumanNeeded: _person,
    f.SprintResumed: _resumed,
    f.BreakpointReached: _plain("The sprint waits for a review after {e.phase}"),
    f.GoalClaimed: _claimed,
    f.ClaimReviewed: _reviewed,
    f.ClaimAccepted: _plain("The claim of iteration {e.claim} was accepted, verified"),
    f.ClaimRefused: _plain("The claim of iteration {e.claim} was refused"),
    f.GoalCompleted: _goal_reached,
    f.GoalSet: _plain("The goal is: {e.goal}"),
    f.SprintCompiled: _plain("The sprint was created"),
}
_COURSE = {
    *("iteration-measured", "measurement-failed", "iteration-ended", "iteration-failed"),
    *("phase-completed", "phase-failed", "sprint-started", "sprint-completed"),
    *("run-started", "agent-ran", "budget-warned", "note-added", "request-queued"),
    *("claim-reviewed", "claim-accepted", "claim-refused", "measurement-changed"),
}
"""The important events that are not decisions."""
