"""The runner of projections: each continues from its saved position, or starts again."""

from pathlib import Path

import sprintlog
from sprintlog.engine.log.event import Kind
from sprintlog.history import Happened, Mark, catch_up_sprint

from ..conftest import Run
from .test_own_projections import in_force


class Work:
    """The effective versions of a sprint's work: a projection in memory."""

    name, stream = "work", "sprint/auth"

    def __init__(self) -> None:
        self.version = 1
        self.versions: set[int] = set()
        self.kept: Mark | None = None
        self.begun = self.seen = 0

    def mark(self) -> Mark | None:
        """Return the stored state."""
        return self.kept

    def begin(self) -> None:
        """Forget everything."""
        self.versions, self.begun = set(), self.begun + 1

    def evolve(self, one: Happened) -> None:
        """Process an event."""
        self.seen += 1
        if one.event.kind is Kind.EXECUTION:
            self.versions.add(one.recorded.version)
        self.versions -= {event.version for event in one.voided}
        self.versions |= {event.version for event in one.restored}

    def keep(self, mark: Mark) -> None:
        """Store the position."""
        self.kept = mark

    def catch_up(self, folder: Path) -> bool:
        """Process the events since then."""
        with sprintlog.open(folder) as workspace:
            return catch_up_sprint(workspace, self)


def test_each_event_is_taken_in_once(sprint: Path, done: Run) -> None:
    """The runner continues after the saved position; without new events it is idle."""
    mine = Work()
    assert mine.catch_up(sprint)
    assert not mine.catch_up(sprint)
    done("phase", "start")
    assert mine.catch_up(sprint)
    assert (mine.seen, mine.begun) == (3, 1)
    assert mine.kept is not None
    assert mine.kept.place == 3


def test_it_learns_what_a_rollback_voided(sprint: Path, done: Run) -> None:
    """After a rollback, and after its undo, it has the same as the read model."""
    mine = Work()
    for step in (("phase", "start"), ("rollback", "version:2"), ("undo",)):
        done(*step)
        mine.catch_up(sprint)
        assert mine.versions == in_force(done), step


def test_other_rules_begin_anew(sprint: Path) -> None:
    """A projection with another version is computed from the first event."""
    mine = Work()
    mine.catch_up(sprint)
    mine.version = 2
    assert mine.catch_up(sprint)
    assert (mine.seen, mine.begun) == (4, 2)


def test_a_place_of_another_log_begins_anew(sprint: Path) -> None:
    """If the log has a different event at its position, or none, its state is discarded."""
    for place, hash_ in ((2, bytes(32)), (9, bytes(32)), (0, bytes(32))):
        mine = Work()
        mine.kept = Mark(1, place, hash_)
        assert mine.catch_up(sprint)
        assert (mine.seen, mine.begun) == (2, 1), place
