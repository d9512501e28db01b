"""The service's ports: actions on a stream, their envelope and outcome, and state files.

`Service` is the part of a workspace that its helpers use. `StateFiles` is the port to the
files that are written after a commit, and to third-party edits of those files.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypedDict, Unpack

import msgspec

from ..command import Command
from ..errors import RefusedError
from ..log.envelope import RecordedEvent
from ..log.event import Event
from ..log.port import Expected, Log
from ..sprint.events import EditObserved
from ..sprint.state.knowledge import WorkTree
from ..sprint.state.sprint import Sprint
from .place.location import Location
from .place.trees import OwnWorkTree
from .streams.catalogue import State
from .streams.repository import Repository

if TYPE_CHECKING:
    from ..journal.document import JournalDocument
    from ..journal.state import Journal

Decide = Command | Callable[[Sprint, str], list[Event]]
"""A command, or a function that decides like a command, given the sprint and the time."""
DecideOnJournal = Command | Callable[["Journal", str], list[Event]]
"""A command, or a function that decides like a command, given the journal and the time."""

Skippable = Literal[
    "finish_restores", "refuse_edits", "refuse_strangers", "record_lost_run"
]
"""The middlewares that an action may skip because the action is part of them."""
AROUND: set[Skippable] = {"finish_restores", "refuse_edits", "record_lost_run"}
"""The middlewares that are skipped when an edit or the end of a run is recorded."""


class Refreshed(msgspec.Struct, frozen=True):
    """The result of updating a state file."""

    path: str | None
    """The path of the state file; None if this work tree has none."""
    state: str
    """`same`, `written`, `missing`, `stale`, `edited`, `imported` or `elsewhere`."""
    digest: str = ""
    """The SHA-256 of the written bytes, in hexadecimal."""
    kept: str | None = None
    """The name of the edited file's copy."""
    problem: str | None = None
    """A description of the problem for the user."""


class Envelope(TypedDict, total=False):
    """The metadata of an action's events, and the conditions for recording them.

    `is_loop` states that `run` records, which a person may have started as any actor.
    """

    actor: str
    is_loop: bool
    at: str | None
    key: str | None
    key_digest: bytes | None
    expect: Expected | None
    correlation_id: str | None
    causation_id: str | None
    observed: bool
    masks: bool


class Handled(msgspec.Struct, Generic[State], frozen=True):
    """The outcome of an action."""

    state: State
    """The state after the action."""
    events: list[RecordedEvent]
    """The recorded events; empty if nothing had to be changed."""
    duplicate: bool = False
    """Whether the events were recorded earlier with the same key."""


class StreamFile(Generic[State]):
    """The state file of one type of stream; this base class has no file.

    Subclasses also record third-party edits of the file.
    """

    def refresh(self, state: State) -> Refreshed:
        """Update the file; store a copy first if it was edited."""
        return Refreshed(None, "elsewhere")

    def check(self, state: State) -> Refreshed:
        """Compare the file with a state, without writing anything."""
        return Refreshed(None, "elsewhere")


class StateFiles:
    """The port to the state files of a work tree; this base class has none."""

    def of_sprint(self) -> StreamFile[Sprint]:
        """Return the state file for sprints."""
        return StreamFile()

    def of_journal(self) -> "StreamFile[Journal]":
        """Return the state file for the journal."""
        return StreamFile()

    def refresh_loop(self, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
        """Update the files of a sprint's loop; add any problems to the result."""
        return refreshed

    def foreign(self, path: str) -> bytes | None:
        """Return the content at a path if sprintlog did not write it, otherwise None."""
        return None

    def hand_over(self, path: str, *, of: str) -> None:
        """Move a finished sprint's last file to the log's folder, which frees its path."""


class Outcome(Handled[Sprint], frozen=True):
    """The outcome of an action on a sprint."""

    @property
    def sprint(self) -> Sprint:
        """Return the sprint after the action."""
        return self.state


class AloneError(Exception):
    """The action has effects outside the log, so it must be committed on its own."""


class MovedOnError(Exception):
    """A step appended events to the stream, so the decision must be repeated."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.events = events


class Service(Protocol):
    """The part of a workspace used by modules that act on sprints and their files."""

    location: Location
    log: Log
    repository: Repository[Sprint]
    environment: Mapping[str, str]
    behind: set[str]
    own_tree: OwnWorkTree
    journal_place: str | None
    stands_in: Path | None
    state_files: StateFiles
    tell: Callable[[str], None]
    setting: Callable[[str], Any]
    is_side_by_side: bool

    @property
    def tree(self) -> WorkTree:
        """Return the work tree, as named in records."""

    @property
    def journals(self) -> "Repository[Journal]":
        """Return the repository for the journal's ids and counts."""

    @property
    def documents(self) -> "Repository[JournalDocument]":
        """Return the repository for the journal's texts."""

    def handle_with(
        self,
        sprint_id: str,
        decide: Decide,
        *,
        without: Collection[Skippable] = (),
        **envelope: Unpack[Envelope],
    ) -> Outcome:
        """Apply a decision function to a sprint's state, and append the events."""

    def begin_turn(self, session: str) -> bool:
        """Start the iteration of a session's turn; return whether it started now."""

    def take_in_spooled(self) -> None:
        """Record the spooled events, if any."""

    def now(self) -> str:
        """Return the current time."""

    def sprints(self) -> dict[str, int]:
        """Return the sprints in the log, with their versions."""

    def status_of(self, sprint_id: str, version: int) -> str:
        """Return a sprint's status at its head version."""

    def sprint(self, sprint_id: str) -> Sprint:
        """Return the current state of a sprint."""

    def journal(self) -> "Journal":
        """Return the journal's current ids and counts."""

    def finish_restores(self, sprint: Sprint) -> int:
        """Finish interrupted restores; return the number of events recorded."""

    def observe(self, stream: str, event: EditObserved, *, key: str) -> None:
        """Record a third-party edit of a stream's file, once per key."""


def refuse(problem: str) -> None:
    """Raise a problem as an error; the default if the caller does not accept reports."""
    raise RefusedError(problem)


def mention(service: "Service", problem: str) -> None:
    """Report a problem if the caller accepts reports; recording is not affected."""
    with suppress(RefusedError):
        service.tell(problem)
