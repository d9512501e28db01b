"""Timelines computed from events: work, waits, marks and rollbacks."""

from array import array
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sprintlog.engine.judging.events import IterationMeasured
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.sprint import Spent
from sprintlog.engine.sprint.state.words import WAITS_FOR
from sprintlog.engine.usage import COST, bounded

from ..text.phrases import dollars, duration
from ..views.iterations import JudgedIteration

FAILED_MAX = 400
"""Failures are stored for this many of the newest iterations."""
NOTES_MAX = 3
"""If more failures occur in an iteration, the last one replaces the previous one."""
NOTE_CHARS_MAX = 240

_GOES_WELL = (f.PhaseStarted, f.PhaseCompleted, f.PhaseRetried, f.GateChecked, f.RolledBack)
"""Events after which nothing is failing anymore."""


class IterationFailures:
    """The failures in each iteration, and whether the last iteration is still failing."""

    def __init__(self) -> None:
        self.is_failing = False
        """Whether a failure in the last iteration has not been followed by a success
        yet."""
        self._notes: OrderedDict[int, list[str]] = OrderedDict()
        self._number = 0

    def take(self, event: Event) -> None:
        """Process the next event."""
        match event:
            case f.IterationStarted():
                self._number, self.is_failing = event.number, False
            case f.GateChecked() if event.exit_code:
                self._note(gate_failed(event))
            case f.PhaseFailed():
                self._note(f"{event.phase} failed: {event.error}")
            case f.IterationFailed():
                self._note(event.error)
            case _ if isinstance(event, _GOES_WELL):
                self.is_failing = False
            case _:
                pass

    def of(self, number: int) -> tuple[str, ...]:
        """Return the failures in an iteration, oldest first."""
        return tuple(self._notes.get(number, ()))

    def _note(self, said: str) -> None:
        self.is_failing = True
        notes = self._notes.setdefault(self._number, [])
        note = said if len(said) <= NOTE_CHARS_MAX else f"{said[:NOTE_CHARS_MAX]}…"
        if note not in notes:
            notes[NOTES_MAX - 1 :] = [note]
        while len(self._notes) > FAILED_MAX:
            self._notes.popitem(last=False)


def gate_failed(event: f.GateChecked) -> str:
    """Return a description of a gate failure, with the last line of output."""
    how = "at its time limit" if event.timed_out else f"with exit code {event.exit_code}"
    last = event.output.rstrip().rpartition("\n")[2].strip()
    return f"the gate of {event.phase} failed {how}" + (f": {last}" if last else "")


ITERATIONS = "iterations"
"""The row that iterations share if they do not have separate rows."""
GOOD, BAD, STEADY, PLAIN, OPEN, STUCK = "good", "bad", "steady", "plain", "open", "stuck"
ITERATIONS_MAX, PHASES_MAX, OTHERS_MAX = 200, 300, 300
"""The maximum numbers of iterations, bars of phases, and entries of each other kind."""
FAILED_CHARS_MAX = 70
"""The maximum length of a failure in a bar; the table of iterations shows more."""
_PERSON = "a person"
_ENDS = {
    GOOD: "completed",
    BAD: "failed",
    STEADY: "skipped",
    OPEN: "not ended",
    STUCK: "blocked, or a person is needed",
}
_STATES = {PLAIN: "not measured", OPEN: "not ended", BAD: "failed"}
"""The description of an iteration without a class."""
_CLASSES = {"forward": GOOD, "regression": BAD, "plateau": STEADY, "stalled": STEADY}


class Work(NamedTuple):
    """A bar in the timeline: an attempt at a phase, or an iteration."""

    row: str
    begin: int
    end: int
    tone: str
    """The outcome: `good`, `bad`, `stuck`, `steady`, `plain`, `open` or `off`."""
    labels: tuple[str, ...] = ()
    """The possible labels, longest first."""
    about: str = ""
    version: int = 0
    number: int = 0
    """The number of the iteration; 0 for work on a phase."""


class Delay(NamedTuple):
    """A period without work, and the person or process that the sprint was waiting for."""

    begin: int
    end: int
    who: str
    about: str = ""


class Instant(NamedTuple):
    """An event at a single point in time: a gate check, a retry or an alert."""

    row: str
    at: int
    kind: str
    about: str
    version: int = 0


class Return(NamedTuple):
    """A rollback, with its own time and the time of its target."""

    at: int
    to: int
    about: str
    version: int = 0


class Course(NamedTuple):
    """The timeline of a sprint."""

    work: list[Work]
    waits: list[Delay]
    signs: list[Instant]
    returns: list[Return]
    earlier: int = 0
    """The number of earlier bars that are omitted."""


class _Open(NamedTuple):
    row: str
    begin: int
    version: int
    name: str
    number: int = 0
    """The number of the iteration; 0 for work on a phase."""


class _Closed(NamedTuple):
    opened: _Open
    end: int
    tone: str
    """The tone; for an iteration, the tone it has if it is not judged."""
    cost: Spent | None
    says: str = ""


_UNTOLD = JudgedIteration(iteration=0, classification=None, score=None)


class EventStory:
    """The timeline of a sprint, updated event by event.

    `course` can be called at any time, even if more events follow.
    """

    def __init__(self) -> None:
        self.failures = IterationFailures()
        self._loops: deque[_Closed] = deque(maxlen=ITERATIONS_MAX)
        self._work: deque[_Closed] = deque(maxlen=PHASES_MAX)
        self._waits: deque[Delay] = deque(maxlen=OTHERS_MAX)
        self._signs: deque[Instant] = deque(maxlen=OTHERS_MAX)
        self._returns: deque[Return] = deque(maxlen=OTHERS_MAX)
        self._closed = 0
        self._phases: dict[str, _Open] = {}
        self._iteration: _Open | None = None
        self._measured_at: int | None = None
        self._waiting: Delay | None = None
        self._times = array("q")
        self._cost: dict[str, Spent] = {}
        self._last = 0

    def course(
        self,
        told: Mapping[int, JudgedIteration],
        *,
        loops_max: int = ITERATIONS_MAX,
        bars_max: int = PHASES_MAX,
        signs_max: int = OTHERS_MAX,
    ) -> Course:
        """Return the timeline so far; open work extends to the last event."""
        loops, phases, waits = [*self._loops], [*self._work], [*self._waits]
        for opened in self._phases.values():
            cost = self._cost.get(opened.row)
            phases.append(_Closed(opened, self._last, OPEN, cost, _ENDS[OPEN]))
        if self._iteration is not None:
            # The end was not recorded, but the iteration may have been measured.
            end, tone = self._measured_at, STEADY
            if end is None:
                end, tone = self._last, BAD if self.failures.is_failing else OPEN
            loops.append(_Closed(self._iteration, end, tone, self._cost.get(ITERATIONS)))
        if self._waiting is not None:
            waits.append(self._waiting._replace(end=self._last))
        begun = len(self._phases) + (self._iteration is not None)
        loops, phases = loops[-loops_max:], phases[-bars_max:]
        work = [_told(one, told, self.failures) for one in (*loops, *phases)]
        earlier = self._closed + begun - len(work)
        signs = [*self._signs][-signs_max:]
        return Course(work, waits[-signs_max:], signs, [*self._returns], earlier)

    def take(self, version: int, at: int, event: Event) -> None:
        """Process the next event."""
        self._times.append(at)
        self._last = at
        self.failures.take(event)
        self._take_wait(at, event)
        match event:
            case f.IterationStarted():
                self._end_iteration(at)
                number, name = event.number, f"iteration {event.number}"
                self._iteration = _Open(ITERATIONS, at, version, name, number)
            case f.IterationEnded() if self._is_open(event.number):
                self._end_iteration(at)
            case IterationMeasured() if self._is_open(event.number):
                self._measured_at = at
            case f.IterationFailed():
                self._sign(ITERATIONS, at, "failed", event.error, version)
            case f.PhaseStarted():
                self._close(event.phase, at, OPEN)
                self._phases[event.phase] = _Open(event.phase, at, version, event.phase)
            case f.PhaseCompleted() | f.PhaseFailed():
                tone = GOOD if isinstance(event, f.PhaseCompleted) else BAD
                self._close(event.phase, at, tone)
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

    def _is_open(self, number: int) -> bool:
        return self._iteration is not None and self._iteration.number == number

    def _end_iteration(self, at: int) -> None:
        if self._iteration is not None:
            cost = self._cost.pop(ITERATIONS, None)
            self._loops.append(_Closed(self._iteration, at, STEADY, cost))
            self._closed += 1
        self._iteration = self._measured_at = None

    def _close(self, phase: str, at: int, tone: str) -> None:
        if (opened := self._phases.pop(phase, None)) is not None:
            cost = self._cost.pop(opened.row, None)
            self._work.append(_Closed(opened, at, tone, cost, _ENDS[tone]))
            self._closed += 1

    def _sign(self, row: str, at: int, kind: str, about: str, version: int) -> None:
        self._signs.append(Instant(row, at, kind, about, version))

    def _gate(self, event: f.GateChecked, at: int, version: int) -> None:
        is_passed = event.exit_code == 0
        kind = "gate passed" if is_passed else "gate failed"
        about = f"attempt {event.attempt}"
        about += "" if is_passed else f", {gate_failed(event)}"
        self._sign(event.phase, at, kind, about, version)

    def _ran(self, event: f.AgentRan, at: int, version: int) -> None:
        for row in {event.phase or ITERATIONS, ITERATIONS}:
            self._cost.setdefault(row, Spent()).add_run(event)
        is_alone = self._iteration is None and event.phase not in self._phases
        if is_alone and event.duration_ms is not None:
            row = event.phase or "agent"
            opened = _Open(row, at - event.duration_ms, version, row)
            tone = GOOD if event.status == "completed" else BAD
            said = f"an agent's run: {event.status}"
            self._work.append(_Closed(opened, at, tone, self._cost.pop(row, None), said))
            self._closed += 1

    def _went_back(self, event: f.RolledBack, at: int, version: int) -> None:
        for phase in list(self._phases):
            self._close(phase, at, OPEN)
        there = self._times[event.to - 1] if 0 < event.to <= len(self._times) else at
        about = f"version {version} rolled back to version {event.to}"
        about += f": {event.reason}" if event.reason else ""
        self._returns.append(Return(at, there, about, version))

    def _take_wait(self, at: int, event: Event) -> None:
        """Start or update a wait if an event requires one; end the wait if work resumes."""
        if self._waiting is not None and _is_work(event):
            self._waits.append(self._waiting._replace(end=max(at, self._waiting.begin)))
            self._waiting = None
        if (reason := _waits_for(event)) is not None:
            who, why = reason
            before = self._waiting or Delay(at, at, who)
            self._waiting = before._replace(about=why or before.about)


def _told(
    one: _Closed, told: Mapping[int, JudgedIteration], failures: IterationFailures
) -> Work:
    """Return completed work as a timeline bar, with its outcome."""
    opened, tone = one.opened, one.tone
    said, name = [opened.name, one.says], opened.name.rpartition("/")[2]
    if number := opened.number:
        known = told.get(number, _UNTOLD)
        measured = _CLASSES.get(known.classification or "", STEADY)
        ended = PLAIN if known.score is None else measured
        tone = tone if tone in (OPEN, BAD) else ended
        said = [opened.name, known.classification or _STATES.get(tone, ""), *_judged(known)]
        said += [_cut(x) for x in failures.of(number)[-1:]]
        tone = f"{tone} off" if known.is_on_path is False else tone
        name = str(number)
    said.append(duration(max(one.end - opened.begin, 0)))
    labels: tuple[str, ...] = (name,)
    if one.cost is not None and one.cost.cost_usd is not None:
        cost = bounded(dollars(one.cost.cost_usd), one.cost, COST)
        said.append(cost)
        labels = (f"{name} {cost}", name)
    about = ", ".join(filter(None, said))
    where = (opened.version, opened.number)
    return Work(opened.row, opened.begin, one.end, tone, labels, about, *where)


def _cut(said: str) -> str:
    return said if len(said) <= FAILED_CHARS_MAX else f"{said[:FAILED_CHARS_MAX]}…"


def _judged(known: JudgedIteration) -> Iterator[str]:
    if known.score is not None:
        yield f"score {known.score:.2f}"
    if known.is_best is True:
        yield "the best"
    if known.is_on_path is False:
        yield "discarded"


def _is_work(event: Event) -> bool:
    """Return whether an event resumes work."""
    begun = f.SprintResumed | f.PhaseStarted | f.PhaseRetried | f.IterationStarted
    return isinstance(
        event, begun | f.RunStarted | f.AgentRan | f.GateStarted | f.GateChecked
    )


def _waits_for(event: Event) -> tuple[str, str] | None:
    """Return the person or process that an event waits for, with the reason, or None."""
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
            return WAITS_FOR.get(event.waits_for or "", "the next attempt"), event.why or ""
        case f.RunEnded() if event.because != "done":
            return "a new run", event.why or event.because
        case _:
            return None
