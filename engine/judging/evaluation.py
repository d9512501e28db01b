"""The evaluation of a measured iteration: its score, class, alerts and repeated results.

An iteration is judged along the chain of iterations that it was built on, so later events
do not affect its judgement. A retraction evaluates the other iterations as if the retracted
measurement had never existed.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec.structs import asdict

from ..errors import NotFoundError
from ..log.event import Event
from . import changes, events
from .best import after
from .changes import Alert, Deltas, alerts
from .metrics import Figures, figures, weighed
from .score import Score
from .tracker import BASELINE_NUMBER, Best, TrackedIteration, Tracker

WINDOW = 5
"""The number of iterations that are compared."""
MESSAGE = "Infinite loop detected: metrics cycling"
REPORTED = "reported by the agent"
ALTERED = "measured while its tests changed"


class Loop(NamedTuple):
    """A repetition among the latest iterations."""

    is_infinite: bool
    """Whether the repetition is certainly an infinite loop; otherwise it is a pattern."""
    why: str


class Signature(NamedTuple):
    """The results by which iterations are compared to detect repetitions."""

    parts: tuple[int | Fraction | None, ...]
    """The tests, pass rate, coverage and errors; None for each unknown value."""
    tree: str | None = None
    """The digest of the measured work tree, if known."""
    own: tuple[tuple[str, Fraction | None], ...] = ()
    """The names and values of the custom metrics that have a weight."""

    def is_like(self, other: "Signature | None", *, surely: bool) -> bool:
        """Return whether another iteration has the same results.

        If a metric is unknown, the files must also be equal. If their digests are unknown
        too, the answer is uncertain, so it is false if `surely` is true.
        """
        if other is None or (self.parts, self.own) != (other.parts, other.own):
            return False
        if None not in self.parts:
            return True
        if self.tree is None or other.tree is None:
            return not surely
        return self.tree == other.tree


def signature(
    now: Figures, tree: str | None = None, own: Sequence[events.OwnMetric] = ()
) -> Signature | None:
    """Return the signature of a measured iteration; None if none of its values is known."""
    parts = (now.test_count, now.pass_rate, now.coverage, now.error_count)
    values = tuple((one.name, now.own.get(one.name)) for one in weighed(own))
    found = (*parts, tree, *(value for _, value in values))
    is_known = any(part is not None for part in found)
    return Signature(parts, tree, values) if is_known else None


def find_loop(
    number: int, signatures: Sequence[Signature | None], *, after: int
) -> Loop | None:
    """Return the repetition among the last five iterations; the newest signature is last.

    After iteration `after`, any repeated result with a different result in between is an
    infinite loop. Up to that iteration, only A-B-A-B and five equal results form a pattern.
    An uncertain repetition is always reported as a pattern.
    """
    window = list(signatures[-WINDOW:])
    is_late = number > after
    for surely in (True, False):
        if why := _repeat(window, is_late=is_late, surely=surely):
            unsure = "" if surely else ", as far as was measured"
            return Loop(is_late and surely, f"{why}{unsure}")
    return None


def _repeat(
    window: Sequence[Signature | None], *, is_late: bool, surely: bool
) -> str | None:
    """Return a description of how the newest signature is repeated, or None."""
    newest = window[-1] if window else None
    if newest is None:
        return None
    alike = [newest.is_like(one, surely=surely) for one in window]
    if len(window) == WINDOW and all(alike):
        return f"the last {WINDOW} iterations are the same"
    if is_late and True in alike[:-1]:
        back = len(window) - 1 - alike.index(True)
        left = [one for one in window[-back:] if not newest.is_like(one, surely=False)]
        if any(one is not None for one in left):
            return f"the last one is like the one {back} before it"
    if not is_late and len(window) >= 4:
        a, b, c, d = window[-4:]
        if a is None or b is None or a.is_like(b, surely=False):
            return None
        if a.is_like(c, surely=surely) and b.is_like(d, surely=surely):
            return "the last 4 iterations go to and fro"
    return None


Fetch = Callable[[int], tuple[str, Event]]
"""A function that returns the time and the event at a version."""


class Judgement(NamedTuple):
    """The results derived from an iteration's measurement."""

    number: int
    version: int
    at: str
    metrics: events.Metrics
    figures: Figures
    score: Score
    classification: str | None
    """The class of the change; None if there is no earlier measurement."""
    reasons: tuple[str, ...]
    """The reasons for the class."""
    alerts: tuple[Alert, ...] = ()
    previous: int | None = None
    from_previous: Deltas | None = None
    from_baseline: Deltas | None = None
    is_incomplete: bool = False
    loop: Loop | None = None
    unfit: str | None = None
    """Why the iteration is never the best, selected or rolled back to."""


class BestScored(NamedTuple):
    """The best iteration, for comparison with other iterations."""

    number: int
    score: Score


Scored = Judgement | BestScored
"""An iteration with at least a number and a score."""


class _Measured(NamedTuple):
    """A measurement, and the figures and the score that depend only on it."""

    entry: TrackedIteration
    at: str
    metrics: events.Metrics
    figures: Figures
    score: Score
    tree: str | None
    changed: str | None = None
    """How the iteration changed its measure."""

    def judged(self, **more: Any) -> Judgement:
        """Return the judgement of this measurement, with the given fields added."""
        entry, known = self.entry, (self.at, self.metrics, self.figures, self.score)
        unfit = REPORTED if entry.is_reported else self.changed
        unfit = unfit or (ALTERED if entry.is_altered else None)
        return Judgement(entry.number, entry.version, *known, **more, unfit=unfit)


_Link = tuple[Deltas | None, tuple[Alert, ...], str | None, tuple[str, ...]]


class Judge:
    """Judges the iterations of a loop; each is read and scored only once."""

    def __init__(self, tracker: Tracker, fetch: Fetch) -> None:
        self._tracker = tracker
        self._fetch = fetch
        self._known: dict[int, _Measured] = {}
        self._entries: dict[int, TrackedIteration] = {}
        self._links: dict[tuple[int, int], _Link] = {}
        """The links of chains, which several iterations share, by two versions."""

    def all(self) -> list[Judgement]:
        """Return the judgements of all measured iterations, sorted by number."""
        return [*self.some(sorted(entry.number for entry in self._tracker.measured))]

    def some(self, numbers: Iterable[int]) -> Iterator[Judgement]:
        """Yield the judgements of many iterations, using a lookup table by number."""
        self._entries = {entry.number: entry for entry in self._tracker.measured}
        return map(self.judge, numbers)

    def baseline(self) -> Judgement | None:
        """Return the baseline's judgement; None if no baseline was measured."""
        if self._tracker.baseline is None:
            return None
        return self._measured(BASELINE_NUMBER).judged(
            classification=changes.BASELINE, reasons=("before any change",)
        )

    def score_of(self, entry: TrackedIteration) -> Score:
        """Return the score of a measured iteration."""
        return self._of_entry(entry).score

    def best(self) -> BestScored | None:
        """Return the best iteration and the score from its event, or None."""
        if (best := self._tracker.best) is None:
            return None
        entry = TrackedIteration(best.number, best.version, None, is_incomplete=False)
        return BestScored(best.number, self._of_entry(entry).score)

    def judge(self, number: int) -> Judgement:
        """Return an iteration's judgement; raise `NotFoundError` if it was not measured."""
        if number == BASELINE_NUMBER and (found := self.baseline()):
            return found
        chain = self._chain(number)
        now = chain[0]
        rules = self._tracker.rules_at(now.entry.version)
        limits = rules.thresholds
        change, found_alerts, word, reasons = self._compare(chain, 0)
        why = changes.stalled(
            [self._compare(chain, back)[2] for back in range(changes.STALL_LENGTH)][::-1],
            [one.score.value for one in chain[: changes.STALL_LENGTH]][::-1],
            limits,
        )
        # The baseline is not an iteration of the loop.
        turns = [one for one in chain if one.entry.number != BASELINE_NUMBER]
        last = (signature(x.figures, x.tree, rules.metrics) for x in turns[:WINDOW])
        loop = find_loop(number, [*last][::-1], after=limits.loop_after)
        base = self._tracker.baseline_at(now.entry.version)
        return now.judged(
            classification=changes.STALLED if why else word,
            reasons=(*reasons, why) if why else reasons,
            alerts=found_alerts,
            previous=self._tracker.built_on(now.entry.previous),
            from_previous=change,
            from_baseline=changes.deltas(now.figures, figures(base)) if base else None,
            is_incomplete=now.entry.is_incomplete,
            loop=loop,
        )

    def _compare(self, chain: list[_Measured], back: int) -> _Link:
        """Return the deltas, alerts, class and reasons for one link of a chain."""
        if back + 1 >= len(chain):
            return None, (), None, ("nothing before it was measured",)
        now, then = chain[back], chain[back + 1]
        between = now.entry.version, then.entry.version
        if (known := self._links.get(between)) is not None:
            return known
        rules = self._tracker.rules_at(now.entry.version)
        change = changes.deltas(now.figures, then.figures)
        found = alerts(
            now.entry.number, now.figures, then.figures, change, rules.thresholds
        )
        made = change, found, *changes.classify(change, found, rules.metrics)
        self._links[between] = made
        return made

    def _chain(self, number: int) -> list[_Measured]:
        """Return an iteration and the iterations it was built on, as far as necessary."""
        chain = [self._measured(number)]
        while len(chain) < max(WINDOW, changes.STALL_LENGTH + 1):
            previous = self._tracker.built_on(chain[-1].entry.previous)
            if previous is None or self._entry(previous) is None:
                break
            chain.append(self._measured(previous))
            if chain[-1].entry.number == BASELINE_NUMBER:
                break
        return chain

    def _entry(self, number: int) -> TrackedIteration | None:
        if number == BASELINE_NUMBER and self._tracker.baseline is not None:
            is_reported = self._tracker.known_baseline is None
            at = self._tracker.baseline_version
            return TrackedIteration(number, at, None, False, is_reported=is_reported)
        return self._entries.get(number) or self._tracker.entry(number)

    def _measured(self, number: int) -> _Measured:
        if (entry := self._entry(number)) is None:
            raise NotFoundError(f"iteration {number} was not measured", iteration=number)
        # A repeated measurement has another version.
        if entry.version not in self._known:
            self._known[entry.version] = self._of_entry(entry)
        return self._known[entry.version]

    def _of_entry(self, entry: TrackedIteration) -> _Measured:
        at, event = self._fetch(entry.version)
        assert isinstance(event, events.BaselineCaptured | events.IterationMeasured)
        given, tree = None, None
        if isinstance(event, events.IterationMeasured):
            given, tree = event.score, event.tree
        now, score = self._tracker.scored(event.metrics, entry.version, given)
        changed = self._tracker.changed.get(entry.number)
        how = None if changed is None else f"measured with changes to {changed.words}"
        return _Measured(entry, at, event.metrics, now, score, tree, how)


ScoreOf = Callable[[TrackedIteration], Score]


def retraction(
    tracker: Tracker, number: int, reason: str, score_of: ScoreOf
) -> events.MeasurementRetracted:
    """Return the event that retracts a measurement."""
    anew = _judged_anew(tracker, score_of, without=number, marked=tracker.changed)
    return events.MeasurementRetracted(number, reason, *anew)


def acceptance(
    tracker: Tracker, number: int, reason: str, score_of: ScoreOf
) -> events.InstrumentsAccepted:
    """Return the event that accepts the tests and the measure of an iteration."""
    own = tracker.changed.get(number)
    digest = None if own is None else own.instruments
    marked = {n for n, one in tracker.changed.items() if one.instruments != digest}
    anew = _judged_anew(tracker, score_of, without=None, marked=marked)
    return events.InstrumentsAccepted(number, reason, digest, *anew)


def _judged_anew(
    tracker: Tracker, score_of: ScoreOf, *, without: int | None, marked: Container[int]
) -> tuple[events.BestAnew | None, tuple[int, ...], tuple[int, ...]]:
    """Return the best iteration, and the iterations that become complete or incomplete.

    The best iteration is determined as if the iteration `without` had never been measured:
    the other iterations, except the marked ones, are compared by their unchanged scores, in
    event order.
    """
    best: Best | None = None
    complete: list[int] = []
    incomplete: list[int] = []
    for entry in tracker.measured:
        if entry.number == without:
            continue
        lacks_some, better = after(best, entry.number, score_of(entry), entry.version)
        is_unfit = entry.number in marked or entry.is_reported or entry.is_altered
        best = best if is_unfit else better
        if lacks_some != entry.is_incomplete:
            (incomplete if lacks_some else complete).append(entry.number)
    anew = None if best is None else events.BestAnew(**asdict(best))
    return anew, tuple(complete), tuple(incomplete)
