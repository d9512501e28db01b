"""The tracker: what is kept of all iterations so that the next one can be judged.

It grows by a few bytes an iteration; whatever else is asked of an earlier one is
read from its event again. Events change it in the order of the stream, whatever was
rolled back since.
"""

from collections.abc import Iterator
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ..log.event import takers_in
from .events import (
    ArtifactsApplied,
    BaselineCaptured,
    BestSelected,
    IterationMeasured,
    MeasurementFailed,
    RecommendationGiven,
    RulesSet,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from .score import Score

BASELINE_NUMBER = 0
NUMBER_MAX = 1_000_000_000
"""As high as iterations are counted; what another tool says beyond it is left out."""

_ENTRY = Struct("<IQIBh")
"""Number, version, one more than what it was built on, what is so of it, its score."""
_NUMBER = Struct("<I")
_INCOMPLETE, _VERIFIED, _SCORED = 1, 2, 4
UNKEPT = -(2**15)
"""Stands for a score that is too large to be kept; its event says it."""


class TrackedIteration(NamedTuple):
    """A measured iteration, and where its event stands."""

    number: int
    version: int
    previous: int | None
    is_incomplete: bool
    """True when a component is missing that the best one had then."""
    is_verified: bool = False
    """True when its tests pass, as `not_verified` has it."""
    hundredths: int | None = None
    """Its score, rounded as people read it; None without one."""


class Best(msgspec.Struct, frozen=True, array_like=True):
    """The best iteration so far."""

    number: int
    score: str
    """Exactly, as a fraction."""
    components: tuple[str, ...]
    """What its score was made from."""
    is_given: bool = False
    """True for a judgement from elsewhere, which is compared as it was given."""
    version: int = 0
    """The version that measured it."""

    @property
    def value(self) -> "Fraction":
        """Return its score."""
        from fractions import Fraction

        return Fraction(self.score)


class Tracker(msgspec.Struct, omit_defaults=True):
    """What was measured, judged and chosen, as far as the stream goes."""

    ledger: bytearray = msgspec.field(default_factory=bytearray)
    """Every measured iteration in the order of the events, each in `_ENTRY`'s few bytes:
    a checkpoint of 10,000 is read as fast as one of 10."""
    best: Best | None = None
    """The tracker starts empty: iteration 0 is never best."""
    last: IterationMeasured | None = None
    """The newest measurement, to know the same command again."""
    failed: MeasurementFailed | None = None
    """The newest measurement that failed, without what was printed."""
    highest: int = 0
    """The highest number that was measured."""
    baseline: BaselineCaptured | None = None
    baseline_version: int = 0
    """The version that captured it."""
    rules: list[tuple[int, RulesSet]] = []
    """Each set of rules with the version that it is in force from."""
    recommended: RecommendationGiven | None = None
    """What was answered last."""
    selected: BestSelected | None = None
    """What was selected last."""
    selected_at: int = 0
    """The version that selected it."""
    applied: list[ArtifactsApplied] = []
    """What was put in place since."""

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing was ever measured."""
        return self.baseline is None and not self.ledger

    @property
    def measured(self) -> list[TrackedIteration]:
        """Return every measured iteration, in the order of the events."""
        return list(self.newest_first())[::-1]

    def newest_first(self) -> Iterator[TrackedIteration]:
        """Yield every measured iteration, beginning with the last one."""
        for place in range(len(self.ledger) - _ENTRY.size, -1, -_ENTRY.size):
            yield self._at(place)

    def numbers(self, *, verified: bool = False) -> list[int]:
        """Return what was measured, all or what is verified, in the order of the events."""
        wanted = _VERIFIED if verified else 0
        entries = _ENTRY.iter_unpack(self.ledger)
        return [number for number, _, _, flags, _ in entries if flags & wanted == wanted]

    def keep(self, entry: TrackedIteration) -> None:
        """Add a measured iteration."""
        built_on = 0 if entry.previous is None else entry.previous + 1
        flags = _INCOMPLETE * entry.is_incomplete | _VERIFIED * entry.is_verified
        score = entry.hundredths
        flags |= _SCORED * (score is not None)
        self.ledger += _ENTRY.pack(entry.number, entry.version, built_on, flags, score or 0)

    def entry(self, number: int) -> TrackedIteration | None:
        """Return the measurement of an iteration, None where there is none."""
        if not 0 <= number <= self.highest:
            return None
        # Looked for as bytes: one by one would take as long as there are many.
        wanted, end = _NUMBER.pack(number), len(self.ledger)
        while (place := self.ledger.rfind(wanted, 0, end)) >= 0:
            if place % _ENTRY.size == 0:
                return self._at(place)
            end = place + len(wanted) - 1
        return None

    def _at(self, place: int) -> TrackedIteration:
        number, version, built_on, flags, score = _ENTRY.unpack_from(self.ledger, place)
        return TrackedIteration(
            number,
            version,
            built_on - 1 if built_on else None,
            bool(flags & _INCOMPLETE),
            bool(flags & _VERIFIED),
            score if flags & _SCORED else None,
        )

    def baseline_at(self, version: int) -> BaselineCaptured | None:
        """Return the baseline that an event at this version is judged by."""
        return self.baseline if self.baseline_version <= version else None

    def rules_at(self, version: int) -> RulesSet:
        """Return the rules in force at a version."""
        return next((r for at, r in reversed(self.rules) if at <= version), RulesSet())


def _take_baseline(tracker: Tracker, event: BaselineCaptured, version: int) -> None:
    # What was measured is never measured anew, whatever another tool says.
    if tracker.baseline is None:
        tracker.baseline, tracker.baseline_version = event, version


def _take_rules(tracker: Tracker, event: RulesSet, version: int) -> None:
    tracker.rules.append((version, event))


def _take_measured(tracker: Tracker, event: IterationMeasured, version: int) -> None:
    # Imported here: exact numbers would cost every recording command their import.
    from .metrics import figures, not_verified
    from .score import score

    if not 0 < event.number <= NUMBER_MAX or tracker.entry(event.number):
        return
    tracker.last, tracker.highest = event, max(tracker.highest, event.number)
    base = tracker.baseline_at(version)
    base_figures = figures(base.metrics) if base else None
    weights = tracker.rules_at(version).weights
    now = figures(event.metrics)
    found = score(now, base_figures, weights, event.score)
    best = tracker.best
    lacks_some = best is not None and not found.components.issuperset(best.components)
    is_incomplete = lacks_some and not found.is_given
    built_on = event.previous
    if built_on is not None and not 0 <= built_on <= NUMBER_MAX:
        built_on = None
    is_verified = not_verified(now) is None
    tracker.keep(
        TrackedIteration(
            event.number, version, built_on, is_incomplete, is_verified, _hundredths(found)
        )
    )
    if found.value is not None and not is_incomplete and _replaces(found, best):
        components = tuple(sorted(found.components))
        tracker.best = Best(
            event.number, str(found.value), components, found.is_given, version
        )


def _hundredths(found: "Score") -> int | None:
    """Return a score as it is kept."""
    from .exact import rounded

    if found.value is None:
        return None
    whole = int(rounded(found.value, 2) * 100)
    return whole if abs(whole) < -UNKEPT else UNKEPT


def _replaces(found: "Score", best: Best | None) -> bool:
    """Tell whether a score that lacks nothing is better than the best one.

    They are compared on what the best one was made from; of equals the one that has more
    goes first, else the earlier one stays. The tracker starts at a score of 0.
    """
    if best is None or best.is_given or found.is_given:
        return (found.value or 0) > (best.value if best else 0)
    mine = found.on(best.components)
    if mine is None or mine == best.value:
        return len(found.components) > len(best.components)
    return mine > best.value


def _take_failed(tracker: Tracker, event: MeasurementFailed, version: int) -> None:
    tracker.failed = without_output(event)


def without_output(event: MeasurementFailed) -> MeasurementFailed:
    """Return a failed measurement as the tracker keeps it: without what was printed."""
    return msgspec.structs.replace(event, output="")


def _take_recommended(tracker: Tracker, event: RecommendationGiven, version: int) -> None:
    tracker.recommended = event


def _take_selected(tracker: Tracker, event: BestSelected, version: int) -> None:
    tracker.selected, tracker.selected_at, tracker.applied = event, version, []


def _take_applied(tracker: Tracker, event: ArtifactsApplied, version: int) -> None:
    tracker.applied.append(event)


TAKE = takers_in(globals(), Tracker)
"""How each event changes the tracker."""
