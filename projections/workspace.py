"""The workspace: act (read, decide, append), read as of any point, refresh state files.

Whatever was recorded through it is in the state files once it is left, however it is left.

This is the library's door: `from sprintlog.projections import Workspace`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import urandom
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from msgspec.structs import replace

from sprintlog.engine.errors import (
    BusyError,
    ConflictError,
    RefusedError,
    SprintlogError,
)
from sprintlog.engine.log.append import check_expected, check_key
from sprintlog.engine.log.envelope import Head, Recorded
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.port import Clock, Entropy
from sprintlog.engine.log.stores.sqlite.store import WAIT, SqliteLog
from sprintlog.engine.log.stores.waiting import Wait
from sprintlog.engine.sprint.events import EditObserved, RequestReturned
from sprintlog.engine.sprint.queue.returns import with_returns
from sprintlog.engine.sprint.state.moments import check_moment
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.times import normalise

from . import location as locations
from .acting import Acted as Acted
from .acting import Decide as Decide
from .acting import DecideOnJournal as DecideOnJournal
from .acting import Envelope as Envelope
from .acting import MovedOnError
from .acting import Outcome as Outcome
from .catalogue import State, draft, masked, sprint_of, sprint_stream
from .reading import Reader
from .refreshing import Refreshed
from .sprint_file import ADOPT, REFUSE, policy_of, refuse_edit, sprint_files
from .taking_over import is_start, take_over_all
from .taking_place import take_place
from .trust import check_trusted
from .workspace_past import WorkspacePast
from .workspace_reading import JOURNAL

if TYPE_CHECKING:
    from sprintlog.engine.journal.state.journal import Journal

TRIES_MAX = 1000
"""How often an action is decided anew because somebody else was first."""


def wall_clock() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def refuse(problem: str) -> None:
    """Let nothing go on beside a problem: this is what is done where nobody is told."""
    raise RefusedError(problem)


class Workspace(WorkspacePast):
    """One log, the work tree it belongs to, and everything one does with them."""

    environment: Mapping[str, str] = MappingProxyType({})
    """Where git is, and what the person ignores everywhere; for snapshots."""
    journal_place: str | None = None
    """Where the file of a journal goes that begins; None for the usual place."""
    tell: Callable[[str], None] = staticmethod(refuse)
    """Hears of what stands in nobody's way, such as a restore that cannot be finished."""

    @classmethod
    def init(
        cls,
        start: Path,
        *,
        here: bool = False,
        folder: str | None = None,
        safe: Path | None = None,
        clock: Clock = wall_clock,
        entropy: Entropy = urandom,
        wait: Wait = WAIT,
    ) -> Self:
        """Make an empty log and open it; raise `RefusedError` over an existing one."""
        location = locations.place_for_new(start, here=here, folder=folder)
        check_trusted(location, safe=safe)
        locations.make_folder(location)
        log = SqliteLog.create(location.database, clock=clock, entropy=entropy, wait=wait)
        return cls(location, log, clock=clock)

    @classmethod
    def open(
        cls,
        start: Path,
        *,
        folder: str | None = None,
        safe: Path | None = None,
        clock: Clock = wall_clock,
        entropy: Entropy = urandom,
        check_head: bool = True,
        wait: Wait = WAIT,
    ) -> Self:
        """Open the nearest log upwards; raise `NotFoundError` when there is none.

        One that another user or a pull may have put there is refused, unless the file
        `safe` lists it. `check_head=False` opens one whose end is lost, to look into the
        damage. `wait` says how long others may hold the log, and who hears of it.
        """
        location = locations.find(start, folder=folder)
        check_trusted(location, safe=safe)
        log = SqliteLog.open(
            location.database,
            clock=clock, entropy=entropy, check_head=check_head, wait=wait,
        )  # fmt: skip
        workspace = cls(location, log, clock=clock)
        workspace.stands_in = start
        return workspace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._catch_up(is_failing=error is not None)
        finally:
            self.close()

    def close(self) -> None:
        """Give back the log."""
        self.log.close()

    def act(
        self,
        sprint_id: str,
        decide: Decide,
        *,
        checks_file: bool = True,
        settles: bool = True,
        **envelope: Unpack[Envelope],
    ) -> Outcome:
        """Read the sprint, decide, append; decide anew when somebody else was first.

        A restore of files that was cut short is finished before that, unless `settles`
        is off: what is recorded meanwhile would be about files that it still replaces.

        With `expect` the caller decides on what it knows: a sprint that is elsewhere is
        a `ConflictError`. A key seen before answers with the first result. Tokens in
        free texts are masked unless `masks` is off; whole documents never are. What the
        facts bring back of the operator queue is appended with them. Where edits of the
        state file are refused, so is every wish, unless `checks_file` is off.
        """

        def decide_whole(sprint: Sprint, at: str) -> list[Fact]:
            if settles and (ended := self.settle(sprint)):
                raise MovedOnError(ended)
            if checks_file and policy_of(sprint) == REFUSE:
                refuse_edit(self, sprint)
            facts = with_returns(sprint, decide(sprint, at), at=at)
            # A clock may go backwards; a person who says when it was is asked again.
            if envelope.get("at") is not None and not envelope.get("observed"):
                check_moment(sprint, facts, at)
            if is_start(facts):
                actor = envelope.get("actor", "runtime")
                if taken := take_over_all(self, sprint_id, at=at, actor=actor):
                    raise MovedOnError(taken)
            take_place(self, sprint, facts)
            return facts

        return Outcome(*self._act(self.reader, sprint_id, decide_whole, envelope))

    def act_on_journal(
        self,
        decide: DecideOnJournal,
        *,
        takes_in: bool = False,
        **envelope: Unpack[Envelope],
    ) -> "Acted[Journal]":
        """Do the same with the journal; its first fact opens it, in this work tree.

        Unless it `takes_in` what another tool left, a file of such a tool is in the way.
        """
        from sprintlog.engine.journal.events import JournalMoved, JournalOpened
        from sprintlog.engine.journal.rules import open_journal

        from .journal_file import check_no_stranger

        def decide_and_open(journal: "Journal", at: str) -> list[Fact]:
            facts = decide(journal, at)
            first = facts[0] if facts else None
            if not journal.exists and first is not None:
                if not isinstance(first, JournalOpened):
                    first = open_journal(journal, at=at)[0]
                    facts = [first, *facts]
                assert isinstance(first, JournalOpened)
                place = self.journal_place or first.place
                first = replace(first, worktree=self.location.worktree, place=place)
                facts = [first, *facts[1:]]
            if isinstance(first, JournalOpened | JournalMoved) and not takes_in:
                check_no_stranger(self.files, first.place)
            return facts

        return self._act(self.journals, JOURNAL, decide_and_open, envelope)

    def _act(
        self,
        reader: Reader[State],
        name: str,
        decide: Callable[[State, str], list[Fact]],
        envelope: Envelope,
    ) -> Acted[State]:
        at, expect = envelope.get("at"), envelope.get("expect")
        key, key_digest = envelope.get("key"), envelope.get("key_digest")
        observed = envelope.get("observed", False)
        moment = self.now() if at is None else normalise(at)
        stream = reader.reading.stream(name)
        for _ in range(TRIES_MAX):
            if key is not None and (first := self._first_answer(key, key_digest)):
                return Acted(reader.current(name), first, duplicate=True)
            state = reader.current(name)
            if expect is not None:
                check_expected(stream, expect=expect, actual=state.version)
            try:
                facts = decide(state, moment)
            except MovedOnError as moved:
                expect = expect + moved.events if isinstance(expect, int) else expect
                continue
            if not facts:
                return Acted(state, [])
            drafts = [
                draft(
                    masked(fact) if envelope.get("masks", True) else fact,
                    at=moment,
                    actor=envelope.get("actor", "runtime"),
                    observed=observed and not isinstance(fact, RequestReturned),
                    correlation_id=envelope.get("correlation_id"),
                    causation_id=envelope.get("causation_id"),
                )
                for fact in facts
            ]
            try:
                appended = self.log.append(
                    stream, drafts, expect=state.version, key=key, key_digest=key_digest
                )
            except ConflictError:
                if isinstance(expect, int):
                    raise
                continue
            if appended.duplicate:
                return Acted(reader.current(name), appended.events, duplicate=True)
            self.behind.add(stream)
            return Acted(reader.take(state, appended.events), appended.events)
        raise BusyError(
            f"{reader.reading.name(name)} changed {TRIES_MAX} times while this was decided",
            hint="nothing was recorded; repeat the command",
        )

    def settle(self, sprint: Sprint) -> int:
        """Finish restores that were cut short; return how many events that recorded.

        Where one cannot be finished who is to be told is told.
        """
        if not sprint.record.restoring:
            return 0
        # Imported here: almost never is there one.
        from .restoring import finish_restores, is_unfinished

        if not is_unfinished(self, sprint):
            return 0
        events, problem = finish_restores(self, sprint.id, self.environment)
        if problem is not None:
            self.tell(problem)
        return events

    def observe(self, sprint_id: str, fact: EditObserved, *, key: str) -> None:
        """Record an edit that somebody else made, once under this key."""
        digest = bytes.fromhex(fact.digest)
        self.act(
            sprint_id,
            lambda sprint, at: [fact],
            key=key,
            key_digest=digest,
            checks_file=False,
            # The lock of state files is held here, which who restores files takes last.
            settles=False,
        )

    def adopt(self, sprint_id: str) -> str:
        """Make facts of the latest observed edit; say what became of it."""
        # Imported here: it is needed only where somebody edited a file.
        from .adopting import adopt_latest

        return adopt_latest(self, sprint_id)

    def observe_journal(self, fact: EditObserved, *, key: str) -> None:
        """Record an edit of the journal's file, once under this key."""
        digest = bytes.fromhex(fact.digest)
        self.act_on_journal(lambda journal, at: [fact], key=key, key_digest=digest)

    def back_up(self, target: Path) -> Head:
        """Copy the log into one file, and read and fold the copy whole; return its head.

        Raise `RefusedError` over an existing file.
        """
        # Imported here: no recording command needs it.
        from sprintlog.engine.log.stores.sqlite.backup import back_up

        from .folding import fold_all

        return back_up(self.log, target, clock=self.clock, entropy=urandom, check=fold_all)

    def refresh(self, sprint_id: str) -> Refreshed:
        """Bring a sprint's state files up to date, and keep what somebody else put there.

        Where edits are adopted, what somebody else put there becomes facts at once.
        """
        with self._catching_up(sprint_stream(sprint_id)):
            refreshed = self._refresh_progress(sprint_id)
            if (sprint := self.sprint(sprint_id)).record.tracker.is_empty:
                return refreshed
            # Imported here: only a loop that was measured has further files.
            from .loop_place import with_loop

            return with_loop(self, sprint, refreshed)

    def observe_edit(self, sprint_id: str) -> None:
        """Record an edit that stands in PROGRESS.yaml; adopt nothing of it yet."""
        sprint_files(self).refresh(sprint_id)

    def _refresh_progress(self, sprint_id: str) -> Refreshed:
        refreshed = sprint_files(self).refresh(sprint_id)
        if refreshed.kept is None or policy_of(self.sprint(sprint_id)) != ADOPT:
            return refreshed
        said = self.adopt(sprint_id)
        again = sprint_files(self).refresh(sprint_id)
        problem = f"{refreshed.problem}; {said}"
        return again._replace(kept=refreshed.kept, problem=problem)

    def refresh_journal(self) -> Refreshed:
        """Bring the journal's state file up to date in the same way."""
        from .journal_file import journal_file

        with self._catching_up(JOURNAL):
            return journal_file(self).refresh(JOURNAL)

    @contextmanager
    def _catching_up(self, stream: str) -> Iterator[None]:
        """Take a stream's state file as up to date afterwards, or as one that cannot be.

        Whoever is interrupted in here leaves it behind.
        """
        try:
            yield
        except SprintlogError:
            self.behind.discard(stream)
            raise
        self.behind.discard(stream)

    def _catch_up(self, *, is_failing: bool) -> None:
        """Refresh what is behind still, since whoever recorded did not come to it.

        What ended that matters more than a file that cannot be written.
        """
        for stream in sorted(self.behind):
            sprint_id = sprint_of(stream)
            try:
                if sprint_id is None:
                    refreshed = self.refresh_journal()
                else:
                    refreshed = self.refresh(sprint_id)
            except SprintlogError as problem:
                if not is_failing:
                    raise
                sentence: str | None = problem.message
            else:
                sentence = refreshed.problem
            if sentence:
                with suppress(RefusedError):
                    self.tell(sentence)

    def _first_answer(self, key: str, key_digest: bytes | None) -> list[Recorded]:
        first = self.log.find_key(key)
        if first:
            check_key(first[0], key_digest)
        return first
