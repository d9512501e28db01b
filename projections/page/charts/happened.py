"""From events to what a timeline shows: work, waits, signs and ways back. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sprintlog.engine.iterations.events import IterationMeasured
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.limits import WAITS_FOR

from ...words.phrases import dollars, duration
from .layout import Delay, Instant, Return, Work

ITERATIONS = "iterations"
"""The row of iterations, where they share one."""
GOOD, BAD, STEADY, OPEN, STUCK = "good", "bad", "steady", "open", "stuck"
_PERSON = "a person"
_ENDS = {
    GOOD: "completed",
    BAD: "failed",
    STEADY: "skipped",
    OPEN: "not ended",
    STUCK: "blocked, or a person is needed",
}
_CLASSES = {"forward": GOOD, "regression": BAD, "plateau": STEADY, "stalled": STEADY}

Moment = tuple[int, int, Event]
"""Version, milliseconds since 1970, and what happened."""


class IterationTold(NamedTuple):
    """What is known of an iteration beyond its time."""

    classification: str | None = None
    score: float | None = None
    is_off: bool = False
    is_best: bool = False


class Course(NamedTuple):
    """What happened, by time."""

    work: list[Work]
    waits: list[Delay]
    signs: list[Instant]
    returns: list[Return]


class _Open(NamedTuple):
    row: str
    begin: int
    version: int
    name: str


def happened(
    moments: Iterable[Moment], told: Mapping[int, IterationTold] | None = None
) -> Course:
    """Return what happened; `told` says what became of iterations by their number."""
    story = _Teller(told or {})
    for version, at, event in moments:
        story.take(version, at, event)
    story.end()
    return story.found


class _Teller:
    """What is open while the events go by."""

    def __init__(self, told: Mapping[int, IterationTold]) -> None:
        self.found = Course([], [], [], [])
        self._told = told
        self._phases: dict[str, _Open] = {}
        self._iteration: tuple[int, _Open] | None = None
        self._measured_at: int | None = None
        self._waiting: tuple[int, str, str] | None = None
        self._times: list[int] = []
        self._cost: dict[str, float] = {}
        self._last = 0

    def take(self, version: int, at: int, event: Event) -> None:
        """Take the next event."""
        self._times.append(at)
        self._last = at
        self._take_wait(at, event)
        match event:
            case f.IterationStarted():
                self._end_iteration(at)
                opened = _Open(ITERATIONS, at, version, f"iteration {event.number}")
                self._iteration = event.number, opened
            case f.IterationEnded() if self._is_open(event.number):
                self._end_iteration(at)
            case IterationMeasured() if self._is_open(event.number):
                self._measured_at = at
            case f.IterationFailed():
                self._sign(ITERATIONS, at, "failed", event.error, version)
            case f.PhaseStarted():
                self._close(event.phase, at, OPEN)
                self._phases[event.phase] = _Open(event.phase, at, version, event.phase)
            case f.PhaseCompleted():
                self._close(event.phase, at, GOOD)
            case f.PhaseFailed():
                self._close(event.phase, at, BAD)
            case f.PhaseBlocked() | f.HumanNeeded():
                self._close(event.phase or "", at, STUCK)
            case f.PhaseSkipped():
                self._close(event.phase, at, STEADY)
                self._sign(event.phase, at, "skipped", event.reason or "", version)
            case f.PhaseRetried():
                self._sign(event.phase, at, "retry", event.reason or "", version)
            case f.GateChecked():
                self._gate(event, at, version)
            case f.AgentRan():
                self._ran(event, at, version)
            case f.RolledBack():
                self._went_back(event, at, version)
            case _:
                pass

    def end(self) -> None:
        """Close what is open at the last event."""
        for phase in list(self._phases):
            self._close(phase, self._last, OPEN)
        self._end_iteration(self._last, is_open=True)
        if self._waiting is not None:
            begin, who, why = self._waiting
            self.found.waits.append(Delay(begin, self._last, who, why))

    def _is_open(self, number: int) -> bool:
        return self._iteration is not None and self._iteration[0] == number

    def _end_iteration(self, at: int, *, is_open: bool = False) -> None:
        if self._iteration is None:
            return
        number, opened = self._iteration
        self._iteration = None
        measured_at, self._measured_at = self._measured_at, None
        if is_open and measured_at is not None:
            # Nobody recorded its end, but how good it is is known: it has that one state.
            is_open, at = False, measured_at
        told = self._told.get(number, IterationTold())
        tone = OPEN if is_open else _CLASSES.get(told.classification or "", STEADY)
        said = [opened.name, told.classification or ""]
        said += [f"score {told.score:.2f}"] if told.score is not None else []
        said += ["the best"] if told.is_best else []
        said += ["off the path"] if told.is_off else []
        self._add(opened, at, f"{tone} off" if told.is_off else tone, said, str(number))

    def _close(self, phase: str, at: int, tone: str) -> None:
        if (opened := self._phases.pop(phase, None)) is not None:
            self._add(opened, at, tone, [phase, _ENDS[tone]], phase.rpartition("/")[2])

    def _add(self, opened: _Open, at: int, tone: str, said: list[str], name: str) -> None:
        took = max(at - opened.begin, 0)
        said = [*filter(None, said), duration(took)]
        cost = self._cost.pop(opened.row, None)
        labels: tuple[str, ...] = (name,)
        if cost is not None:
            said.append(dollars(cost))
            labels = (f"{name} {dollars(cost)}", name)
        about = ", ".join(said)
        self.found.work.append(
            Work(opened.row, opened.begin, at, tone, labels, about, opened.version)
        )

    def _sign(self, row: str, at: int, kind: str, about: str, version: int) -> None:
        self.found.signs.append(Instant(row, at, kind, about, version))

    def _gate(self, event: f.GateChecked, at: int, version: int) -> None:
        is_passed = event.exit_code == 0
        kind = "gate passed" if is_passed else "gate failed"
        about = f"attempt {event.attempt}"
        about += "" if is_passed else f", exit code {event.exit_code}"
        self._sign(event.phase, at, kind, about, version)

    def _ran(self, event: f.AgentRan, at: int, version: int) -> None:
        if event.usage is not None and event.usage.cost_usd is not None:
            for row in {event.phase or ITERATIONS, ITERATIONS}:
                self._cost[row] = self._cost.get(row, 0.0) + event.usage.cost_usd
        is_alone = self._iteration is None and event.phase not in self._phases
        if is_alone and event.duration_ms is not None:
            row = event.phase or "agent"
            opened = _Open(row, at - event.duration_ms, version, row)
            tone = GOOD if event.status == "completed" else BAD
            self._add(opened, at, tone, [row, f"an agent's run: {event.status}"], "")

    def _went_back(self, event: f.RolledBack, at: int, version: int) -> None:
        for phase in list(self._phases):
            self._close(phase, at, OPEN)
        there = self._times[event.to - 1] if 0 < event.to <= len(self._times) else at
        about = f"version {version} went back to version {event.to}"
        about += f": {event.reason}" if event.reason else ""
        self.found.returns.append(Return(at, there, about, version))

    def _take_wait(self, at: int, event: Event) -> None:
        """Note since when nobody works and who is waited for; work ends it."""
        if self._waiting is not None and _is_work(event):
            begin, who, why = self._waiting
            self.found.waits.append(Delay(begin, max(at, begin), who, why))
            self._waiting = None
        if (reason := _waits_for(event)) is not None:
            begin = at if self._waiting is None else self._waiting[0]
            who = reason[0] if self._waiting is None else self._waiting[1]
            self._waiting = begin, who, reason[1] or (self._waiting or (0, "", ""))[2]


def _is_work(event: Event) -> bool:
    """Tell whether somebody works again."""
    begun = f.SprintResumed | f.PhaseStarted | f.PhaseRetried | f.IterationStarted
    return isinstance(
        event, begun | f.RunStarted | f.AgentRan | f.GateStarted | f.GateChecked
    )


def _waits_for(event: Event) -> tuple[str, str] | None:
    """Return who is waited for from an event on, and why."""
    match event:
        case f.SprintPaused() | f.SprintBlocked() | f.HumanNeeded() | f.PhaseBlocked():
            return _PERSON, event.reason or ""
        case f.BreakpointReached():
            return _PERSON, f"a review after {event.phase}"
        case f.GateBlocked():
            return _PERSON, event.error
        case f.SprintInterrupted():
            return "the loop", event.reason or "it was stopped from outside"
        case f.RetryScheduled():
            who = WAITS_FOR.get(event.waits_for or "", "the next attempt")
            return who, event.why or ""
        case f.RunEnded() if event.because != "done":
            return "a new run", event.why or event.because
        case _:
            return None
