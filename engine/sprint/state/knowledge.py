"""The knowledge of a sprint: what was learned on the way, never voided by a rollback."""

import msgspec

from ...iterations.events import Usage
from ...iterations.tracker import Tracker
from ..events import AgentRan, RequestQueued, RestoreStarted
from .starts import newest_first


class Spent(msgspec.Struct, array_like=True):
    """What all runs of agents took together; None is what none of them said."""

    runs: int = 0
    duration_ms: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None
    turns: int | None = None
    cost_usd: float | None = None

    def add(self, used: Usage | None) -> None:
        """Add tokens, turns and cost, as far as an agent says what they were."""
        for name in _COUNTED:
            if (value := getattr(used, name, None)) is not None:
                setattr(self, name, (getattr(self, name) or 0) + value)

    def add_run(self, event: AgentRan) -> None:
        """Add what one run took."""
        self.runs += 1
        self.duration_ms += event.duration_ms or 0
        self.add(event.usage)


_COUNTED = [n for n in Spent.__struct_fields__ if n not in ("runs", "duration_ms")]


class HeldSnapshot(msgspec.Struct, array_like=True):
    """A snapshot that the store holds."""

    snapshot: str
    iteration: int
    version: int
    purpose: str
    worktree: str


class Restore(msgspec.Struct, array_like=True):
    """A restore, and the version that began it."""

    version: int
    event: RestoreStarted


class Knowledge(msgspec.Struct):
    """Knowledge and counters: never voided by a rollback."""

    rollbacks: list[tuple[int, int]] = []
    """Every rollback so far: its version and its target."""
    starts: bytearray = msgspec.field(default_factory=bytearray)
    """Every iteration ever started; `starts.py` reads it."""
    iteration_max: int = 0
    """The highest iteration number ever given, imported ones included."""
    imported_at: int = 0
    """The version of the newest imported document."""
    undone: list[int] = []
    """Versions of the rollbacks that were taken back, and of those that did it."""
    undid: dict[int, int] = {}
    """What each undo took back, by the undo's version; gone once a redo took it back."""
    allotted: dict[str, int] = {}
    """How many numbers were ever given to ids of each prefix."""
    spent: Spent = msgspec.field(default_factory=Spent)
    """By agents, also in runs that a rollback took back."""
    requests: dict[str, tuple[int, RequestQueued]] = {}
    """Every request ever queued, with the version that did it, in recording order."""
    request_ids: list[str] = []
    """The ids of requests in documents that came in."""
    tracker: Tracker = msgspec.field(default_factory=Tracker)
    """What was measured of the iterations, and what was said of them."""
    snapshots: list[HeldSnapshot] = []
    """Every snapshot that was taken and not removed, in order."""
    restoring: list[Restore] = []
    """Restores that began and did not end."""
    restored: list[Restore] = []
    """Restores that came to their end, in order."""

    @property
    def iterations(self) -> list[tuple[int, int]]:
        """Return every iteration ever started: number, and version that started it."""
        return list(newest_first(self.starts))[::-1]


def record_spent(knowledge: Knowledge, event: AgentRan, version: int) -> None:
    """Add what a run took to what all of them took."""
    knowledge.spent.add_run(event)
