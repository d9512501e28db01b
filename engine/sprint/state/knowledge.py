"""A sprint's knowledge, which rollbacks do not affect."""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Protocol

import msgspec

from ...judging.tracker import Tracker
from ...usage import TOKENS as TOKENS
from ...usage import Usage, lower_bounds, open_figures, tokens_of
from .. import events as f
from .notes import AgentNote
from .words import COMPLETED, NO_SUCCESS

COST = "cost"
COMMANDS_MAX = 8
"""The maximum number of commands in `says_cost`."""
COUNT_MAX = 2**63 - 1
"""The maximum of every sum, whatever values agents report."""


class Spent(msgspec.Struct, array_like=True):
    """The total usage of all agent runs, with None for figures that no run reported."""

    runs: int = 0
    duration_ms: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None
    turns: int | None = None
    cost: str | None = None
    """The cost in US dollars, as an exact decimal."""
    missing: dict[str, int] = {}
    """For each figure (and `tokens`), the number of runs that did not fully report it."""
    cut_short: int = 0
    """The number of other runs that ended with their loop, so their usage is unknown."""

    @property
    def tokens(self) -> int | None:
        """Return the number of tokens, or None if it is unknown."""
        return tokens_of(self)

    @property
    def at_least(self) -> tuple[str, ...]:
        """Return the names of the figures that are lower bounds."""
        names = [*_COUNTED[:4], TOKENS, "cost_usd"]
        marked = [one for one in names if self.cut_short or self.missing.get(one)]
        return tuple(one for one in marked if getattr(self, one) is not None)

    @property
    def without_cost(self) -> int:
        """Return the number of runs whose cost is not fully known."""
        return self.missing.get("cost_usd", 0)

    @property
    def without_tokens(self) -> int:
        """Return the number of runs whose tokens are not fully known."""
        return self.missing.get(TOKENS, 0)

    @property
    def cost_usd(self) -> float | None:
        """Return the cost as a float, or None if it is unknown."""
        return None if self.cost is None else float(self.cost)

    def add(self, used: Usage | None) -> None:
        """Add the known tokens, turns and cost of a usage report."""
        for name in _COUNTED:
            if (value := getattr(used, name, None)) is not None and value >= 0:
                setattr(self, name, min((getattr(self, name) or 0) + value, COUNT_MAX))
        # A negative cost is invalid.
        if (cost := getattr(used, "cost_usd", None)) is not None and cost >= 0:
            # Imported here: most commands read no usage.
            from ...usage import plus

            self.cost = plus(self.cost, cost)

    def add_run(self, event: f.AgentRan) -> None:
        """Add the usage of a run."""
        self.add(event.usage)
        if event.is_rest:
            # The run was counted when it ended, and so were its unknown figures.
            self._miss(lower_bounds(event.usage), event.settled)
            self.duration_ms += (event.duration_ms or 0) if event.calls else 0
            return
        self.runs += 1
        self.duration_ms += event.duration_ms or 0
        self._miss(open_figures(event.usage), {})

    def _miss(self, names: Iterable[str], settled: Mapping[str, int]) -> None:
        # A new object, because copies of these figures share the old one.
        self.missing = dict(self.missing)
        for name in names:
            self.missing[name] = self.missing.get(name, 0) + 1
        for name, runs in settled.items():
            self.missing[name] = max(0, self.missing.get(name, 0) - runs)


_COUNTED = (
    *("input_tokens", "output_tokens", "cache_read_tokens"),
    *("cache_creation_tokens", "turns"),
)


def says_cost(used: Usage | None) -> bool:
    """Return whether a run reports its cost."""
    return used is not None and used.cost_usd is not None and used.cost_usd >= 0


class Runs(msgspec.Struct, array_like=True):
    """The runs of the loop, with details only of the last run."""

    version: int = 0
    """The version that started the last run; 0 before the first run."""
    started: f.RunStarted | None = None
    ended: f.RunEnded | None = None
    ended_version: int = 0
    """The version at which the last run ended."""
    duration_ms: int = 0
    """The total duration of all ended runs, in milliseconds."""
    before: Spent = msgspec.field(default_factory=Spent)
    """The agents' usage before the last run started."""
    begun_before: int = 0
    """The number of iterations that had started before the last run started."""
    failures: int = 0
    """The current number of consecutive failures of agent runs."""
    failures_in_run: int = 0
    """The number of these failures since the last run started."""
    budgets: f.Budgets = f.Budgets()
    """The sprint's total budgets."""
    warned: list[str] = []
    """The names of the budgets for which a warning was given (`BudgetState.name`)."""
    silent: list[str] = []
    """The figures that the last successful agent run did not report: `cost`, `tokens`."""
    says_cost: dict[str, bool] = {}
    """By command, whether the last successful run reported its cost."""

    @property
    def open(self) -> f.RunStarted | None:
        """Return the last run if it has not ended, otherwise None."""
        return self.started if self.ended is None else None


class HeldSnapshot(msgspec.Struct, array_like=True):
    """A snapshot in the store."""

    snapshot: str
    iteration: int
    version: int
    purpose: str
    worktree: str
    work_tree: str | None = None


class Restore(msgspec.Struct, array_like=True):
    """A restore, and the version that started it."""

    version: int
    event: f.RestoreStarted


class NamesTree(Protocol):
    """A record that names its work tree."""

    @property
    def work_tree(self) -> str | None:
        """Return the work tree's id; None if only its name was recorded."""

    @property
    def worktree(self) -> str:
        """Return the linked work tree's name; empty for the main work tree."""


class OwnTree(msgspec.Struct, array_like=True, frozen=True):
    """The work tree that a sprint belongs to."""

    work_tree: str | None = None
    worktree: str = ""


class WorkTree(msgspec.Struct, frozen=True):
    """A work tree, with its id and the names that older records use for it."""

    id: str | None
    """The id; None if nothing was recorded in the work tree yet."""
    names: tuple[str, ...] = ("",)
    """The names in older records: a linked work tree's name; empty for the main tree."""

    def has(self, one: NamesTree) -> bool:
        """Return whether a record belongs to this work tree."""
        if one.work_tree is not None:
            return one.work_tree == self.id
        return one.worktree in self.names


class Knowledge(msgspec.Struct):
    """A sprint's knowledge and counters, which rollbacks do not affect."""

    rollbacks: list[tuple[int, int]] = []
    """Every rollback so far: its version and its target."""
    starts: bytearray = msgspec.field(default_factory=bytearray)
    """The starts of all iterations; `newest_first` reads them."""
    begun: int = 0
    """The number of iterations ever started by loops, including discarded ones."""
    in_sessions: int = 0
    """The number of iterations that are turns of agent sessions."""
    iteration_max: int = 0
    """The highest iteration number ever used, including imported numbers."""
    imported_at: int = 0
    """The version of the newest imported document."""
    undone: list[int] = []
    """The versions of undone rollbacks and of their undos."""
    undid: dict[int, int] = {}
    """The rollback that each undo undid, by the undo's version; a redo removes it."""
    allotted: dict[str, int] = {}
    """The next unused number for each id prefix."""
    spent: Spent = msgspec.field(default_factory=Spent)
    """The usage of agents, including discarded runs."""
    loops: Runs = msgspec.field(default_factory=Runs)
    """The runs of `sprintlog run`."""
    requests: dict[str, tuple[int, f.RequestQueued]] = {}
    """Every request ever queued, with the version that queued it, in order of recording."""
    request_ids: list[str] = []
    """The ids of requests in imported documents."""
    tracker: Tracker = msgspec.field(default_factory=Tracker)
    """The measurements and descriptions of iterations."""
    snapshots: list[HeldSnapshot] = []
    """Every snapshot that was taken and not pruned, in order."""
    instruments: list[HeldSnapshot] = []
    """The snapshots of the files that decide on measurements, in order."""
    is_guarded: bool = False
    """Whether the first of them preceded the first measurement."""
    restoring: list[Restore] = []
    """The restores that have started but not ended."""
    restored: list[Restore] = []
    """The restores that have ended, in order."""
    gone_back: list[tuple[int, int]] = []
    """The rollbacks that followed advice: the version and the iteration concerned."""
    forks: list[tuple[int, str]] = []
    """For each fork in this history, the last copied version and the source stream."""
    tree: OwnTree | None = None
    """The first work tree that an event names; None for the main work tree."""
    elsewhere: dict[int, str] = {}
    """The iterations that started in a work tree other than the first, with its id."""
    first_tree: str | None = None
    """The work tree in which the first iteration started."""
    notes: dict[str, AgentNote] = {}
    """The notes for the working agent."""

    @property
    def own_tree(self) -> OwnTree:
        """Return the work tree that the sprint belongs to."""
        return self.tree or OwnTree()

    def tree_of(self, iteration: int) -> OwnTree:
        """Return the work tree in which an iteration started."""
        tree, own = self.elsewhere.get(iteration, self.first_tree), self.own_tree
        return own if tree in (None, own.work_tree) else OwnTree(tree)

    def instruments_at(self, version: int) -> HeldSnapshot | None:
        """Return the instruments at a version, or None."""
        return next((x for x in self.instruments[::-1] if x.version <= version), None)

    @property
    def accepted_instruments(self) -> HeldSnapshot | None:
        """Return the accepted instruments; None if there were none at first."""
        accepted, first = self.tracker.accepted, self.instruments[: self.is_guarded]
        return self.instruments_at(accepted.measured_at) if accepted else (*first, None)[0]

    @property
    def iterations(self) -> list[tuple[int, int]]:
        """Return the number and the start version of every iteration ever started."""
        return list(newest_first(self.starts))[::-1]


def note_tree(knowledge: Knowledge, work_tree: str | None, worktree: str | None) -> None:
    """Record the first work tree that an event names as the sprint's own."""
    if knowledge.tree is None and (work_tree is not None or worktree is not None):
        knowledge.tree = OwnTree(work_tree, worktree or "")


def record_spent(knowledge: Knowledge, event: f.AgentRan, version: int) -> None:
    """Add the usage of a run to the total."""
    knowledge.spent.add_run(event)
    loops = knowledge.loops
    for note in knowledge.notes.values():
        note.settle(event, loops.open)
    if event.found_in is not None or event.turn is not None:
        # These do not show how the last runs of the loop ended.
        return
    _count_unchanged(knowledge.tracker, event)
    if event.status in NO_SUCCESS:
        # A run that waits for a limit or ends for a note has neither failed nor succeeded.
        if not (event.limit or event.interrupted_by or event.is_rest):
            loops.failures += 1
            loops.failures_in_run += 1
        return
    loops.failures = loops.failures_in_run = 0
    if event.is_rest or event.is_fallback:
        return
    known = {COST: says_cost(event.usage), TOKENS: tokens_of(event.usage) is not None}
    loops.silent = [name for name, is_said in known.items() if not is_said]
    if loops.open is not None:
        command = " ".join(loops.open.command)
        loops.says_cost.pop(command, None)
        loops.says_cost[command] = known[COST] and not event.is_priced
        if len(loops.says_cost) > COMMANDS_MAX:
            del loops.says_cost[next(iter(loops.says_cost))]


def _count_unchanged(tracker: Tracker, event: f.AgentRan) -> None:
    """Count the consecutive iterations of `run` towards a goal without a changed file.

    Failed and rate-limited attempts do not count. Any change during an attempt, even an
    unknown one, is a change of its iteration.
    """
    number = event.iteration
    if number is None or event.is_rest or (event.command and not event.is_fallback):
        return
    if event.changed_files is not False:
        tracker.unchanged, tracker.unchanged_at = 0, number
    elif event.status == COMPLETED and number > tracker.unchanged_at:
        before = tracker.unchanged if number == tracker.unchanged_at + 1 else 0
        tracker.unchanged, tracker.unchanged_at = before + 1, number


def record_budgets(knowledge: Knowledge, event: f.BudgetsSet, version: int) -> None:
    """Record the budgets of the sprint."""
    knowledge.loops.budgets = event.budgets


def record_warned(knowledge: Knowledge, event: f.BudgetWarned, version: int) -> None:
    """Record that a warning was issued for a budget."""
    # Imported here: most commands read no usage.
    from ...usage import plus

    knowledge.loops.warned.append(f"{event.of} {event.budget} {plus(None, event.limit)}")


def record_began(knowledge: Knowledge, event: f.RunStarted, version: int) -> None:
    """Record the start of a run of the loop."""
    loops = knowledge.loops
    loops.started, loops.version = event, version
    loops.ended, loops.ended_version = None, 0
    loops.before = msgspec.structs.replace(knowledge.spent)
    loops.begun_before = knowledge.begun
    loops.failures_in_run = 0
    loops.silent = []
    loops.warned = [name for name in loops.warned if not name.startswith("run ")]


def record_ended(knowledge: Knowledge, event: f.RunEnded, version: int) -> None:
    """Record the end of the last run of the loop; ignore the end of any other run."""
    loops = knowledge.loops
    if loops.open is not None and event.run == loops.open.run:
        loops.duration_ms = min(loops.duration_ms + event.spent.duration_ms, COUNT_MAX)
        knowledge.spent.cut_short += event.cut_short
    if loops.started is not None and event.run == loops.started.run:
        loops.ended, loops.ended_version = event, version


# The starts of iterations, mostly in two bytes each. The last start is stored in full at
# the end, after the steps back to earlier starts: versions, or 0 after a start in full.
_START = Struct("<qQ")
_STEP = Struct("<H")
_STEP_MAX, _IN_FULL, _NUMBER_MAX = 2**16 - 1, 0, 2**63 - 1


def add_start(starts: bytearray, number: int, version: int) -> None:
    """Record the version that started an iteration."""
    # Clamped, because another tool's number must not make a fold fail.
    number = max(-_NUMBER_MAX, min(number, _NUMBER_MAX))
    if starts:
        last, since = _START.unpack_from(starts, len(starts) - _START.size)
        if number == last + 1 and 0 < version - since <= _STEP_MAX:
            del starts[-_START.size :]
            starts += _STEP.pack(version - since)
        else:
            starts += _STEP.pack(_IN_FULL)
    starts += _START.pack(number, version)


def newest_first(starts: bytearray) -> Iterator[tuple[int, int]]:
    """Yield the number and the start version of every iteration, newest first."""
    if not starts:
        return
    place = len(starts) - _START.size
    number, version = _START.unpack_from(starts, place)
    yield number, version
    while place > 0:
        place -= _STEP.size
        (step,) = _STEP.unpack_from(starts, place)
        if step == _IN_FULL:
            place -= _START.size
            number, version = _START.unpack_from(starts, place)
        else:
            number, version = number - 1, version - step
        yield number, version
