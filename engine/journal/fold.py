"""The fold of a journal, which applies events in order to the state for the rules.

The fold never raises an error because of an event's content: the event has already
happened.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ..log.event import Takers, Versioned
from . import events as f
from .state import Journal, iteration_reached, number_of


def fold_by(
    evolve: Takers,
    state: Any,
    events: Iterable[Versioned],
    live: Sequence[tuple[int, int]] | None = None,
) -> Any:
    """Apply the events that follow a state's version, and return the changed state.

    The state is changed in place. `evolve` contains the handlers. A journal has no
    rollbacks, so `live` always covers all events.
    """
    for version, _, event in events:
        if (handler := evolve.get(type(event))) is not None:
            handler(state, event)
        state.version = version
    return state


def _opened(journal: Journal, event: f.JournalOpened) -> None:
    journal.created_at = event.created_at
    journal.project_name = event.project_name
    journal.schema = event.version
    journal.worktree, journal.place = event.worktree, event.place


def _moved(journal: Journal, event: f.JournalMoved) -> None:
    journal.worktree, journal.place = event.worktree, event.place


def _raised(journal: Journal, event: f.JournalRaised) -> None:
    journal.schema = event.version


def _corrected(journal: Journal, event: f.JournalCorrected) -> None:
    for entry in event.entries:
        journal.entries[entry.id] = len(entry.observations)
        linked = [n for n, o in enumerate(entry.observations, 1) if o.related_learning_id]
        journal.linked[entry.id] = linked
    for learning in event.learnings:
        journal.learnings[learning.id] = learning.still_valid


def _recorded(journal: Journal, event: f.EntryRecorded) -> None:
    entry = event.entry
    journal.attempts[entry.prd_id] = journal.attempts.get(entry.prd_id, 0) + 1
    reached = iteration_reached(entry.id, entry.prd_id, entry.iteration)
    journal.iterations[entry.prd_id] = max(journal.iterations.get(entry.prd_id, 0), reached)
    # If another tool used an id twice, the id refers to the first entry.
    if entry.id in journal.entries:
        return
    journal.entries[entry.id] = len(entry.observations)
    linked = [n for n, o in enumerate(entry.observations, 1) if o.related_learning_id]
    if linked:
        journal.linked[entry.id] = linked


def _added(journal: Journal, event: f.LearningAdded) -> None:
    learning = event.learning
    journal.learnings.setdefault(learning.id, learning.still_valid)
    journal.learning_max = max(journal.learning_max, number_of(learning.id))
    if event.observation:
        journal.linked.setdefault(learning.source_entry_id, []).append(event.observation)


def _retired(journal: Journal, event: f.LearningRetired) -> None:
    journal.learnings[event.learning_id] = False


def _discovered(journal: Journal, event: f.PatternDiscovered) -> None:
    journal.pattern_max = max(journal.pattern_max, number_of(event.pattern.id))


EVOLVE: Takers = {
    f.JournalOpened: _opened,
    f.JournalMoved: _moved,
    f.JournalRaised: _raised,
    f.JournalCorrected: _corrected,
    f.EntryRecorded: _recorded,
    f.LearningAdded: _added,
    f.LearningRetired: _retired,
    f.PatternDiscovered: _discovered,
}
"""The handlers that apply events to the journal; references change nothing here."""
fold = partial(fold_by, EVOLVE)
"""The fold of the state for the rules."""
