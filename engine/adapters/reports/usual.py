"""Finds the reports that a measure wrote to their usual places, if none was named."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from ...errors import NotFoundError, SprintlogError
from . import measurement
from .formats import TABLE
from .report import Report

_PLACES = tuple(dict.fromkeys(at for one in TABLE.values() for at in one.places.split()))
_WRITTEN = "written by the measure"


def usual_stamps(root: Path) -> dict[Path, measurement.Stamp]:
    """Return the stamps of the reports at the usual places, before a measure runs."""
    return measurement.stamps(report for place in _PLACES for report in _at(place, root))


def read_usual(
    root: Path, before: Mapping[Path, measurement.Stamp], see: Callable[[Report], None]
) -> measurement.Measured:
    """Return the figures of the reports that a measure wrote to the usual places.

    Reports that state the same figure are not read. The notes name each report that the
    measure wrote, and whether it was read; `see` gets those that were.
    """
    found: dict[str, tuple[measurement.Measured, list[Report]]] = {}
    notes: list[str] = []
    for place in _PLACES:
        reports = _at(place, root)
        after = measurement.stamps(reports)
        fresh = [one for one in reports if after.get(one.path) != before.get(one.path)]
        seen: list[Report] = []
        try:
            measured = measurement.read_reports(fresh, folder=root, see=seen.append)
        except SprintlogError as error:
            notes.append(f"{place} is {_WRITTEN} and not read: {error.message}")
            continue
        if measured.metrics:
            found[place] = measured, seen
    read: list[measurement.Measured] = []
    for place, (measured, seen) in found.items():
        names = measured.metrics.keys()
        same = [at for at, (other, _) in found.items() if names & other.metrics.keys()]
        if len(same) > 1:
            notes.append(
                f"{' and '.join(same)} are {_WRITTEN} and not read, because they state the "
                "same figures: name one with --report"
            )
            continue
        for report in seen:
            see(report)
        notes.append(f"{place} is {_WRITTEN} and read as {measured.origins[0].format}")
        read.append(measured)
    together = measurement.merged(read)
    return together._replace(notes=(*dict.fromkeys(notes), *together.notes))


def _at(place: str, root: Path) -> list[measurement.WantedReport]:
    with suppress(NotFoundError):
        return measurement.wanted(place, folder=root)
    return []
