"""Fold: from facts in order to what the rules must know of a journal.

It never raises for what a fact says: the fact has happened.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..log.fact import Fact
from . import events as f
from .state.ids import iteration_reached, number_of
from .state.journal import Journal

Event = tuple[int, str, Fact]
"""Version, time it happened, and the fact."""


def fold(
    journal: Journal, events: Iterable[Event], live: Sequence[tuple[int, int]] | None = None
) -> Journal:
    """Return the journal, changed in place by events that follow its version.

    What was learned stays learned, so a journal has no rollbacks and `live` is everything.
    """
    for version, _, fact in events:
        evolve = EVOLVE.get(type(fact))
        if evolve is not None:
            evolve(journal, fact)
        journal.version = version
    return journal


def _opened(journal: Journal, fact: f.JournalOpened) -> None:
    journal.created_at = fact.created_at
    journal.project_name = fact.project_name
    journal.schema = fact.version
    journal.worktree, journal.place = fact.worktree, fact.place


def _moved(journal: Journal, fact: f.JournalMoved) -> None:
    journal.worktree, journal.place = fact.worktree, fact.place


def _raised(journal: Journal, fact: f.JournalRaised) -> None:
    journal.schema = fact.version


def _corrected(journal: Journal, fact: f.JournalCorrected) -> None:
    for entry in fact.entries:
        journal.entries[entry.id] = len(entry.observations)
        linked = [n for n, o in enumerate(entry.observations, 1) if o.related_learning_id]
        journal.linked[entry.id] = linked
    for learning in fact.learnings:
        journal.learnings[learning.id] = learning.still_valid


def _recorded(journal: Journal, fact: f.EntryRecorded) -> None:
    entry = fact.entry
    journal.attempts[entry.prd_id] = journal.attempts.get(entry.prd_id, 0) + 1
    reached = iteration_reached(entry.id, entry.prd_id, entry.iteration)
    before = journal.iterations.get(entry.prd_id, 0)
    journal.iterations[entry.prd_id] = max(before, reached)
    # Of an id that another tool gave twice, the first entry is the one that is meant.
    if entry.id in journal.entries:
        return
    journal.entries[entry.id] = len(entry.observations)
    linked = [n for n, o in enumerate(entry.observations, 1) if o.related_learning_id]
    if linked:
        journal.linked[entry.id] = linked


def _added(journal: Journal, fact: f.LearningAdded) -> None:
    learning = fact.learning
    journal.learnings.setdefault(learning.id, learning.still_valid)
    journal.learning_max = max(journal.learning_max, number_of(learning.id))
    if fact.observation:
        journal.linked.setdefault(learning.source_entry_id, []).append(fact.observation)


def _retired(journal: Journal, fact: f.LearningRetired) -> None:
    journal.learnings[fact.learning_id] = False


def _discovered(journal: Journal, fact: f.PatternDiscovered) -> None:
    journal.pattern_max = max(journal.pattern_max, number_of(fact.pattern.id))


EVOLVE: dict[type[Fact], Callable[[Journal, Any], None]] = {
    f.JournalOpened: _opened,
    f.JournalMoved: _moved,
    f.JournalCorrected: _corrected,
    f.JournalRaised: _raised,
    f.EntryRecorded: _recorded,
    f.LearningAdded: _added,
    f.LearningRetired: _retired,
    f.PatternDiscovered: _discovered,
}
"""How each fact changes the journal; a reference changes no rule."""
