"""Answers about runs: usage, remaining budgets and the next action."""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from sprintlog.engine.log.event import Kind
from sprintlog.engine.service import lost_runs
from sprintlog.engine.service.lost_runs import ELSEWHERE, spent_until, time_of
from sprintlog.engine.service.lost_runs import GONE as GONE
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_stream
from sprintlog.engine.service.workspace import ServiceWorkspace
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.agent.next import next_action, with_fallback
from sprintlog.engine.sprint.events import Budgets, Took
from sprintlog.engine.sprint.iterations import budgets as limits
from sprintlog.engine.sprint.iterations.budgets import OF_RUN, OF_SPRINT, BudgetState
from sprintlog.engine.sprint.iterations.run_record import spent_since
from sprintlog.engine.sprint.state.knowledge import newest_first
from sprintlog.engine.sprint.state.sprint import Spent, Sprint
from sprintlog.engine.usage import plus

from .events import filled


class Spending(Struct, frozen=True, omit_defaults=True):
    """Agent usage; unknown figures are omitted."""

    runs: int
    duration_ms: int
    turns: int | UnsetType = UNSET
    input_tokens: int | UnsetType = UNSET
    output_tokens: int | UnsetType = UNSET
    cache_read_tokens: int | UnsetType = UNSET
    cache_creation_tokens: int | UnsetType = UNSET
    tokens: int | UnsetType = UNSET
    """Input, cache creation and output tokens; cache reads are not counted."""
    cost_usd: float | UnsetType = UNSET
    at_least: tuple[str, ...] = ()
    """The names of figures that are lower bounds."""
    runs_without_cost: int = 0
    """The number of runs of unknown cost; absent if there are none."""
    runs_without_tokens: int = 0
    """The number of runs whose tokens are not fully known."""
    runs_cut_short: int = 0
    """The number of further runs that ended with their loop, with unknown usage."""


def spending(took: Spent) -> Spending:
    """Return agent usage as an answer."""
    names = [name for name in Spending.__struct_fields__ if hasattr(took, name)]
    return Spending(
        **{n: x for n in names if (x := getattr(took, n)) is not None},
        runs_without_cost=took.without_cost,
        runs_without_tokens=took.without_tokens,
        runs_cut_short=took.cut_short,
    )


RUNNING, ENDED = "running", "ended"


class BudgetStanding(Struct, frozen=True):
    """The used and remaining amounts of a budget."""

    of: str
    """`run` for the last run, `sprint` for all runs."""
    budget: str
    """`iterations`, `cost` in US dollars, `tokens`, `time` in seconds, or `failures`."""
    limit: float
    spent: float
    left: float
    """The remaining amount; negative if the budget was exceeded."""
    percent: int
    unknown_runs: int
    """The number of agent runs whose usage of this budget is unknown."""


class LoopRun(Struct, frozen=True, kw_only=True):
    """A run of the loop."""

    run: str
    """The id of the run in the log."""
    state: str
    """`running`, `ended`, `gone` if its process ended without a record, or `elsewhere` if
    it started on another machine and no end is recorded."""
    since: str
    host: str
    pid: int
    command: tuple[str, ...]
    fallback: str | None
    """The command that is run while a limit blocks the main command."""
    spent: Took
    iteration_since: str | UnsetType = UNSET
    """For a current run: when the latest iteration started."""
    ended_at: str | UnsetType = UNSET
    because: str | UnsetType = UNSET
    """Why the run ended; `lost` if it was killed."""
    exit_code: int | UnsetType | None = UNSET
    why: str | UnsetType | None = UNSET
    worked_since: bool | UnsetType = UNSET
    """For an ended run: whether work, not only decisions, was recorded later."""
    last_seen: str | UnsetType = UNSET
    """For a killed run: the time of its last event."""
    heartbeat: str | UnsetType = UNSET
    """For a run on another machine that holds the lease: the time of its last heartbeat."""
    lease_seconds: int | UnsetType = UNSET
    """For the same run: the time without a heartbeat after which another machine may take
    over."""


class DryRun(Struct, frozen=True, kw_only=True):
    """The preview of a run: its first action, command and budgets."""

    sprint: str
    next: Action
    """The first action."""
    command: tuple[str, ...]
    budgets: list[BudgetStanding]
    is_run_now: bool
    """Whether another process is running the sprint, so that this run would be refused."""


def told(found: Iterable[BudgetState]) -> list[BudgetStanding]:
    """Return the budgets with the amounts used."""
    names = ("limit", "spent", "left")
    exact = ((one, {name: float(getattr(one, name)) for name in names}) for one in found)
    return [filled(BudgetStanding, x, unknown_runs=x.unknown, **sums) for x, sums in exact]


def moment_of(workspace: ServiceWorkspace, sprint: Sprint, at: str | None) -> str:
    """Return the time of a point: now, the named time, or the last event's time."""
    if at is None:
        return workspace.now()
    # Imported here: most answers describe the current state.
    from sprintlog.engine.service.streams.points import parse_point

    time = parse_point(at, now=workspace.clock()).time
    return time or time_of(workspace, sprint, sprint.version)


def all_standings(
    workspace: ServiceWorkspace, sprint: Sprint, *, at: str | None = None
) -> list[BudgetState]:
    """Return the budgets of the last run and of the sprint."""
    now = moment_of(workspace, sprint, at)
    now = now if at is not None else spent_until(workspace, sprint, now)
    return [
        one for of in (OF_RUN, OF_SPRINT) for one in limits.standings(sprint, now, of=of)
    ]


def planned(sprint: Sprint, budgets: Budgets, *, now: str) -> list[BudgetState]:
    """Return the budgets that would apply to a new run."""
    of_run = [
        BudgetState(OF_RUN, name, plus(None, limit), "0")
        for name, field in limits.FIELDS.items()
        if (limit := getattr(budgets, field)) is not None
    ]
    return [*of_run, *limits.standings(sprint, now, of=OF_SPRINT)]


def what_is_next(
    workspace: ServiceWorkspace, sprint: Sprint, *, at: str | None = None
) -> Action:
    """Return the next action, now or as of a point in the log."""
    now = moment_of(workspace, sprint, at)
    spent_by = now if at is not None else spent_until(workspace, sprint, now)
    found = next_action(sprint, now=now, spent_by=spent_by)
    started = sprint.knowledge.loops.open
    if started is None or started.fallback is None:
        return found
    return with_fallback(sprint, found, now=now)


def last_run(
    workspace: ServiceWorkspace, sprint: Sprint, *, now: str, is_past: bool = False
) -> LoopRun | UnsetType:
    """Return the loop's last run; if `is_past`, do not check whether it still runs."""
    loops = sprint.knowledge.loops
    started, ended = loops.started, loops.ended
    if started is None:
        return UNSET
    found, lease = RUNNING if ended is None else ENDED, None
    if ended is None and not is_past:
        seen = lost_runs.seen_from_here(workspace.location.folder, sprint.id, started)
        found = RUNNING if seen == lost_runs.ALIVE else seen
        lease = workspace.log.leases.of(sprint_stream(sprint.id))
    told: dict[str, Any] = {} if ended is None else _end(workspace, sprint)
    if found == RUNNING and (began := _iteration_since(workspace, sprint)):
        told = {"iteration_since": began}
    if lease is not None and lease.host == started.host and found == ELSEWHERE:
        told = {"heartbeat": lease.heartbeat, "lease_seconds": round(lease.seconds_left)}
    if found == GONE:
        told = {"last_seen": time_of(workspace, sprint, sprint.version)}
        now = told["last_seen"]
    spent = ended.spent if ended is not None else spent_since(sprint, now)
    return filled(LoopRun, started, state=found, spent=spent, **told)


def _iteration_since(workspace: ServiceWorkspace, sprint: Sprint) -> str | None:
    """Return when the latest iteration began, or None if the last run did not start it."""
    latest = next(newest_first(sprint.knowledge.starts), None)
    if latest is None or latest[1] < sprint.knowledge.loops.version:
        return None
    return time_of(workspace, sprint, latest[1])


def _end(workspace: ServiceWorkspace, sprint: Sprint) -> dict[str, Any]:
    loops = sprint.knowledge.loops
    ended, version = loops.ended, loops.ended_version
    assert ended is not None
    told = {name: getattr(ended, name) for name in ("because", "exit_code", "why")}
    told["ended_at"] = ended.last_seen or time_of(workspace, sprint, version)
    told["worked_since"] = _has_worked(workspace, sprint, version)
    return {**told, "last_seen": ended.last_seen or UNSET}


def _has_worked(workspace: ServiceWorkspace, sprint: Sprint, after: int) -> bool:
    """Return whether the plan changed after a version, other than through decisions."""
    later = workspace.log.read_stream(
        sprint_stream(sprint.id), after=after, until=sprint.version
    )
    kinds = (CODEC.events.get(event.type) for event in later)
    return any(
        kind is not None and kind.kind is Kind.EXECUTION and kind.as_decision is None
        for kind in kinds
    )
