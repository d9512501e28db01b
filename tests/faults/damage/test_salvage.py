"""The intact part of a damaged log is saved, and the damaged one is unchanged."""

import pytest

from .. import planted
from ..specimens import Specimen
from . import damaging, salvaging
from .salvaging import Tally

SECONDS = 300.0
EVENTS = 64
"""Of either specimen: sixty, and two to begin each sprint."""


def flip(specimen: Specimen, count: int, seed: int) -> Tally:
    """Salvage logs with one flipped bit each."""
    flips = damaging.flips(specimen, count, seed)
    files = salvaging.single_damages(specimen, flips)
    return salvaging.attempt(specimen, files, seconds=SECONDS)


@pytest.mark.long
def test_whatever_happens_a_beginning_is_saved(closed: Specimen, live: Specimen) -> None:
    """After any damage, the new log is a beginning of the old one, or does not exist."""
    for specimen in (closed, live):
        damaged = salvaging.random_damages(specimen, 100, 11)
        tally = salvaging.attempt(specimen, damaged, seconds=SECONDS)
        assert tally.problems == []
        assert 0 < tally.whole < tally.tried


@pytest.mark.long
def test_one_bit_costs_one_event(closed: Specimen, live: Specimen) -> None:
    """With one bit flipped, all events except one are saved or at least readable."""
    for specimen in (closed, live):
        tally = flip(specimen, 40, 12)
        assert tally.problems == []
        assert all(a.saved + a.kept >= EVENTS - 1 for a in tally.attempts)


def test_a_page_without_events_costs_nothing(closed: Specimen) -> None:
    """Header, schema, tree and indexes are not needed: SQLite opens none of these."""
    pages = [0, *(page - 1 for page in (*closed.indexes, *closed.caches, closed.events))]
    tally = salvaging.attempt(
        closed, salvaging.scribbles(closed, pages, 13), seconds=SECONDS
    )
    assert tally.problems == []
    assert tally.whole == tally.tried


@pytest.mark.long
def test_a_cut_costs_what_was_cut_off(closed: Specimen, live: Specimen) -> None:
    """If a file lost its end, the rest is saved at least as far as SQLite can read it."""
    for specimen in (closed, live):
        files = salvaging.single_damages(specimen, damaging.cuts(specimen, 10, 14)[1:])
        tally = salvaging.attempt(specimen, files, seconds=SECONDS)
        assert tally.problems == []
        assert tally.whole < tally.tried


@pytest.mark.long
def test_hashes_not_compared_are_found(
    closed: Specimen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test detects a salvage that accepts events with wrong hashes."""
    planted.believe_hashes(monkeypatch)
    assert flip(closed, 40, 15).problems != []


def test_a_changed_old_log_is_found(
    live: Specimen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test detects a salvage that lets SQLite recover the damaged log."""
    planted.open_the_damaged(monkeypatch)
    assert "the old log was changed" in flip(live, 2, 16).problems[0]
