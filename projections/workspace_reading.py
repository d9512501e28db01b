"""The half of the workspace that only reads: which sprints there are, and how they were."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.log.envelope import Recorded
from sprintlog.engine.log.port import Clock
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.sprint.events import Place
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.times import from_milliseconds
from sprintlog.engine.sprint.state.words import COMPLETED

from .as_of import parse_point, version_at
from .catalogue import SPRINTS, sprint_of, sprint_stream
from .checkpoints import SqliteCheckpoints
from .files import StateFiles
from .location import Location
from .reading import Reader

if TYPE_CHECKING:
    from sprintlog.engine.journal.document import Document
    from sprintlog.engine.journal.state.journal import Journal

JOURNAL = "journal"
"""The name of the journal's stream."""


class WorkspaceReading:
    """A log and the work tree it belongs to, for reading."""

    def __init__(self, location: Location, log: SqliteLog, *, clock: Clock) -> None:
        self.location = location
        self.log = log
        self.clock = clock
        self.checkpoints = SqliteCheckpoints(log, SPRINTS)
        self.reader = Reader(log, SPRINTS, self.checkpoints)
        self.files = StateFiles(location, log)
        self.stands_in: Path | None = None
        """The folder that the person or the program stands in, where that is known."""
        self.behind: set[str] = set()
        """The streams with events of ours that their state files do not say yet."""

    # The journal's modules are imported when they are needed: what is recorded of a
    # sprint does not wait for them.
    @cached_property
    def journals(self) -> "Reader[Journal]":
        """Return the reader of the journal's ids and counts."""
        from .journal_reading import read_journals

        return read_journals(self.log)

    @cached_property
    def documents(self) -> "Reader[Document]":
        """Return the reader of the journal's texts."""
        from .journal_reading import read_documents

        return read_documents(self.log)

    def now(self) -> str:
        """Return the clock's time as the log writes times."""
        return from_milliseconds(self.clock())

    def sprints(self) -> dict[str, int]:
        """Return the sprints of this log with their versions, in order of name."""
        return {
            sprint: version
            for stream, version in self.log.streams().items()
            if (sprint := sprint_of(stream)) is not None
        }

    def status_of(self, sprint_id: str, version: int) -> str:
        """Return a sprint's status at its head, from a cache where it is kept."""
        stream = sprint_stream(sprint_id)
        status = self.checkpoints.status(stream, version)
        if status is None:
            status = self.sprint(sprint_id).plan.status
            self.checkpoints.keep_status(stream, version, status)
        return status

    def choose(self, sprint_id: str | None) -> str:
        """Return the sprint a command means: the named one, else the only unfinished one.

        Of several the folder that one stands in chooses: the one whose file is there, or
        nearest above. Raise `NotFoundError` when there is none, `RefusedError` listing
        them when nothing chooses.
        """
        if sprint_id is not None:
            if not self.log.version(sprint_stream(sprint_id)):
                raise NotFoundError(
                    f"there is no sprint {sprint_id}",
                    hint="`sprintlog sprint list` lists them",
                    sprint=sprint_id,
                )
            return sprint_id
        sprints = self.sprints()
        if len(sprints) == 1:
            return next(iter(sprints))
        unfinished = [
            name
            for name, version in sprints.items()
            if self.status_of(name, version) != COMPLETED
        ]
        if len(unfinished) == 1:
            return unfinished[0]
        if not sprints:
            raise NotFoundError(
                "there is no sprint in this log yet",
                hint="`sprintlog compile`, `sprint create ID --plan FILE` or "
                "`import progress FILE` makes one",
            )
        names = unfinished or list(sprints)
        if len(nearest := self._nearest(names)) == 1:
            return nearest[0]
        raise RefusedError(
            f"which sprint? {'unfinished' if unfinished else 'all are completed'}: "
            f"{', '.join(names[:20])}",
            hint="name it with --sprint or SPRINTLOG_SPRINT, or go to its folder",
            allowed=names,
        )

    def sprint(self, sprint_id: str, *, at: str | None = None) -> Sprint:
        """Return a sprint as it is, or as it was at a point (see `as_of.FORMS`).

        The state belongs to the workspace: read it, do not change it.
        """
        head = self.reader.current(sprint_id)
        if at is None:
            return head
        if not head.exists:
            raise NotFoundError(f"there is no sprint {sprint_id}", sprint=sprint_id)
        return self.reader.at_version(sprint_id, self.version_at(sprint_id, at))

    def journal(self) -> "Journal":
        """Return the journal's ids and counts as they are; read them only."""
        return self.journals.current(JOURNAL)

    def document(self, *, at: str | None = None) -> "Document":
        """Return the journal with its texts, as it is or as it was at a point.

        Raise `NotFoundError` when nothing was recorded in it.
        """
        head = self.documents.current(JOURNAL)
        if not head.version:
            raise NotFoundError(
                "there is no journal in this log yet",
                hint="`sprintlog entry record PRD --status WORD` or "
                "`sprintlog import journal FILE` begins one",
            )
        if at is None:
            return head
        return self.documents.at_version(JOURNAL, self.journal_version_at(at))

    def journal_version_at(self, at: str) -> int:
        """Return the version of the journal's stream at a point."""
        point = parse_point(at, now=self.clock())
        return version_at(self.log, JOURNAL, self.journal(), point)

    def version_at(self, sprint_id: str, at: str) -> int:
        """Return the version of a sprint's stream at a point."""
        point = parse_point(at, now=self.clock())
        return version_at(self.log, sprint_stream(sprint_id), self.sprint(sprint_id), point)

    def moment(self, sprint: Sprint, at: str | None) -> str:
        """Return the time of a point: now, the one named, or that of its last event."""
        if at is None:
            return self.now()
        point = parse_point(at, now=self.clock())
        if point.time:
            return point.time
        stream, last = sprint_stream(sprint.id), sprint.version
        return next(self.log.read_stream(stream, after=last - 1, until=last)).at

    def moved_back(self, sprint: Sprint) -> str | None:
        """Return when a sprint was rolled back last, None when it never was."""
        if not sprint.record.rollbacks:
            return None
        stream, (last, _) = sprint_stream(sprint.id), sprint.record.rollbacks[-1]
        return next(self.log.read_stream(stream, after=last - 1, until=last)).at

    def standing(self, at: str | None) -> dict[str, Sprint]:
        """Return the sprints that there were at a point, as they were then."""
        found = {}
        for name in self.sprints():
            with suppress(NotFoundError):
                found[name] = self.sprint(name, at=at)
        return found

    def events(self, sprint_id: str | None = None) -> Iterator[Recorded]:
        """Yield the events of one sprint, or of the whole log."""
        if sprint_id is None:
            return self.log.read()
        return self.log.read_stream(sprint_stream(sprint_id))

    def holder(self, place: Place, *, besides: str = "") -> str | None:
        """Return the sprint whose file is at a place, `besides` one of them.

        One that is finished gives the place free for another; of several finished ones
        it is the one that was finished last.
        """
        there = [
            (sprint.plan.status != COMPLETED, str(sprint.plan.completed_at or ""), name)
            for name in self.sprints()
            if name != besides and (sprint := self.sprint(name)).plan.place == place
        ]
        return max(there)[2] if there else None

    def check_place(self, sprint_id: str, place: Place | None) -> None:
        """Raise `RefusedError` when an unfinished sprint writes its file at this place."""
        other = None if place is None else self.holder(place, besides=sprint_id)
        if place is None or other is None:
            return
        if self.sprint(other).plan.status != COMPLETED:
            own = "give this sprint a folder of its own with --sprint-dir"
            # One that was here before has its place: there is nothing to choose.
            free = f"`sprintlog sprint complete --sprint {other}` gives its place free"
            raise RefusedError(
                f"{place.path} is the file of sprint {other}, which is not finished",
                hint=free if sprint_id in self.sprints() else own,
                file=place.path,
                sprint=other,
            )

    def _nearest(self, names: list[str]) -> list[str]:
        """Return the sprints whose file is in the folder one stands in, or nearest above.

        One that is finished and whose place another one took is none of them.
        """
        if self.stands_in is None or not self.stands_in.is_relative_to(self.location.root):
            return []
        here = self.stands_in.relative_to(self.location.root).parts
        found: dict[int, list[str]] = {}
        for name in names:
            place = self.sprint(name).plan.place
            if place is None or place.worktree != self.location.worktree:
                continue
            folder = tuple(place.path.split("/")[:-1])
            if here[: len(folder)] == folder and self.holder(place) == name:
                found.setdefault(len(folder), []).append(name)
        return found[max(found)] if found else []

    def is_inside_append(self, sprint_id: str, version: int) -> bool:
        """Tell whether facts of the same append follow this version."""
        stream = sprint_stream(sprint_id)
        found = self.log.read_stream(stream, after=version - 1, until=version)
        return any(event.remaining for event in found)
