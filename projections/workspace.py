"""The workspace: act (read, decide, append), read as of any point, refresh state files.

This is the library's door: `from sprintlog.projections import Workspace`.
"""

import time
from collections.abc import Callable, Iterator
from os import urandom
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from sprintlog.engine.errors import (
    BusyError,
    ConflictError,
    NotFoundError,
    RefusedError,
)
from sprintlog.engine.log.append import check_expected, check_key
from sprintlog.engine.log.envelope import Draft, Recorded
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.port import Clock, Entropy, Expected
from sprintlog.engine.log.stores.sqlite import SqliteLog
from sprintlog.engine.sprint.facts import EditObserved, RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.state import Sprint
from sprintlog.engine.sprint.times import from_milliseconds, normalise
from sprintlog.engine.sprint.words import COMPLETED

from . import location as locations
from .as_of import parse_point, version_at
from .catalogue import CODEC, draft, sprint_of, sprint_stream
from .checkpoints import SqliteCheckpoints
from .files import StateFiles
from .location import Location
from .reading import Reader
from .refreshing import Refreshed, Refresher

TRIES_MAX = 1000
"""How often an action is decided anew because somebody else was first."""

Decide = Callable[[Sprint, str], list[Fact]]
"""A command with its arguments: from the sprint and the time to the facts."""


class Outcome(NamedTuple):
    """What an action did."""

    sprint: Sprint
    events: list[Recorded]
    """Empty when the same wish had been fulfilled before."""
    duplicate: bool = False
    """True when a key answered with what was recorded the first time."""


def wall_clock() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Workspace:
    """One log, the work tree it belongs to, and everything one does with them."""

    def __init__(self, location: Location, log: SqliteLog, *, clock: Clock) -> None:
        self.location = location
        self.log = log
        self.clock = clock
        self.checkpoints = SqliteCheckpoints(log)
        self.reader = Reader(log, self.checkpoints)
        self.files = StateFiles(location, log)
        self._sprints: dict[str, Sprint] = {}

    @classmethod
    def init(
        cls,
        start: Path,
        *,
        here: bool = False,
        folder: str | None = None,
        clock: Clock = wall_clock,
        entropy: Entropy = urandom,
    ) -> Self:
        """Make an empty log and open it; raise `RefusedError` over an existing one."""
        location = locations.place_for_new(start, here=here, folder=folder)
        locations.make_folder(location)
        log = SqliteLog.create(location.database, clock=clock, entropy=entropy)
        return cls(location, log, clock=clock)

    @classmethod
    def open(
        cls,
        start: Path,
        *,
        folder: str | None = None,
        clock: Clock = wall_clock,
        entropy: Entropy = urandom,
    ) -> Self:
        """Open the nearest log upwards; raise `NotFoundError` when there is none."""
        location = locations.find(start, folder=folder)
        log = SqliteLog.open(location.database, clock=clock, entropy=entropy)
        return cls(location, log, clock=clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back the log."""
        self.log.close()

    def now(self) -> str:
        """Return the clock's time as the log writes times."""
        return from_milliseconds(self.clock())

    # Reading

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

        Raise `NotFoundError` when there is none, `RefusedError` listing them when there
        are several.
        """
        if sprint_id is not None:
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
                hint="`sprintlog sprint create` or `sprintlog import progress` makes one",
            )
        names = unfinished or list(sprints)
        raise RefusedError(
            f"which sprint? {'unfinished' if unfinished else 'all are completed'}: "
            f"{', '.join(names[:20])}",
            hint="name it with --sprint or SPRINTLOG_SPRINT",
            allowed=names,
        )

    def sprint(self, sprint_id: str, *, at: str | None = None) -> Sprint:
        """Return a sprint as it is, or as it was at a point (see `as_of.FORMS`).

        The state belongs to the workspace: read it, do not change it.
        """
        stream = sprint_stream(sprint_id)
        known = self._sprints.pop(stream, None)
        head = self.reader.catch_up(known) if known else self.reader.at_head(sprint_id)
        self._sprints[stream] = head
        if at is None:
            return head
        if not head.exists:
            raise NotFoundError(f"there is no sprint {sprint_id}", sprint=sprint_id)
        point = parse_point(at, now=self.clock())
        version = version_at(self.log, stream, head, point)
        return self.reader.at_version(sprint_id, version)

    def version_at(self, sprint_id: str, at: str) -> int:
        """Return the version of a sprint's stream at a point."""
        point = parse_point(at, now=self.clock())
        return version_at(self.log, sprint_stream(sprint_id), self.sprint(sprint_id), point)

    def events(self, sprint_id: str | None = None) -> Iterator[Recorded]:
        """Yield the events of one sprint, or of the whole log."""
        if sprint_id is None:
            return self.log.read()
        return self.log.read_stream(sprint_stream(sprint_id))

    def is_inside_append(self, sprint_id: str, version: int) -> bool:
        """Tell whether facts of the same append follow this version."""
        stream = sprint_stream(sprint_id)
        found = self.log.read_stream(stream, after=version - 1, until=version)
        return any(event.remaining for event in found)

    # Acting

    def act(
        self,
        sprint_id: str,
        decide: Decide,
        *,
        actor: str = "runtime",
        at: str | None = None,
        key: str | None = None,
        key_digest: bytes | None = None,
        expect: Expected | None = None,
        correlation_id: str | None = None,
        causation_id: str | None = None,
        observed: bool = False,
    ) -> Outcome:
        """Read the sprint, decide, append; decide anew when somebody else was first.

        With `expect` the caller decides on what it knows: a sprint that is elsewhere is
        a `ConflictError`. A key seen before answers with the first result.
        """
        moment = self.now() if at is None else normalise(at)
        stream = sprint_stream(sprint_id)
        for _ in range(TRIES_MAX):
            if key is not None and (first := self._first_answer(key, key_digest)):
                return Outcome(self.sprint(sprint_id), first, duplicate=True)
            sprint = self.sprint(sprint_id)
            if expect is not None:
                check_expected(stream, expect=expect, actual=sprint.version)
            facts = decide(sprint, moment)
            if not facts:
                return Outcome(sprint, [])
            drafts = [
                draft(
                    fact,
                    at=moment,
                    actor=actor,
                    observed=observed,
                    correlation_id=correlation_id,
                    causation_id=causation_id,
                )
                for fact in facts
            ]
            try:
                return self._append(sprint, drafts, key=key, key_digest=key_digest)
            except ConflictError:
                if isinstance(expect, int):
                    raise
        raise BusyError(
            f"sprint {sprint_id} changed {TRIES_MAX} times while this was decided",
            hint="nothing was recorded; repeat the command",
        )

    def observe(self, sprint_id: str, fact: EditObserved, *, key: str) -> None:
        """Record an edit that somebody else made, once under this key."""
        digest = bytes.fromhex(fact.digest)
        self.act(sprint_id, lambda sprint, at: [fact], key=key, key_digest=digest)

    def refresh(self, sprint_id: str) -> Refreshed:
        """Bring a sprint's state file up to date, and keep what somebody else put there."""
        return Refresher(self).refresh(sprint_id)

    def _append(
        self,
        sprint: Sprint,
        drafts: list[Draft],
        *,
        key: str | None,
        key_digest: bytes | None,
    ) -> Outcome:
        stream = sprint_stream(sprint.id)
        appended = self.log.append(
            stream, drafts, expect=sprint.version, key=key, key_digest=key_digest
        )
        if not appended.duplicate:
            self._take(stream, sprint, appended.events)
        return Outcome(self.sprint(sprint.id), appended.events, appended.duplicate)

    def _take(self, stream: str, sprint: Sprint, events: list[Recorded]) -> None:
        """Carry the state over events just appended, without reading them again."""
        if any(event.type == RolledBack.type for event in events):
            self._sprints.pop(stream, None)
            return
        facts = [(event.version, event.at, CODEC.decode(event)) for event in events]
        self._sprints[stream] = fold(sprint, facts)

    def _first_answer(self, key: str, key_digest: bytes | None) -> list[Recorded]:
        first = self.log.find_key(key)
        if first:
            check_key(first[0], key_digest)
        return first
