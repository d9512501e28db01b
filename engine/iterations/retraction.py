"""What follows from taking a measurement back: the others are judged anew without it."""

from collections.abc import Callable

from msgspec.structs import asdict

from .events import BestAnew, MeasurementRetracted
from .score import Score
from .tracker import Best, TrackedIteration, Tracker, after


def retraction(
    tracker: Tracker,
    number: int,
    reason: str,
    score_of: Callable[[TrackedIteration], Score],
) -> MeasurementRetracted:
    """Return the event that takes a measurement back.

    The best is the one that it would be if the iteration had never been measured: each
    other one is weighed by its score as it was, in the order of the events.
    """
    best: Best | None = None
    complete: list[int] = []
    incomplete: list[int] = []
    for entry in tracker.measured:
        if entry.number == number:
            continue
        found = score_of(entry)
        lacks_some, best = after(best, entry.number, found, entry.version)
        if lacks_some != entry.is_incomplete:
            (incomplete if lacks_some else complete).append(entry.number)
    return MeasurementRetracted(
        number,
        reason,
        None if best is None else BestAnew(**asdict(best)),
        tuple(complete),
        tuple(incomplete),
    )
