"""What it means to act on a stream: what is decided, under which conditions, what came."""

from _thread import get_ident
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
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
from .agent_sessions.places import Spooled
from .place.location import Location
from .place.trees import OwnWorkTree
from .streams.catalogue import State
from .streams.repository import Repository

if TYPE_CHECKING:
    from ..journal.document import JournalDocument
    from ..journal.state import Journal


class Refreshed(msgspec.Struct, frozen=True):
    """What happened to a state file."""

    path: str | None
    """None when there is no state file in this work tree."""
    state: str
    """`same`, `written`, `missing`, `stale`, `edited`, `imported` or `elsewhere`."""
    digest: str = ""
    """sha256 of our bytes, in hexadecimal."""
    kept: str | None = None
    """Name of the copy of somebody else's bytes."""
    problem: str | None = None
    """A sentence for the person at the terminal."""


class StateFiles:
    """What is written for others to read. Here it is nothing, so nobody changes it either.

    What others changed in the files of a work tree they let be recorded.
    """

    def refresh(self, stream: str) -> Refreshed:
        """Bring a stream's state file up to date; keep what others made of it."""
        return Refreshed(None, "elsewhere")

    def refresh_loop(self, sprint: Sprint, refreshed: Refreshed) -> Refreshed:
        """Do the same with the files of a sprint's loop; add what was found there."""
        return refreshed

    def compare(self, sprint: Sprint) -> Refreshed:
        """Compare a sprint's state file with its state; write nothing."""
        return Refreshed(None, "elsewhere")

    def foreign(self, path: str) -> bytes | None:
        """Return what stands at a path where somebody else wrote it, else None."""
        return None

    def hand_over(self, path: str, *, of: str) -> None:
        """Keep a finished sprint's last file in the log's folder; its place gets free."""


Decide = Command | Callable[[Sprint, str], list[Event]]
"""A command, or what decides by the sprint and the time, as its function does."""


DecideOnJournal = Command | Callable[["Journal", str], list[Event]]
"""The same for the journal."""

Skippable = Literal[
    "finish_restores", "refuse_edits", "refuse_strangers", "record_lost_run"
]
"""The middlewares that an action can do without: those that it is itself part of."""


class Envelope(TypedDict, total=False):
    """What an action says about its events, and when it is to be recorded at all."""

    actor: str
    at: str | None
    key: str | None
    key_digest: bytes | None
    expect: Expected | None
    correlation_id: str | None
    causation_id: str | None
    observed: bool
    masks: bool


class Handled(msgspec.Struct, Generic[State], frozen=True):
    """What an action did."""

    state: State
    """What it was done to, as it is now."""
    events: list[RecordedEvent]
    """Empty when the same command had been fulfilled before."""
    duplicate: bool = False
    """True when a key answered with what was recorded the first time."""


class Outcome(Handled[Sprint], frozen=True):
    """What an action on a sprint did."""

    @property
    def sprint(self) -> Sprint:
        """Return the sprint as it is now."""
        return self.state

    @classmethod
    def of(cls, handled: Handled[Sprint]) -> "Outcome":
        """Return what an action did as one on a sprint."""
        return cls(handled.state, handled.events, handled.duplicate)


def refuse(problem: str) -> None:
    """Let nothing go on beside a problem: this is what is done where nobody is told."""
    raise RefusedError(problem)


def mention(service: "Service", problem: str) -> None:
    """Report a problem, unless nobody listens: what was recorded stays recorded."""
    with suppress(RefusedError):
        service.tell(problem)


class MovedOnError(Exception):
    """Deciding has itself moved the stream on, by so many events: decide anew."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.events = events


class AloneError(Exception):
    """What is done has effects beside the log: nothing else may be committed with it."""


class OfOneThread:
    """An attribute of a workspace that only the thread that set it can read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __set__(self, workspace: Any, value: Any) -> None:
        workspace.__dict__[self._name] = get_ident(), value

    def __get__(self, workspace: Any, owner: type) -> Any:
        if workspace.__dict__[self._name][0] != get_ident():
            raise RefusedError(
                "a workspace belongs to the thread that opened it, and this is another one",
                hint="open a workspace in each thread with `sprintlog.open()`",
            )
        return workspace.__dict__[self._name][1]


class Service(Protocol):
    """A workspace, for those that act on sprints and the files around them."""

    location: Location
    log: Log
    repository: Repository[Sprint]
    environment: Mapping[str, str]
    behind: set[str]
    own_tree: OwnWorkTree
    journal_place: str | None
    state_files: StateFiles
    spooled: Spooled
    tell: Callable[[str], None]
    setting: Callable[[str], Any]
    is_side_by_side: bool

    @property
    def tree(self) -> WorkTree:
        """Return the work tree as records name it."""

    @property
    def journals(self) -> "Repository[Journal]":
        """Return the repository of the journal's ids and counts."""

    @property
    def documents(self) -> "Repository[JournalDocument]":
        """Return the repository of the journal's texts."""

    def handle_with(
        self,
        sprint_id: str,
        decide: Decide,
        *,
        without: Collection[Skippable] = (),
        **envelope: Unpack[Envelope],
    ) -> Outcome:
        """Let a sprint decide, and append that."""

    def now(self) -> str:
        """Return the time."""

    def sprints(self) -> dict[str, int]:
        """Return the sprints of the log with their versions."""

    def status_of(self, sprint_id: str, version: int) -> str:
        """Return a sprint's status at its head."""

    def sprint(self, sprint_id: str) -> Sprint:
        """Return a sprint as it is."""

    def journal(self) -> "Journal":
        """Return the journal's ids and counts as they are."""

    def events(self, sprint_id: str | None = None) -> Iterator[RecordedEvent]:
        """Yield the events of a sprint."""

    def finish_restores(self, sprint: Sprint) -> int:
        """Finish restores that were cut short; return how many events that recorded."""

    def observe(self, stream: str, event: EditObserved, *, key: str) -> None:
        """Record an edit of a stream's file by somebody else, once under this key."""
