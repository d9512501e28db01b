"""Answers about races: their attempts, and the order of the attempts."""

from msgspec import Struct

from sprintlog.engine import races as f
from sprintlog.engine.races import Attempt, Race, rank
from sprintlog.engine.service.driver.races import candidate_of, race_ids, spending
from sprintlog.engine.service.workspace import ServiceWorkspace

from .events import filled
from .runs import BudgetStanding
from .runs import told as budgets_told

NOT_STARTED, PREPARING, RUNNING = "not-started", "preparing", "running"
VERIFIED, ENDED, REMOVED = "verified", "ended", "removed"
"""The states of an attempt."""
_DECIDED = ("because", "winner", "iteration", "reason")


class AttemptAnswer(Struct, frozen=True):
    """An attempt of a race."""

    attempt: int
    name: str
    command: tuple[str, ...]
    sprint: str
    state: str
    """`not-started`, `preparing`, `running`, `verified`, `ended` or `removed`."""
    reason: str | None
    """Why the attempt ended, or why it cannot win."""
    status: int | None
    """The exit status of its run."""
    iterations: int
    """The number of iterations that started."""
    figures: f.Ranked
    """The figures of the iteration that represents the attempt."""
    host: str | None
    path: str | None
    applied: tuple[str, ...]
    """How the attempt's files were handed over."""


class RaceAnswer(Struct, frozen=True):
    """A race, with its attempts in the order of their numbers."""

    race: str
    status: str
    """`running` or `decided`."""
    at: str
    commit: str
    attempts: list[AttemptAnswer]
    ranking: tuple[int, ...]
    """The attempts from best to worst so far."""
    budgets: list[BudgetStanding]
    because: str | None
    """What ended the race."""
    exit_code: int | None
    """The exit status of the race."""
    winner: int | None
    iteration: int | None
    """The winner's iteration."""
    reason: str | None
    """The criterion that decided."""
    others: tuple[str, ...]
    """The other races in the log, oldest first."""


def race_answer(workspace: ServiceWorkspace, race: Race) -> RaceAnswer:
    """Return a race with the current figures of its attempts."""
    decided = race.decided
    found = rank([candidate_of(workspace, race, one) for one in race.attempts.values()])
    ranked = found.ranked if decided is None else decided.ranking
    by_number = {one.attempt: one for one in ranked}
    attempts = race.attempts.items()
    return filled(
        RaceAnswer,
        race,
        race=race.id,
        status="running" if decided is None else "decided",
        commit=race.defined.commit,
        attempts=[_attempt(workspace, race, one, by_number[n]) for n, one in attempts],
        ranking=tuple(by_number),
        budgets=budgets_told(spending(workspace, race)),
        exit_code=getattr(decided, "status", None),
        **{name: getattr(decided, name, None) for name in _DECIDED},
        others=tuple(one for one in race_ids(workspace.log) if one != race.id),
    )


def _attempt(
    workspace: ServiceWorkspace, race: Race, one: Attempt, ranked: f.Ranked
) -> AttemptAnswer:
    sprint, ended = workspace.sprint(race.sprint_of(one.number)), one.ended
    state = NOT_STARTED if one.started is None else RUNNING if sprint.exists else PREPARING
    if ended is not None:
        state = VERIFIED if ended.is_verified else ENDED
    started = one.started
    return filled(
        AttemptAnswer,
        ranked,
        figures=ranked,
        name=one.name,
        command=one.entrant.command,
        sprint=race.sprint_of(one.number),
        state=state if one.removed is None else REMOVED,
        reason=ranked.why if ended is None else ended.reason,
        status=ended and ended.status,
        iterations=sprint.knowledge.begun,
        host=started and started.host,
        path=started and started.path,
        applied=tuple(how.how for how in one.applied),
    )
