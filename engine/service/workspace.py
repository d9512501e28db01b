"""The workspace: everything that changes a log, and the states of its streams.

After the workspace closes, even on an error, the state files contain all recorded events.
"""

import os
from _thread import get_ident
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from os import urandom
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from ..command import Command, JournalCommand, decided, digest
from ..errors import NotFoundError, RefusedError
from ..log.envelope import RecordedEvent
from ..log.event import Event
from ..log.port import WAIT, Clock, Entropy, Log, Wait
from ..log.stores import create_log, open_log, wall_clock
from ..sprint.events import EditObserved
from ..sprint.state import knowledge, times, words
from ..sprint.state.sprint import Sprint
from . import handle as handling
from . import middlewares, port, state_file_owner
from .place import location as locations
from .place import trees, trust
from .place.location import Location
from .streams.catalogue import SPRINTS, sprint_of, sprint_stream
from .streams.repository import Repository

if TYPE_CHECKING:
    from ..journal.document import JournalDocument
    from ..journal.state import Journal
    from .place.anchor import Anchor

JOURNAL = "journal"
"""The name of the journal's stream."""


class OfOneThread:
    """A workspace attribute that can only be read in the thread that set it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __set__(self, workspace: Any, value: Any) -> None:
        workspace.__dict__[self._name] = get_ident(), value

    def __get__(self, workspace: Any, owner: type) -> Any:
        thread, value = workspace.__dict__[self._name]
        if thread != get_ident():
            raise RefusedError(
                "a workspace can be used only in the thread that opened it",
                hint="open a workspace in each thread with `sprintlog.open()`",
            )
        return value


class ServiceWorkspace:
    """A log, its work tree, and all operations on them."""

    log: Log = OfOneThread("_log")  # type: ignore[assignment]
    repository: Repository[Sprint] = OfOneThread("_repository")  # type: ignore[assignment]
    environment: Mapping[str, str] = MappingProxyType({})
    """Environment variables for Git in snapshots, such as for its global ignore file."""
    journal_place: str | None = None
    """The path of a new journal's file; None for the default path."""
    stands_in: Path | None = None
    """The current folder of the user or program, if known."""
    state_files: port.StateFiles = port.StateFiles()
    """The state files; set by the composition root."""
    tell: Callable[[str], None] = staticmethod(port.refuse)
    """Receives warnings, such as about a restore that cannot be finished."""
    setting: Callable[[str], Any] = staticmethod(lambda key: None)
    """Returns the value of a key in the settings file; None if it is not set."""
    anchor: "Anchor | None" = None
    """Finds the log again after it was moved; None until `follow` is called."""
    is_side_by_side = False
    """Whether appends wait for a shared commit; other effects then raise `AloneError`."""

    def __init__(
        self, location: Location, log: Log, *, clock: Clock, entropy: Entropy = urandom
    ) -> None:
        self.clock, self.entropy = clock, entropy
        self.connect(location, log)
        self.behind: set[str] = set()
        """The streams with events that their state files do not include yet."""
        self.own_tree = trees.OwnWorkTree(self, entropy)

    def connect(self, location: Location, log: Log) -> None:
        """Use the given log, and read everything again."""
        self.location, self.log = location, log
        self.repository = Repository(log, SPRINTS, log.checkpoints)
        for repository in ("journals", "documents", "spools"):
            self.__dict__.pop(repository, None)

    @classmethod
    def init(
        cls,
        start: Path,
        *,
        here: bool = False,
        folder: str | None = None,
        address: str | None = None,
        safe: Path | None = None,
        clock: Clock = wall_clock,
        entropy: Entropy = urandom,
        wait: Wait = WAIT,
    ) -> Self:
        """Create an empty log, or join a log on a server; refuse if a log exists."""
        location = locations.place_for_new(start, here=here, folder=folder)
        trust.check_trusted(location, safe=safe)
        locations.make_folder(location)
        if address is not None:
            from .place.served import open_or_make

            made = open_or_make(location, address, clock=clock, entropy=entropy, wait=wait)
            return cls(*made, clock=clock, entropy=entropy)
        log = create_log(location.url, clock=clock, entropy=entropy, wait=wait)
        return cls(location, log, clock=clock, entropy=entropy)

    @classmethod
    def in_memory(
        cls, root: Path, *, clock: Clock = wall_clock, entropy: Entropy = urandom
    ) -> Self:
        """Create a workspace with an in-memory log, for tests and notebooks.

        State files are written below `root`, and edited files are stored in a log folder in
        `root`. Raise `RefusedError` if a log exists there.
        """
        location = Location(root / locations.HIDDEN, root, "")
        locations.make_folder(location)
        log = create_log("memory:", clock=clock, entropy=entropy)
        return cls(location, log, clock=clock, entropy=entropy)

    @classmethod
    def open(
        cls,
        start: Path,
        *,
        folder: str | None = None,
        address: str | None = None,
        safe: Path | None = None,
        clock: Clock = wall_clock,
        entropy: Entropy = urandom,
        check_head: bool = True,
        wait: Wait = WAIT,
    ) -> Self:
        """Open the nearest log, searching upwards; raise `NotFoundError` if there is none.

        A log that another user or a `git pull` may have placed there is rejected, unless
        the file `safe` lists it. With `check_head=False`, a log whose end is lost can be
        opened to examine the damage. `wait` sets how long to wait for other processes, and
        how to report this.
        """
        if address is None:
            location = locations.find(start, folder=folder)
            trust.check_trusted(location, safe=safe)
            location = location.of_this_host()
        else:
            from .place.served import join

            location = join(start, address, folder=folder, safe=safe, wait=wait)
        log = open_log(
            location.url, clock=clock, entropy=entropy, check_head=check_head, wait=wait,
            beside=location.folder,
        )  # fmt: skip
        workspace = cls(location, log, clock=clock, entropy=entropy)
        workspace.stands_in = start
        return workspace

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        try:
            for problem in handling.catch_up(self, is_failing=raised[0] is not None):
                port.mention(self, problem)
        finally:
            self.close()

    def close(self) -> None:
        """Close the log."""
        self.log.close()
        if self.anchor is not None:
            self.anchor.close()

    @property
    def tree(self) -> knowledge.WorkTree:
        """Return the work tree as named in records; the first record creates its id."""
        return self.own_tree.found()

    @cached_property
    def spools(self) -> list[Path]:
        """Return the folders for session events that could not be appended to the log."""
        return locations.spool_folders(self.location, self.environment)

    def take_in_spooled(self) -> None:
        """Record the spooled events, if any."""
        if any(map(os.path.isdir, self.spools)):
            # Imported here: spooled events are rare.
            from .agent_sessions.spool import take_in

            take_in(self.log, self.location, self.spools)

    # The journal's modules are imported lazily: a sprint does not require them.
    @cached_property
    def journals(self) -> "Repository[Journal]":
        """Return the repository for the journal's ids and counts."""
        from .streams.journal import JOURNALS

        return Repository(self.log, JOURNALS, self.log.checkpoints)

    @cached_property
    def documents(self) -> "Repository[JournalDocument]":
        """Return the repository for the journal's texts, which are never saved."""
        from .streams.journal import DOCUMENTS

        return Repository(self.log, DOCUMENTS, None)

    @overload
    def handle(
        self, command: JournalCommand, **envelope: Unpack[port.Envelope]
    ) -> "port.Handled[Journal]": ...

    @overload
    def handle(
        self, command: Command, *, sprint_id: str, **envelope: Unpack[port.Envelope]
    ) -> port.Outcome: ...

    def handle(
        self, command: Command, *, sprint_id: str = "", **envelope: Unpack[port.Envelope]
    ) -> "port.Outcome | port.Handled[Journal]":
        """Handle a command for a sprint, or for the journal; append the resulting events.

        The envelope contains the `actor` (`agent:NAME`, by default `runtime`), the time
        (`at`), the idempotency `key`, the `expect`ed version, and the ids of the work that
        the command belongs to (`correlation_id`, `causation_id`). After a version conflict,
        the decision is repeated. Raise `RefusedError` if the state does not allow the
        command; its `fields` list alternatives.
        """
        if envelope.get("key") is not None and envelope.get("key_digest") is None:
            envelope["key_digest"] = digest(command)
        if isinstance(command, JournalCommand):
            return self.handle_on_journal(command, **envelope)
        if command.name() == "record-extension-event":
            from .streams import extension_events

            command = extension_events.checked_command(command, envelope.get("observed"))
        # Called directly, so that few frames lie between a command and its decision.
        handled = handling.handle(
            self, self.repository, sprint_id, command, middlewares.ON_SPRINTS, envelope
        )
        return port.Outcome(handled.state, handled.events, handled.duplicate)

    def preview(
        self, command: Command, *, sprint_id: str | None = None, at: str | None = None
    ) -> list[Event]:
        """Return the events that a command would record, without recording them."""
        state = self.journal() if sprint_id is None else self.sprint(sprint_id)
        return decided(handling.in_context(self, state, command), state, at or self.now())

    def handle_with(
        self,
        sprint_id: str,
        decide: port.Decide,
        *,
        without: Collection[port.Skippable] = (),
        **envelope: Unpack[port.Envelope],
    ) -> port.Outcome:
        """Load the sprint, decide and append; start over after a concurrent append.

        The steps in `middlewares.ON_SPRINTS` are run, except those in `without`. With
        `expect`, raise `ConflictError` if the sprint has a different version. A known key
        returns the first result. Secrets in texts are masked unless `masks` is false.
        """
        steps = middlewares.ON_SPRINTS.without(without)
        handled = handling.handle(self, self.repository, sprint_id, decide, steps, envelope)
        return port.Outcome(handled.state, handled.events, handled.duplicate)

    def handle_on_journal(
        self,
        decide: port.DecideOnJournal,
        *,
        without: Collection[port.Skippable] = (),
        **envelope: Unpack[port.Envelope],
    ) -> "port.Handled[Journal]":
        """Load the journal, decide and append; the first event opens the journal here."""
        steps = middlewares.ON_THE_JOURNAL.without(without)
        return handling.handle(self, self.journals, JOURNAL, decide, steps, envelope)

    def begin_turn(self, session: str) -> bool:
        """Do nothing: the composition root knows sessions."""
        return False

    def finish_restores(self, sprint: Sprint) -> int:
        """Finish interrupted restores, or warn; return the number of events recorded."""
        if not sprint.knowledge.restoring:
            return 0
        # Imported here: interrupted restores are rare.
        from .work_tree.restore import finish_restores

        events, problem = finish_restores(self, sprint)
        if problem is not None:
            self.tell(problem)
        return events

    def observe(self, stream: str, event: EditObserved, *, key: str) -> None:
        """Record a third-party edit of a stream's file, once per key."""
        known: port.Envelope = {"key": key, "key_digest": bytes.fromhex(event.digest)}
        if (sprint_id := sprint_of(stream)) is None:
            self.handle_on_journal(lambda journal, at: [event], **known)
            return
        # The lock of state files is held here, but a restore must acquire that lock last.
        steps = port.AROUND
        self.handle_with(sprint_id, lambda sprint, at: [event], without=steps, **known)

    def refresh(self, sprint_id: str) -> port.Refreshed:
        """Update a sprint's state files, as `handle.refresh` does."""
        return handling.refresh(self, sprint_stream(sprint_id))

    def refresh_journal(self) -> port.Refreshed:
        """Update the journal's state file, as `handle.refresh` does."""
        return handling.refresh(self, JOURNAL)

    def now(self) -> str:
        """Return the clock's time in the format used by the log."""
        return times.from_milliseconds(self.clock())

    def choose(self, sprint_id: str | None) -> str:
        """Return the sprint that a command refers to, as `state_file_owner.choose` does."""
        return state_file_owner.choose(self, sprint_id)

    def sprints(self) -> dict[str, int]:
        """Return the sprints in this log with their versions, sorted by name."""
        return {
            sprint: version
            for stream, version in self.log.streams().items()
            if (sprint := sprint_of(stream)) is not None
        }

    def status_of(self, sprint_id: str, version: int) -> str:
        """Return a sprint's status at its head version, from a cache if possible."""
        stream = sprint_stream(sprint_id)
        status = self.log.checkpoints.status(stream, version)
        if status not in words.SPRINT_STATUSES:
            status = self.sprint(sprint_id).plan.status
            self.log.checkpoints.keep_status(stream, version, status)
        return status

    def sprint(self, sprint_id: str, *, at: str | None = None) -> Sprint:
        """Return the state of a sprint, by default the current one.

        `at` is a point such as `version:6` or `iter:2`. Callers must not modify the state.
        If the sprint does not exist, the state's `exists` is false and its version is 0.
        """
        head = self.repository.current(sprint_id)
        if at is None:
            return head
        if not head.exists:
            raise NotFoundError(f"there is no sprint {sprint_id}", sprint=sprint_id)
        return self.repository.at_version(sprint_id, self.version_at(sprint_id, at))

    def journal(self) -> "Journal":
        """Return the journal's current ids and counts; callers must not modify them."""
        return self.journals.current(JOURNAL)

    def document(self, *, at: str | None = None) -> "JournalDocument":
        """Return the journal and its texts as of a point; it is empty if there is none.

        An empty journal has version 0 and the current time as its creation time (JRN-010).
        Raise `NotFoundError` for a point before the journal was opened.
        """
        found = self.documents.current(JOURNAL)
        if found.version and at is not None:
            found = self.documents.at_version(JOURNAL, self.version_at(None, at))
        if found.version:
            return found
        from ..journal.document import JournalDocument

        return JournalDocument(created_at=self.now(), schema="1.0")

    def version_at(self, sprint_id: str | None, at: str) -> int:
        """Return a sprint's version as of a point, or the journal's version for None."""
        from .streams.points import parse_point, version_at

        head = self.journal() if sprint_id is None else self.sprint(sprint_id)
        stream = JOURNAL if sprint_id is None else sprint_stream(sprint_id)
        return version_at(self.log, stream, head, parse_point(at, now=self.clock()))

    def events(self, sprint_id: str | None = None) -> Iterator[RecordedEvent]:
        """Yield the events of a sprint, or of the complete log."""
        if sprint_id is None:
            return self.log.read()
        return self.log.read_stream(sprint_stream(sprint_id))
