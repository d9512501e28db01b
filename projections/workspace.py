"""The workspace: act (read, decide, append), read as of any point, refresh state files.

This is the library's door: `from sprintlog.projections import Workspace`.
"""

import time
from collections.abc import Callable, Iterator
from os import urandom
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from sprintlog.engine.errors import (
    BusyError,
    ConflictError,
)
from sprintlog.engine.log.append import check_expected, check_key
from sprintlog.engine.log.envelope import Draft, Head, Recorded
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.port import Clock, Entropy, Expected
from sprintlog.engine.log.stores.sqlite import SqliteLog
from sprintlog.engine.sprint.facts import EditObserved, RolledBack
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.queue_facts import RequestReturned
from sprintlog.engine.sprint.queue_returns import with_returns
from sprintlog.engine.sprint.state import Sprint
from sprintlog.engine.sprint.times import normalise

from . import location as locations
from .catalogue import CODEC, draft, masked, sprint_stream
from .refreshing import Refreshed, Refresher
from .taking_over import is_start, take_over_all
from .workspace_reading import WorkspaceReading

if TYPE_CHECKING:
    # Only whoever asks for the past pays for these: no recording command does.
    from .blame import Blame
    from .blame_lines import Line
    from .differences import Difference
    from .timeline import Step

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


class Workspace(WorkspaceReading):
    """One log, the work tree it belongs to, and everything one does with them."""

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
        check_head: bool = True,
    ) -> Self:
        """Open the nearest log upwards; raise `NotFoundError` when there is none.

        `check_head=False` opens one whose end is lost, to look into the damage.
        """
        location = locations.find(start, folder=folder)
        log = SqliteLog.open(
            location.database, clock=clock, entropy=entropy, check_head=check_head
        )
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
        masks: bool = True,
    ) -> Outcome:
        """Read the sprint, decide, append; decide anew when somebody else was first.

        With `expect` the caller decides on what it knows: a sprint that is elsewhere is
        a `ConflictError`. A key seen before answers with the first result. Tokens in
        free texts are masked unless `masks` is off; whole documents never are. What the
        facts bring back of the operator queue is appended with them.
        """
        moment = self.now() if at is None else normalise(at)
        stream = sprint_stream(sprint_id)
        for _ in range(TRIES_MAX):
            if key is not None and (first := self._first_answer(key, key_digest)):
                return Outcome(self.sprint(sprint_id), first, duplicate=True)
            sprint = self.sprint(sprint_id)
            if expect is not None:
                check_expected(stream, expect=expect, actual=sprint.version)
            facts = with_returns(sprint, decide(sprint, moment), at=moment)
            if not facts:
                return Outcome(sprint, [])
            if is_start(facts):
                taken = take_over_all(self, sprint_id, at=moment, actor=actor)
                if taken and isinstance(expect, int):
                    expect += taken
                if taken:
                    continue
            for fact in facts:
                self.check_place(sprint_id, getattr(fact, "place", None))
            drafts = [
                draft(
                    masked(fact) if masks else fact,
                    at=moment,
                    actor=actor,
                    observed=observed and not isinstance(fact, RequestReturned),
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

    def back_up(self, target: Path) -> Head:
        """Copy the log into one file and read the copy back whole; return its head.

        Raise `RefusedError` over an existing file.
        """
        # Imported here: no recording command needs it.
        from sprintlog.engine.log.stores.backup import back_up

        return back_up(self.log, target, clock=self.clock, entropy=urandom)

    def refresh(self, sprint_id: str) -> Refreshed:
        """Bring a sprint's state file up to date, and keep what somebody else put there."""
        return Refresher(self).refresh(sprint_id)

    def diff(
        self,
        old: str,
        new: str | None = None,
        *,
        sprint_id: str | None = None,
        file: str = "progress",
    ) -> "Difference":
        """Return a state file at two points, the second one as it is now.

        A point is any of `as_of.FORMS`, or `SPRINT@POINT`; without a sprint it is one of
        the only unfinished one.
        """
        from .differences import difference

        return difference(self, old, new, sprint_id=sprint_id, file=file)

    def blame(self, sprint_id: str, *fields: str, at: str | None = None) -> list["Blame"]:
        """Return who set each of some fields of a sprint's PROGRESS.yaml, and why.

        Raise `InvalidInputError` for what names no field, `NotFoundError` for a field that
        was never there.
        """
        from .blame import blame

        return list(blame(self, sprint_id, fields, at=at))

    def blame_lines(self, sprint_id: str, *, at: str | None = None) -> list["Line"]:
        """Return every line of a sprint's PROGRESS.yaml with the event that set it."""
        from .blame_lines import blame_lines

        return list(blame_lines(self, self.sprint(sprint_id, at=at)))

    def replay(
        self, sprint_id: str, *, since: str | None = None, until: str | None = None
    ) -> Iterator["Step"]:
        """Yield a sprint's events with what each changed, after one point until another."""
        from .timeline import replay

        return replay(self, sprint_id, since=since, until=until)

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
