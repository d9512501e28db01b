"""A decision as sentences: what was decided, and because of what."""

from collections.abc import Callable
from typing import Any

import msgspec

from sprintlog.engine.judging import events
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.stops import ENDS

from ..history.decisions import Decision
from ..views.events import event_of
from .event_line import ERASED, what
from .phrases import counted

_ADVISED = {
    "continue": "Go on",
    "rollback": "Go back to iteration {target}",
    "stop": "Stop",
    "escalate": "Let a person look",
}
_REQUEST = {"approve": "approved", "defer": "deferred until {until}", "reject": "rejected"}


class DecisionWords(msgspec.Struct, frozen=True):
    """A decision in words."""

    what: str
    """The decision as a sentence."""
    why: str | None = None
    """Because of what; None where the sentence does not know it, and evidence may."""


def decided(recorded: RecordedEvent, decision: Decision) -> DecisionWords:
    """Return a decision as a sentence; without one, the line of its event."""
    event = event_of(recorded)
    if event is None:
        return DecisionWords(f"{recorded.type.replace('-', ' ')} {ERASED}")
    if isinstance(event, f.RolledBack):
        return _went_back(event, decision)
    if (say := _SAY.get(type(event))) is not None:
        found = say(event)
        return DecisionWords(found.what, decision.evidence) if found.why is None else found
    name = recorded.type.replace("-", " ").capitalize()
    rest = what(recorded).removeprefix(recorded.type).strip()
    return DecisionWords(f"{name} {rest}".rstrip(), decision.evidence)


def _advised(event: events.RecommendationGiven) -> DecisionWords:
    said = _ADVISED.get(event.action, event.action).format(target=event.target)
    words = f"Advice after iteration {event.number}: {said.lower()}"
    return DecisionWords(words, "; ".join(event.because) or event.reason)


def _went_back(event: f.RolledBack, decision: Decision) -> DecisionWords:
    if event.undoes is not None:
        return DecisionWords(
            f"The rollback of version {event.undoes} was undone", event.reason or ""
        )
    words = f"Everything after version {event.to} was taken back"
    return DecisionWords(words, event.reason or decision.evidence)


def _files_back(event: f.RestoreStarted) -> DecisionWords:
    whose = f"of iteration {event.iteration}" if event.iteration is not None else "kept"
    return DecisionWords(f"The files {whose} were brought back", event.reason or "")


def _ended(event: f.RunEnded) -> DecisionWords:
    code = f", with exit code {event.exit_code}" if event.exit_code is not None else ""
    return DecisionWords(
        f"The run ended{code}", event.why or ENDS.get(event.because, event.because)
    )


def _selected(event: events.BestSelected) -> DecisionWords:
    how = "chosen by a person" if event.is_chosen else "the best that was measured"
    more = "" if event.final == event.number else f"; iteration {event.final} was the last"
    score = "" if event.score is None else f", score {event.score:.2f}"
    return DecisionWords(
        f"Iteration {event.number} was selected{score}{more}", event.reason or how
    )


def _applied(event: events.ArtifactsApplied) -> DecisionWords:
    files = counted(len(event.files_copied), "file")
    return DecisionWords(
        f"{files} of the selected iteration were copied to {event.destination}", ""
    )


def _decided(event: f.RequestDecided) -> DecisionWords:
    said = _REQUEST.get(event.decision, event.decision)
    said = said.format(until=str(event.deferred_until or "later").replace("-", " "))
    why = event.rejection_reason or event.reasoning or ""
    return DecisionWords(f"Request {event.request} was {said}", why)


def _gate(event: f.GateChecked) -> DecisionWords:
    said = "passed" if event.exit_code == 0 else f"failed with exit code {event.exit_code}"
    if event.timed_out:
        said = "failed at its time limit"
    first = event.output.strip().partition("\n")[0]
    return DecisionWords(
        f"The gate of {event.phase} {said}, attempt {event.attempt}", first
    )


def _person(event: f.HumanNeeded) -> DecisionWords:
    asked = f" It asks: {event.details}" if event.details else ""
    where = f" at {event.phase}" if event.phase else ""
    return DecisionWords(f"A person is needed{where}", f"{event.reason}.{asked}".strip())


def _resumed(event: f.SprintResumed) -> DecisionWords:
    return DecisionWords("The sprint went on" + (f", by {event.by}" if event.by else ""),
                event.why or "")  # fmt: skip


def _rules(event: events.RulesSet) -> DecisionWords:
    return DecisionWords(
        "Rules were set: " + _listed(event, ("weights", "thresholds", "loop")), ""
    )


def _listed(event: Event, first: tuple[str, ...]) -> str:
    names = [x.name for x in msgspec.structs.fields(event) if getattr(event, x.name)]
    known = [name for name in (*first, *names) if name in names]
    return ", ".join(name.replace("_", " ") for name in dict.fromkeys(known)) or "as before"


def _plain(words: str, field: str = "reason") -> Callable[[Any], DecisionWords]:
    """Return what says a sentence with fields of the event in it."""

    def say(event: Any) -> DecisionWords:
        return DecisionWords(words.format(e=event), getattr(event, field, None) or None)

    return say


_SAY: dict[type[Event], Callable[[Any], DecisionWords]] = {
    events.RecommendationGiven: _advised,
    events.BestSelected: _selected,
    events.ArtifactsApplied: _applied,
    events.RulesSet: _rules,
    events.BaselineReplaced: _plain("Iteration {e.number} is the new baseline"),
    events.MeasurementRetracted: _plain(
        "The measurement of iteration {e.number} was retracted"
    ),
    f.RestoreStarted: _files_back,
    f.RunEnded: _ended,
    f.RequestDecided: _decided,
    f.GateChecked: _gate,
    f.GateBlocked: _plain("The gate of {e.phase} failed for the last time", "error"),
    f.HumanNeeded: _person,
    f.SprintResumed: _resumed,
    f.SprintPaused: _plain("The sprint was paused"),
    f.SprintBlocked: _plain("The sprint is blocked"),
    f.SprintInterrupted: _plain("The sprint was stopped from outside"),
    f.SprintReopened: _plain("The sprint was opened again"),
    f.PhaseBlocked: _plain("{e.phase} is blocked"),
    f.PhaseSkipped: _plain("{e.phase} is left out"),
    f.PhaseRetried: _plain("{e.phase} is tried again"),
    f.PhaseReopened: _plain("{e.phase} was opened again"),
    f.BreakpointReached: _plain("It waits for a review after {e.phase}"),
    f.GoalClaimed: _plain("Iteration {e.iteration} claimed that the goal is reached"),
    f.GoalCompleted: _plain("The goal was reached: {e.summary}"),
    f.GoalSet: _plain("The goal is: {e.goal}"),
    f.SprintCompiled: _plain("The plan came in"),
}
