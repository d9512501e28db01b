"""The events of a race. The stream is `race/ID`."""

import msgspec

from ..log.event import Event, Kind, Reach, Subject, events_of
from ..sprint.events.loop import Budgets


class Entrant(msgspec.Struct, frozen=True, omit_defaults=True):
    """The command of an attempt."""

    command: tuple[str, ...]
    """The agent's command."""
    name: str | None = None
    """The name under which the attempt is shown."""


class Ranked(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attempt in the order of a race's result; unknown figures are absent."""

    attempt: int
    """The number of the attempt."""
    iteration: int | None = None
    """The iteration that represents the attempt; null if it has no snapshot."""
    is_verified: bool = False
    """Whether a measurement confirms that the iteration reached the goal."""
    score: float | None = None
    """The score on the components that all compared attempts have."""
    measured_share: float | None = None
    """The share of the formula's weight that was measured."""
    tests_passed: int | None = None
    """The number of passed tests."""
    test_count: int | None = None
    """The number of tests."""
    cost_usd: float | None = None
    """The known cost of the attempt in US dollars."""
    is_cost_exact: bool = True
    """Whether the cost of every agent run is known."""
    files: int | None = None
    """The number of files that differ from the commit."""
    lines: int | None = None
    """The number of added and removed lines."""
    why: str | None = None
    """Why the attempt cannot win, if it cannot."""


class RaceEvent(Event, frozen=True):
    """An event of a race; rollbacks of sprints do not affect it."""

    kind = Kind.KNOWLEDGE
    subject = Subject("race")
    reach = Reach.NOTHING
    is_quiet = True


class RaceStarted(RaceEvent, frozen=True):
    """A race was defined."""

    stays = ("commit", "copies", "work_tree")
    only_caused = "`sprintlog race start` records it"
    commit: str
    """The commit from which every attempt starts."""
    attempts: tuple[Entrant, ...]
    """The attempts, in the order of their numbers."""
    options: tuple[str, ...] = ()
    """The options with which `sprintlog run` drives each attempt."""
    budgets: Budgets = Budgets()
    """The limits for all attempts together."""
    parallel: int = 1
    """The maximum number of attempts that one process runs at the same time."""
    prepare: str | None = None
    """The shell command that is run first in each worktree."""
    copies: tuple[str, ...] = ()
    """The paths that are copied from the work tree into each worktree."""
    work_tree: str | None = None
    """The id of the work tree in which the race was started."""


class AboutAttempt(RaceEvent, frozen=True):
    """An event about one attempt of a race."""

    subject = Subject("attempt", ("number",))
    number: int
    """The number of the attempt, from 1."""


class AttemptStarted(AboutAttempt, frozen=True):
    """An attempt was assigned to a worktree, which is created afterwards."""

    stays = ("sprint", "path", "host", "commit")
    only_caused = "`race start` and `race join` record it"
    sprint: str
    """The sprint of the attempt."""
    path: str
    """The worktree's path on its host."""
    host: str
    """The host name of the machine."""
    commit: str
    """The commit that the worktree contains at the start."""


class AttemptEnded(AboutAttempt, frozen=True):
    """An attempt ended, and is not continued."""

    only_caused = "the process that runs the attempt records it"
    status: int | None = None
    """The exit status of `sprintlog run`; null if unknown."""
    reason: str | None = None
    """Why the attempt ended."""
    is_verified: bool = False
    """Whether a measurement confirms that the goal was reached."""
    iteration: int | None = None
    """The iteration that represents the attempt; null if it has none."""
    files: int | None = None
    """The number of files of the iteration that differ from the attempt's start."""
    lines: int | None = None
    """The number of added and removed lines."""


class RaceDecided(RaceEvent, frozen=True):
    """A race ended with a winner, or without one."""

    stays = ("because",)
    subject = Subject("race", ("because",))
    only_caused = "the process that records the end of the last attempt records it"
    because: str
    """What ended the race: `verified`, `budget`, `stopped`, or `ended` for all attempts."""
    status: int
    """The exit status of the race."""
    winner: int | None = None
    """The attempt that won; null if no attempt can win."""
    iteration: int | None = None
    """The winner's iteration."""
    reason: str | None = None
    """The criterion that decided, with the figures of the best two attempts."""
    ranking: tuple[Ranked, ...] = ()
    """All attempts, the best first."""


class AttemptApplied(AboutAttempt, frozen=True):
    """The files of an attempt were handed over."""

    stays = ("how",)
    only_caused = "the command that applies an attempt records it"
    iteration: int
    """The iteration whose files they are."""
    how: str
    """`tree`, `branch` or `patch`."""
    place: str = ""
    """The work tree, the name of the branch, or the path of the patch."""


class AttemptRemoved(AboutAttempt, frozen=True):
    """The worktree of an attempt is removed; its files are in a snapshot."""

    stays = ("snapshot", "path")
    only_caused = "the command that removes a worktree records it before"
    path: str
    """The worktree's path."""
    snapshot: str | None = None
    """The snapshot of its files; null if the worktree no longer existed."""


RACE_EVENTS = events_of(__name__)
