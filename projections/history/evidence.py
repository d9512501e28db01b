"""The evidence for a decision: the open failure, the effective judgement and its alerts.

Failures that were resolved or discarded are not evidence.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from sprintlog.engine.judging import events as i
from sprintlog.engine.judging.evaluation import Judge, Judgement
from sprintlog.engine.judging.score import score_text
from sprintlog.engine.judging.tracker import TAKE, Tracker
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import EVERYTHING, HERE, Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.state.effective_history import effective_ranges, is_effective

Data = dict[str, Any]

OF_ITERATIONS = {event.type: take for event, take in TAKE.items()}


class Trouble(NamedTuple):
    """A failure, or an event that stopped the sprint."""

    type: str
    address: str
    words: str
    number: int | None = None
    """The number of the iteration, if the event names one."""


class OpenTroubles(NamedTuple):
    """The open failures and the advice that apply from a version until the next change."""

    version: int
    open: tuple[Trouble, ...] = ()
    """The open failures, oldest first."""
    advice: str = ""
    """The latest advice; empty if it is outdated."""


class Past(NamedTuple):
    """The saved state of a stream up to a version."""

    known: Callable[[int], OpenTroubles]
    """Returns the open failures at a version within the saved state."""
    rollbacks: Sequence[tuple[int, int]]
    tracker: Callable[[], Tracker]
    """Returns the measurements within the saved state."""
    read: Callable[[int], RecordedEvent]
    """Returns an event within the saved state."""
    version: int


class Evidence:
    """The evidence at each point of a stream, updated event by event."""

    def __init__(self, past: Past | None = None) -> None:
        self._past = past
        self.known = [OpenTroubles(0) if past is None else past.known(past.version)]
        """The failures at the start, and after each event that changed them."""
        self._rollbacks = [] if past is None else list(past.rollbacks)
        self._measured: tuple[Tracker, Judge] | None = None
        self._events: dict[int, tuple[str, Event]] = {}

    @property
    def advice(self) -> str:
        """Return the latest advice, or "" if it is outdated."""
        return self.known[-1].advice

    def trouble(self, about: str) -> Trouble | None:
        """Return the newest failure at or below an address; `""` matches all addresses."""
        open_ = reversed(self.known[-1].open)
        return next((one for one in open_ if _is_in(one, about)), None)

    @property
    def is_at_breakpoint(self) -> bool:
        """Return whether the sprint was last stopped by a breakpoint."""
        open_ = self.known[-1].open
        return bool(open_) and open_[-1].type == f.BreakpointReached.type

    def judgement(self, version: int, number: int | None = None) -> str:
        """Return an iteration's judgement; without `number`, that of the last iteration."""
        tracker, judge = self._judging()
        if number is None and not tracker.is_empty:
            stretches = effective_ranges(self._rollbacks, version - 1)
            entries = tracker.newest_first()
            on_path = (e.number for e in entries if is_effective(stretches, e.version))
            number = next(on_path, None)
        if number is None:
            return ""
        failed = next((one for one in self.known[-1].open if one.number == number), None)
        is_known = number == 0 or tracker.entry(number) is not None
        if not is_known or (number == 0 and tracker.baseline is None):
            return failed.words if failed is not None else ""
        return "; ".join(_judged(judge.judge(number)))

    def take(
        self, event: RecordedEvent, data: Data, *, address: str, words: str | None
    ) -> None:
        """Process an event; `words` describes its failure, if any."""
        is_numbered = event.type in (i.MeasurementFailed.type, i.IterationMeasured.type)
        number = data.get("number") if is_numbered else None
        step, began = Trouble(event.type, address, words or "", number), words is not None
        _, open_, advice = self.known[-1]
        if event.type == f.RolledBack.type:
            open_, advice = self._went_back(event, data), ""
        elif event.type == i.RecommendationGiven.type:
            advice = words or ""
        elif began or _ends(event.type, data):
            open_ = (*_after(open_, step, began=began),)
        if self._take_iteration(event):
            advice = ""
        if (open_, advice) != self.known[-1][1:]:
            self.known.append(OpenTroubles(event.version, open_, advice))

    def _went_back(self, event: RecordedEvent, data: Data) -> tuple[Trouble, ...]:
        """Return the failures that were open at the target of a rollback."""
        to = int(data.get("to") or 1)
        self._rollbacks.append((event.version, to))
        if self._past is not None and to <= self._past.version:
            return self._past.known(to).open
        # An imported log may name a later target, which discards nothing.
        at = bisect_right(self.known, to, key=attrgetter("version"))
        return self.known[max(at - 1, 0)].open

    def _take_iteration(self, recorded: RecordedEvent) -> bool:
        """Process an event about iterations; return whether it is a measurement."""
        take = OF_ITERATIONS.get(recorded.type)
        if take is None or CODEC.today(recorded) is None:
            return False
        event = CODEC.decode(recorded)
        is_measured = recorded.type in (i.BaselineCaptured.type, i.IterationMeasured.type)
        if is_measured:
            self._events[recorded.version] = recorded.at, event
        take(self._judging()[0], event, recorded.version)
        return is_measured

    def _judging(self) -> tuple[Tracker, Judge]:
        """Return the measurements and their judge, created on first use."""
        if self._measured is None:
            tracker = Tracker() if self._past is None else self._past.tracker()
            self._measured = tracker, Judge(tracker, self._event)
        return self._measured

    def _event(self, version: int) -> tuple[str, Event]:
        if version not in self._events and self._past is not None:
            recorded = self._past.read(version)
            self._events[version] = recorded.at, CODEC.decode(recorded)
        return self._events[version]


def _ends(type_: str, data: Data) -> bool:
    is_passed = type_ == f.GateChecked.type and data.get("exit_code") == 0
    return is_passed or bool(_ended_by(type_))


def _ended_by(type_: str) -> Sequence[str]:
    event = CODEC.events.get(type_)
    return event.ends if event is not None else ()


def _after(open_: Sequence[Trouble], step: Trouble, *, began: bool) -> Iterator[Trouble]:
    """Yield the failures still open after a step, including the step if it failed."""
    ended = _ended_by(step.type)
    is_passed = step.type == f.GateChecked.type and not began
    is_there = HERE in ended or is_passed
    for one in open_:
        is_over = one.type in ended or (is_there and _is_in(one, step.address))
        # A new failure replaces an earlier one of the same type at the same address.
        is_over = is_over or (began and one.number is None and step[:2] == one[:2])
        if not (is_over or EVERYTHING in ended or _is_measured(one, step)):
            yield one
    if began:
        yield step


def _is_measured(trouble: Trouble, step: Trouble) -> bool:
    """Return whether a measurement resolves a failure of the same or an older iteration."""
    if step.type != i.IterationMeasured.type or trouble.number is None:
        return False
    return step.number is not None and step.number >= trouble.number


def _is_in(trouble: Trouble, about: str) -> bool:
    return not about or f"{trouble.address}/".startswith(f"{about}/")


def _judged(one: Judgement) -> Iterator[str]:
    word = one.classification or "nothing before it"
    yield f"iteration {one.number}: {word}, quality {score_text(one.score)}"
    for alert in one.alerts:
        yield f"{alert.severity} {alert.type}: {alert.message}"
