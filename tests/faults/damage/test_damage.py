"""Damage to the log's files is detected, and never causes a crash."""

import pytest

from .. import planted
from ..specimens import Specimen
from . import damaging
from .damaging import examine

SECONDS = 120.0


@pytest.mark.long
def test_every_effective_flip_is_found(closed: Specimen, live: Specimen) -> None:
    """Of single flipped bits each that changes readable data is reported."""
    for specimen in (closed, live):
        counts = examine(specimen, damaging.flips(specimen, 100, 1), seconds=SECONDS)
        assert counts.problems == []
        assert counts.by_effect[damaging.EVENTS] > 0


@pytest.mark.long
def test_every_flip_in_an_index_is_found(closed: Specimen) -> None:
    """An index that differs from the table would hide or duplicate events."""
    flips = damaging.index_flips(closed, 40, 2)
    counts = examine(closed, flips, seconds=SECONDS)
    assert counts.problems == []
    assert counts.effective > 0


@pytest.mark.long
def test_every_cache_that_misleads_is_told(closed: Specimen, live: Specimen) -> None:
    """Damaged saved states and digests are reported if they would change an answer."""
    for specimen, flips in (
        (closed, damaging.cache_flips(closed, 60, 6)),
        (live, damaging.flips(live, 60, 6)),
    ):
        counts = examine(specimen, flips, seconds=SECONDS)
        assert counts.problems == []
        assert counts.by_effect[damaging.ANSWER] > 0


def test_garbled_schema_is_refused(closed: Specimen) -> None:
    """Tables whose definitions are not valid text are refused with a clear message."""
    counts = examine(closed, damaging.schema_flips(closed), seconds=SECONDS)
    assert counts.problems == []


@pytest.mark.long
def test_every_cut_is_found(closed: Specimen, live: Specimen) -> None:
    """A database or write-ahead log that was truncated is detected."""
    for specimen in (closed, live):
        counts = examine(specimen, damaging.cuts(specimen, 10, 3), seconds=SECONDS)
        assert counts.problems == []
        assert counts.effective > 0


def test_log_of_yesterday_is_found(closed: Specimen, live: Specimen) -> None:
    """A restored older copy is detected by the head file next to the log."""
    for specimen in (closed, live):
        counts = examine(specimen, damaging.yesterdays(specimen), seconds=SECONDS)
        assert counts.problems == []
        assert counts.effective >= len(specimen.yesterdays)


def test_damaged_head_file_is_no_false_alarm(closed: Specimen) -> None:
    """A damaged head file is ignored: the log is read without it."""
    flips = damaging.head_flips(closed)[::8]
    counts = examine(closed, flips, seconds=SECONDS)
    assert counts.problems == []
    assert counts.found == {damaging.HARMLESS: 0}


@pytest.mark.long
def test_heads_not_compared_are_found(
    live: Specimen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tail cutter detects a `verify` that does not read the head file."""
    planted.ignore_heads(monkeypatch)
    places = damaging.cuts(live, 0, 4) + damaging.yesterdays(live)
    counts = examine(live, places, seconds=SECONDS)
    assert counts.effective_found < counts.effective


@pytest.mark.long
def test_payloads_not_hashed_are_found(
    closed: Specimen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bit flipper detects a `verify` whose chain omits the payloads."""
    planted.ignore_payloads(monkeypatch)
    counts = examine(closed, damaging.flips(closed, 100, 5), seconds=SECONDS)
    assert counts.effective_found < counts.effective
