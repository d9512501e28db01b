"""Iterations without a measurement that counts, and why they have none."""

from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import NamedTuple

from ...judging.events import MeasurementFailed, MeasurementRetracted
from ...judging.tracker import BASELINE_NUMBER


class Failure(NamedTuple):
    """A measurement that failed, or was taken back."""

    version: int
    at: str
    event: MeasurementFailed | MeasurementRetracted

    @property
    def why(self) -> str:
        """Return why there is none that counts."""
        if isinstance(self.event, MeasurementFailed):
            return self.event.error
        return f"its measurement was retracted: {self.event.reason}"


def failures(
    failed: Iterable[tuple[int, str, MeasurementFailed]],
    retracted: Iterable[tuple[int, str, MeasurementRetracted]],
    measured: Collection[int],
) -> dict[int, Failure]:
    """Return the last failure of each iteration that is not `measured`."""
    events = [*map(Failure._make, failed), *map(Failure._make, retracted)]
    return {
        one.event.number: one
        for one in sorted(events, key=attrgetter("version"))
        if one.event.number not in measured and one.event.number != BASELINE_NUMBER
    }
