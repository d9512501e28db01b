"""Third-party projections see discarded events, and those restored by an undo."""

from pathlib import Path

import sprintlog
from sprintlog.engine.log.event import Kind
from sprintlog.history import happened

from ..conftest import Run


class InForce:
    """The effective versions of a sprint's work, kept up to date."""

    def __init__(self) -> None:
        self.versions: set[int] = set()
        self.seen = 0

    def catch_up(self, folder: Path) -> None:
        """Process the events since then."""
        with sprintlog.open(folder) as workspace:
            for one in happened(workspace, "auth", after=self.seen):
                if one.event.kind is Kind.EXECUTION:
                    self.versions.add(one.recorded.version)
                self.versions -= {event.version for event in one.voided}
                self.versions |= {event.version for event in one.restored}
                self.seen = one.recorded.version


def in_force(done: Run) -> set[int]:
    """Return the effective versions according to the tables."""
    known = "('note-added', 'rolled-back')"
    sql = f"SELECT version FROM v_events WHERE in_force AND type NOT IN {known}"
    return {row["version"] for row in done("query", sql, "--json").lines}


def test_a_projection_follows_rollbacks_and_their_undoing(sprint: Path, done: Run) -> None:
    """At every step, its effective events are those of the read model."""
    mine = InForce()
    steps: list[tuple[str, ...]] = [
        ("phase", "start", "--actor", "agent:coder"),
        ("note", "stays"),
        ("phase", "complete", "--summary", "first"),
        ("rollback", "version:3"),
        ("phase", "complete", "--summary", "again"),
        ("rollback", "version:2"),
        ("undo",),
        ("undo",),
    ]
    for step in steps:
        done(*step)
        mine.catch_up(sprint)
        assert mine.versions == in_force(done), step
    late = InForce()
    late.catch_up(sprint)
    assert late.versions == mine.versions


def test_what_was_learned_is_never_voided(sprint: Path, done: Run) -> None:
    """A rollback names the discarded work in order, and no note."""
    done("phase", "start")
    done("note", "stays")
    done("phase", "complete", "--summary", "first")
    done("rollback", "version:2")
    with sprintlog.open(sprint) as workspace:
        *_, last = happened(workspace, "auth")
    assert [event.type for event in last.voided] == ["phase-started", "phase-completed"]
    assert last.restored == ()
