"""What a decision was made on: the open failure, the judgement in force, its alerts.

What was overcome since is no evidence, nor is what a rollback took back.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sprintlog.engine.iterations import events as i
from sprintlog.engine.iterations.evaluation import Judge, Judgement
from sprintlog.engine.iterations.select import said_score
from sprintlog.engine.iterations.tracker import TAKE, Tracker
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.event import EVERYTHING, HERE, Event
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.rollback import lies_on, path

Data = dict[str, Any]

OF_ITERATIONS = {event.type: take for event, take in TAKE.items()}


class Trouble(NamedTuple):
    """Something that went wrong, or stopped the sprint."""

    type: str
    address: str
    words: str
    number: int | None = None
    """The iteration that it is about, where it says so."""


class _Step(NamedTuple):
    """What an event changed: a trouble that began, or what ended some."""

    version: int
    began: Trouble | None
    type: str
    address: str
    number: int | None


class Evidence:
    """What is known at each point of one stream, told event by event."""

    def __init__(self) -> None:
        self._open: list[Trouble] = []
        self._steps: list[_Step] = []
        self._rollbacks: list[tuple[int, int]] = []
        self._tracker = Tracker()
        self._events: dict[int, tuple[str, Event]] = {}
        self.advice = ""
        """The advice that was given last; nothing where more happened since."""
        self._judge = Judge(self._tracker, lambda version: self._events[version])

    def trouble(self, about: str) -> Trouble | None:
        """Return what is wrong at an address or below it, the newest; `""` is all of it."""
        return next((one for one in reversed(self._open) if _is_in(one, about)), None)

    @property
    def is_at_breakpoint(self) -> bool:
        """Tell whether what stopped the sprint last is a breakpoint."""
        return bool(self._open) and self._open[-1].type == f.BreakpointReached.type

    def judgement(self, version: int, number: int | None = None) -> str:
        """Return how the iteration in force before a version is judged, or one of them."""
        if number is None:
            stretches = path(self._rollbacks, version - 1)
            entries = self._tracker.newest_first()
            on_path = (e.number for e in entries if lies_on(stretches, e.version))
            number = next(on_path, None)
        if number is None:
            return ""
        failed = next((one for one in self._open if one.number == number), None)
        is_known = number == 0 or self._tracker.entry(number) is not None
        if not is_known or (number == 0 and self._tracker.baseline is None):
            return failed.words if failed is not None else ""
        return "; ".join(_judged(self._judge.judge(number)))

    def take(
        self, event: RecordedEvent, data: Data, *, address: str, words: str | None
    ) -> None:
        """Learn what an event changed; `words` say what went wrong, if it did."""
        number = data.get("number") if event.type == i.MeasurementFailed.type else None
        began = None
        if words is not None:
            began = Trouble(event.type, address, words, number)
        number = data.get("number") if event.type == i.IterationMeasured.type else number
        step = _Step(event.version, began, event.type, address, number)
        if event.type == f.RolledBack.type:
            self._go_back(event, data)
        elif event.type == i.RecommendationGiven.type:
            self.advice = words or ""
        elif began is not None or _ends(event.type, data):
            self._steps.append(step)
            self._open = [*_after(self._open, step)]
        self._take_iteration(event)

    def _go_back(self, event: RecordedEvent, data: Data) -> None:
        self._rollbacks.append((event.version, int(data.get("to") or 1)))
        self.advice = ""
        stretches = path(self._rollbacks, event.version)
        self._open = []
        for step in self._steps:
            if lies_on(stretches, step.version):
                self._open = [*_after(self._open, step)]

    def _take_iteration(self, recorded: RecordedEvent) -> None:
        take = OF_ITERATIONS.get(recorded.type)
        if take is None or CODEC.today(recorded) is None:
            return
        event = CODEC.decode(recorded)
        if recorded.type in (i.BaselineCaptured.type, i.IterationMeasured.type):
            self._events[recorded.version] = recorded.at, event
            self.advice = ""
        take(self._tracker, event, recorded.version)


def _ends(type_: str, data: Data) -> bool:
    is_passed = type_ == f.GateChecked.type and data.get("exit_code") == 0
    return is_passed or bool(_ended_by(type_))


def _ended_by(type_: str) -> Sequence[str]:
    event = CODEC.events.get(type_)
    return event.ends if event is not None else ()


def _after(open_: Sequence[Trouble], step: _Step) -> Iterator[Trouble]:
    """Yield what is wrong after a step: what it does not end, and what it began."""
    ended = _ended_by(step.type)
    is_passed = step.type == f.GateChecked.type and step.began is None
    is_there = HERE in ended or is_passed
    for one in open_:
        is_over = one.type in ended or (is_there and _is_in(one, step.address))
        if not (is_over or EVERYTHING in ended or _is_measured(one, step)):
            yield one
    if step.began is not None:
        yield step.began


def _is_measured(trouble: Trouble, step: _Step) -> bool:
    """Tell whether a measurement overcame a failed one, of its iteration or one before."""
    if step.type != i.IterationMeasured.type or trouble.number is None:
        return False
    return step.number is not None and step.number >= trouble.number


def _is_in(trouble: Trouble, about: str) -> bool:
    return not about or f"{trouble.address}/".startswith(f"{about}/")


def _judged(one: Judgement) -> Iterator[str]:
    word = one.classification or "nothing before it"
    yield f"iteration {one.number}: {word}, quality {said_score(one.score)}"
    for alert in one.alerts:
        yield f"{alert.severity} {alert.type}: {alert.message}"
