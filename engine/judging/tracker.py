"""The tracker: the data about all iterations that is required to judge the next one.

It grows by a few bytes per iteration; other data about an earlier iteration is read from
that iteration's event. Events are applied in stream order, even if they were later rolled
back.
"""

import re
from collections.abc import Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ..judging import events as f
from ..log.event import Takers
from .loop_rules import PERSON
from .parts import Accepted
from .parts import Best as Best

if TYPE_CHECKING:
    from .metrics import Figures
    from .score import Score

Measured = TypeVar("Measured", f.BaselineCaptured, f.IterationMeasured, f.MeasurementFailed)

BASELINE_NUMBER = 0
NUMBER_MAX = 1_000_000_000
"""The highest iteration number; higher numbers from other tools are ignored."""

_ENTRY = Struct("<IQIBh")
"""The packed number, version, previous iteration plus 1, flags, and score."""
_NUMBER = Struct("<I")
_FRACTION = r"-?[0-9]{1,400}(?:/[1-9][0-9]{0,400})?"
_INCOMPLETE, _VERIFIED, _SCORED, _REPORTED, _ALTERED = 1, 2, 4, 8, 16
UNKEPT = -(2**15)
"""The mark for a score that is too large to store here; the event contains it."""


class TrackedIteration(msgspec.Struct, frozen=True):
    """A measured iteration, and the version of its event."""

    number: int
    version: int
    previous: int | None
    is_incomplete: bool
    """Whether the iteration lacks a component of the best iteration at that time."""
    is_verified: bool = False
    """Whether the iteration's tests pass, according to `not_verified`."""
    hundredths: int | None = None
    """The score in hundredths, rounded as in reports; None if there is no score."""
    is_reported: bool = False
    """Whether an agent recorded the measurement."""
    is_altered: bool = False
    """Whether the tests or the measuring script changed while they were run."""


class Tracker(msgspec.Struct, omit_defaults=True):
    """The measurements, judgements and selections of a stream."""

    ledger: bytearray = msgspec.field(default_factory=bytearray)
    """Every measured iteration in event order, each in the few bytes of `_ENTRY`, so that a
    checkpoint of 10,000 iterations is read as fast as one of 10."""
    best: Best | None = None
    """The best iteration; None at first, because iteration 0 is never the best."""
    last: f.IterationMeasured | None = None
    """The latest measurement, to detect a repeated command."""
    last_runs: tuple[f.MeasuringRun, ...] = ()
    """The commands of the latest measurement, without their output."""
    failed: f.MeasurementFailed | None = None
    """The latest failed measurement, without its output."""
    failed_at: int = 0
    """The version of the latest failed measurement."""
    unmeasured: int = 0
    """The number of consecutive iterations whose measurement failed."""
    unchanged: int = 0
    """The number of consecutive iterations that changed neither files nor metrics."""
    unchanged_at: int = 0
    """The last iteration that was checked for changed files."""
    highest: int = 0
    """The highest number of a measured iteration."""
    baseline: f.BaselineCaptured | None = None
    baseline_version: int = 0
    """The version at which the baseline was captured."""
    baselines: list[tuple[int, f.BaselineReplaced]] = []
    """The later baselines, each with the version from which it applies."""
    retracted: list[tuple[int, int | None]] = []
    """The retracted iterations, each with the iteration that it was built on."""
    changed: dict[int, f.MeasurementChanged] = {}
    """The iterations whose changes to the measure are not accepted, with a few files."""
    changed_at: int = 0
    """The version of the last of these marks, which directly precedes its measurement."""
    accepted: Accepted | None = None
    """The last acceptance of an iteration's tests and measure."""
    described: f.IterationDescribed | None = None
    """The last description of an iteration, to detect a repeated command."""
    rules: list[tuple[int, f.RulesSet]] = []
    """Each set of rules, with the version from which it applies."""
    recommended: f.RecommendationGiven | None = None
    """The last recommendation."""
    recommended_at: int = 0
    """The version of the last recommendation."""
    selected: f.BestSelected | None = None
    """The last selection."""
    selected_at: int = 0
    """The version of the last selection."""
    applied: list[f.ArtifactsApplied] = []
    """The artifacts applied since the last selection."""

    @property
    def is_empty(self) -> bool:
        """Return whether no measurement was ever recorded."""
        return self.baseline is None and not self.ledger

    @property
    def measured(self) -> list[TrackedIteration]:
        """Return every measured iteration, in event order."""
        return list(self.newest_first())[::-1]

    def has_measured(self, number: int) -> bool:
        """Return whether an iteration was measured other than by an agent."""
        entry = self.entry(number)
        return entry is not None and not entry.is_reported

    def has_failed(self, number: int) -> bool:
        """Return whether the latest failed measurement is that of an iteration."""
        return self.failed is not None and self.failed.number == number

    def newest_first(self) -> Iterator[TrackedIteration]:
        """Yield every measured iteration, newest first."""
        for place in range(len(self.ledger) - _ENTRY.size, -1, -_ENTRY.size):
            yield self._at(place)

    def numbers(self, *, verified: bool = False) -> list[int]:
        """Return the numbers of all measured, or only verified, iterations, in order."""
        wanted = _VERIFIED if verified else 0
        entries = _ENTRY.iter_unpack(self.ledger)
        return [number for number, _, _, flags, _ in entries if flags & wanted == wanted]

    def versions(self) -> list[tuple[int, int]]:
        """Return the number and version of every measured iteration, in event order."""
        return [entry[:2] for entry in _ENTRY.iter_unpack(self.ledger)]

    def keep(self, entry: TrackedIteration) -> None:
        """Add a measured iteration."""
        built_on = 0 if entry.previous is None else entry.previous + 1
        flags = _INCOMPLETE * entry.is_incomplete | _VERIFIED * entry.is_verified
        score = entry.hundredths
        flags |= _SCORED * (score is not None) | _REPORTED * entry.is_reported
        flags |= _ALTERED * entry.is_altered
        self.ledger += _ENTRY.pack(entry.number, entry.version, built_on, flags, score or 0)

    def entry(self, number: int) -> TrackedIteration | None:
        """Return the measurement of an iteration, or None."""
        if not 0 <= number <= self.highest:
            return None
        # Searched by the lowest byte, because comparing every entry in Python is slow.
        lowest, at = self.ledger[:: _ENTRY.size], len(self.ledger)
        while (at := lowest.rfind(number & 0xFF, 0, at)) >= 0:
            if _NUMBER.unpack_from(self.ledger, at * _ENTRY.size) == (number,):
                return self._at(at * _ENTRY.size)
        return None

    def _at(self, place: int) -> TrackedIteration:
        number, version, built_on, flags, score = _ENTRY.unpack_from(self.ledger, place)
        previous = built_on - 1 if built_on else None
        return TrackedIteration(
            *(number, version, previous),
            *(bool(flags & _INCOMPLETE), bool(flags & _VERIFIED)),
            score if flags & _SCORED else None,
            *(bool(flags & _REPORTED), bool(flags & _ALTERED)),
        )

    @property
    def known_baseline(self) -> f.BaselineCaptured | None:
        """Return the baseline, or None without a baseline or if an agent reported it."""
        base = self.baseline
        return None if base is None or f.BY_AGENT in base.origins else base

    @property
    def unfit(self) -> set[int]:
        """Return the iterations that are never the best, selected or rolled back to."""
        entries = _ENTRY.iter_unpack(self.ledger)
        marks = _REPORTED | _ALTERED
        return {*self.changed, *(number for number, _, _, f, _ in entries if f & marks)}

    @property
    def lacks_baseline(self) -> bool:
        """Return whether nothing was measured but by agents."""
        entries = _ENTRY.iter_unpack(self.ledger)
        are_reported = all(flags & _REPORTED for _, _, _, flags, _ in entries)
        return self.known_baseline is None and are_reported

    def baseline_at(self, version: int) -> f.Metrics | None:
        """Return the metrics with which an event at this version is compared."""
        replaced = (new.metrics for at, new in reversed(self.baselines) if at <= version)
        if (metrics := next(replaced, None)) is not None:
            return metrics
        base = self.known_baseline
        return base.metrics if base and self.baseline_version <= version else None

    @property
    def baseline_number(self) -> int | None:
        """Return the current baseline iteration; None if there is no baseline."""
        if self.baselines:
            return self.baselines[-1][1].number
        return None if self.baseline is None else BASELINE_NUMBER

    def built_on(self, number: int | None) -> int | None:
        """Return an iteration or, if it was retracted, the iteration it was built on."""
        if not self.retracted:
            return number
        known = dict(self.retracted)
        while number in known and self.entry(number) is None:
            number = known[number]
        return number

    def judge_anew(
        self, event: f.MeasurementRetracted | f.InstrumentsAccepted, *, without: int = 0
    ) -> None:
        """Apply an event's best iteration and incomplete flags; drop one measurement."""
        marked = dict.fromkeys(event.complete, False) | dict.fromkeys(
            event.incomplete, True
        )
        self.drop(without, marked)
        self.best = _kept(self, event.best)

    def drop(self, number: int, marked: Mapping[int, bool]) -> None:
        """Drop a measurement, and update the incomplete flags of the others."""
        kept = [one for one in self.measured if one.number != number]
        self.ledger = bytearray()
        for one in kept:
            is_incomplete = marked.get(one.number, one.is_incomplete)
            self.keep(msgspec.structs.replace(one, is_incomplete=is_incomplete))
        self.highest = max((one.number for one in kept), default=0)

    def rules_at(self, version: int) -> f.RulesSet:
        """Return the rules that apply at a version."""
        return next((r for at, r in reversed(self.rules) if at <= version), f.RulesSet())

    def scored(
        self, metrics: f.Metrics, version: int, given: float | None = None
    ) -> "tuple[Figures, Score]":
        """Return the figures for metrics, and their score under the rules at a version."""
        from .metrics import figures
        from .score import score

        now, rules = figures(metrics), self.rules_at(version)
        base = self.baseline_at(version)
        then = figures(base) if base else None
        return now, score(now, then, rules.weights, given, rules.metrics)


def _take_baseline(tracker: Tracker, event: f.BaselineCaptured, version: int) -> None:
    # A measured iteration is never replaced by an import.
    if tracker.known_baseline is None:
        tracker.baseline = without_evidence(event)
        tracker.baseline_version = version


def _take_measured(tracker: Tracker, event: f.IterationMeasured, version: int) -> None:
    # Imported here: most recording commands do not require exact numbers.
    from .best import after
    from .metrics import not_verified

    if not 0 < event.number <= NUMBER_MAX or tracker.has_measured(event.number):
        return
    if tracker.entry(event.number) is not None:
        tracker.drop(event.number, {})
    if tracker.changed_at != version - 1:
        # An earlier measurement of the iteration was marked.
        tracker.changed = {n: x for n, x in tracker.changed.items() if n != event.number}
    now, found = tracker.scored(event.metrics, version, event.score)
    is_incomplete, best = after(tracker.best, event.number, found, version)
    is_reported, is_altered = f.BY_AGENT in event.origins, event.altered_measure
    if not is_reported:
        _take_last(tracker, event)
        if event.number not in tracker.changed and not is_altered:
            tracker.best = best
    tracker.highest = max(tracker.highest, event.number)
    if (built_on := event.previous) is not None and not 0 <= built_on <= NUMBER_MAX:
        built_on = None
    is_verified = not (is_reported or is_altered) and not_verified(now) is None
    flags = is_incomplete, is_verified, _hundredths(found), is_reported, is_altered
    tracker.keep(TrackedIteration(event.number, version, built_on, *flags))


def _take_last(tracker: Tracker, event: f.IterationMeasured) -> None:
    """Apply a measurement that was not made by an agent."""
    if tracker.last is not None and tracker.last.metrics != event.metrics:
        tracker.unchanged = 0
    tracker.last, tracker.unmeasured = without_evidence(event), 0
    tracker.last_runs = tuple(msgspec.structs.replace(r, output="") for r in event.runs)


def _hundredths(found: "Score") -> int | None:
    """Return a score in its stored format, in hundredths."""
    from .exact import rounded

    if found.value is None:
        return None
    whole = int(rounded(found.value, 2) * 100)
    return whole if abs(whole) < -UNKEPT else UNKEPT


def _take_failed(tracker: Tracker, event: f.MeasurementFailed, version: int) -> None:
    before = tracker.failed
    # The baseline is not an iteration with work.
    if event.number != BASELINE_NUMBER and (
        before is None or before.number != event.number or not tracker.unmeasured
    ):
        tracker.unmeasured += 1
    tracker.failed, tracker.failed_at = without_output(event), version
    tracker.unchanged = 0


def without_output(event: f.MeasurementFailed) -> f.MeasurementFailed:
    """Return a failed measurement as the tracker stores it, without the printed output."""
    return msgspec.structs.replace(without_evidence(event), output="")


def without_evidence(event: Measured) -> Measured:
    """Return a measurement as the tracker stores it, without its commands and reports."""
    return msgspec.structs.replace(event, runs=(), reports=())


def _take_retracted(tracker: Tracker, event: f.MeasurementRetracted, version: int) -> None:
    if event.number == BASELINE_NUMBER:
        tracker.baseline, tracker.baseline_version = None, 0
        return
    if (entry := tracker.entry(event.number)) is None:
        return
    tracker.judge_anew(event, without=event.number)
    tracker.changed = {n: x for n, x in tracker.changed.items() if n != event.number}
    tracker.retracted.append((event.number, entry.previous))
    if tracker.last is not None and tracker.last.number == event.number:
        tracker.last, tracker.last_runs = None, ()


def _take_changed(tracker: Tracker, event: f.MeasurementChanged, version: int) -> None:
    few = msgspec.structs.replace(event, files=event.files[: f.FILES_SHOWN])
    tracker.changed = {**tracker.changed, event.number: few}
    tracker.changed_at = version


def _take_accepted(tracker: Tracker, event: f.InstrumentsAccepted, version: int) -> None:
    if (entry := tracker.entry(event.number)) is None:
        return
    tracker.accepted = Accepted(event.number, entry.version, version)
    tracker.changed = {
        number: one
        for number, one in tracker.changed.items()
        if one.instruments != event.instruments
    }
    tracker.judge_anew(event)


def _kept(tracker: Tracker, best: f.BestAnew | None) -> Best | None:
    """Return the best iteration after a new evaluation; None if it is invalid.

    An imported log may contain any data.
    """
    entry = None if best is None else tracker.entry(best.number)
    if best is None or entry is None or entry.version != best.version:
        return None
    said = (best.score, *(text for part in best.parts for text in (part[1], part[3])))
    if not all(re.fullmatch(_FRACTION, text) for text in said):
        return None
    return Best(**msgspec.structs.asdict(best))


def _take_described(tracker: Tracker, event: f.IterationDescribed, version: int) -> None:
    tracker.described = event


def _take_recommended(tracker: Tracker, event: f.RecommendationGiven, version: int) -> None:
    tracker.recommended, tracker.recommended_at = event, version
    tracker.unchanged *= event.cause != PERSON


def _take_selected(tracker: Tracker, event: f.BestSelected, version: int) -> None:
    tracker.selected, tracker.selected_at, tracker.applied = event, version, []


TAKE: Takers = {
    f.BaselineCaptured: _take_baseline,
    f.RulesSet: lambda tracker, event, version: tracker.rules.append((version, event)),
    f.IterationMeasured: _take_measured,
    f.MeasurementFailed: _take_failed,
    f.MeasurementRetracted: _take_retracted,
    f.MeasurementChanged: _take_changed,
    f.InstrumentsAccepted: _take_accepted,
    f.BaselineReplaced: lambda of, event, version: of.baselines.append((version, event)),
    f.IterationDescribed: _take_described,
    f.RecommendationGiven: _take_recommended,
    f.BestSelected: _take_selected,
    f.ArtifactsApplied: lambda tracker, event, version: tracker.applied.append(event),
}
"""The handlers that apply events to the tracker."""
