"""What it means to act on a stream: what is decided, under which conditions, what came."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypedDict

from sprintlog.engine.log.envelope import Recorded
from sprintlog.engine.log.fact import Fact
from sprintlog.engine.log.port import Expected
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.sprint.events import EditObserved
from sprintlog.engine.sprint.state.sprint import Sprint

from .catalogue import State
from .files import StateFiles
from .location import Location
from .reading import Reader

if TYPE_CHECKING:
    from sprintlog.engine.journal.state.journal import Journal

Decide = Callable[[Sprint, str], list[Fact]]
"""A command with its arguments: from the sprint and the time to the facts."""


DecideOnJournal = Callable[["Journal", str], list[Fact]]
"""The same for the journal."""


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


class Acted(NamedTuple, Generic[State]):
    """What an action did."""

    state: State
    """What it was done to, as it is now."""
    events: list[Recorded]
    """Empty when the same wish had been fulfilled before."""
    duplicate: bool = False
    """True when a key answered with what was recorded the first time."""


class Outcome(Acted[Sprint]):
    """What an action on a sprint did."""

    __slots__ = ()

    @property
    def sprint(self) -> Sprint:
        """Return the sprint as it is now."""
        return self.state


class MovedOnError(Exception):
    """Deciding has itself moved the stream on, by so many events: decide anew."""

    def __init__(self, events: int) -> None:
        super().__init__()
        self.events = events


class ActingWorkspace(Protocol):
    """A workspace, for those that act on sprints and the files around them."""

    @property
    def location(self) -> Location:
        """Return where the log and the work tree are."""
        ...

    @property
    def log(self) -> SqliteLog:
        """Return the log."""
        ...

    @property
    def files(self) -> StateFiles:
        """Return the state files."""
        ...

    @property
    def reader(self) -> Reader[Sprint]:
        """Return the reader of sprints."""
        ...

    @property
    def act(self) -> Callable[..., Outcome]:
        """Return what lets a sprint decide and appends it."""
        ...

    def now(self) -> str:
        """Return the time."""
        ...

    def sprints(self) -> dict[str, int]:
        """Return the sprints of the log with their versions."""
        ...

    def sprint(self, sprint_id: str) -> Sprint:
        """Return a sprint as it is."""
        ...

    def journal(self) -> "Journal":
        """Return the journal's ids and counts as they are."""
        ...

    def settle(self, sprint: Sprint) -> int:
        """Finish restores that were cut short."""
        ...

    def observe(self, sprint_id: str, fact: EditObserved, *, key: str) -> None:
        """Record an edit of a state file, once under this key."""
        ...
