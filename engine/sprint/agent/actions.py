"""The actions that `next` returns, and the notices about a loop."""

from collections.abc import Collection

import msgspec

from ...errors import InvalidInputError
from ...log.event import made_from
from ..state.plan_records import LimitWait
from ..state.times import parse

START = "start"
WORK = "work"
ITERATE = "iterate"
HOOKS = "hooks"
MEASURE = "measure"
DECIDE = "decide"
RESTORE = "restore"
GATE = "gate"
END = "end"
RETRY = "retry"
WAIT = "wait"
RESUME = "resume"
COMPLETE = "complete"
STOP = "stop"
DONE = "done"

ACTIONS = {
    START: "the sprint has not begun: `sprint start`",
    WORK: "`phase start`, hand the prompt to an agent, record how it ended",
    ITERATE: "`iteration start`, hand the prompt to an agent, record what it did, "
    "`iteration end`",
    HOOKS: "run them: `hook-task spawned`, then `hook-task completed` or `failed`",
    MEASURE: "the iteration is over: `iteration measure --by-rules`",
    DECIDE: "it was measured, or the goal is claimed: `iteration decide` records what "
    "follows from that",
    RESTORE: "go back, plan and files: `rollback iter:N --yes` with N from `target`",
    GATE: "hand the prompt to an agent if there is one, then `gate run`",
    END: "the work is done, and its gate, if it has one, has passed: `phase complete`",
    RETRY: "the wait after a failure is over: `phase retry`",
    WAIT: "nothing before `until`",
    RESUME: "the loop was stopped from outside: `sprint resume`",
    COMPLETE: "everything is done: `sprint complete`",
    STOP: "a person is needed; `why` and `hint` give the reason",
    DONE: "the sprint is completed",
}
"""Every action, with its meaning for a loop."""

LIMIT = "limit"
BREAKPOINT = "breakpoint"
PAUSED = "paused"
BLOCKED = "blocked"
PERSON = "person"
BUDGET = "budget"
JUDGE = "judge"

STOPS = {
    LIMIT: "the iterations that the sprint may take are used up",
    BREAKPOINT: "a phase with `break: true` was completed",
    PAUSED: "somebody paused the sprint",
    BLOCKED: "the sprint cannot go on",
    PERSON: "a person is needed",
    BUDGET: "the budget of the loop is spent",
    JUDGE: "the measurements or unchanged files require a stop",
}
"""The reasons for a stop, with their meanings."""


ASK_NOW = "run `sprintlog sprint resume` to continue at once"
"""A hint on how to end a wait early."""


class HookRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A hook to run for an iteration."""

    id: str
    transcript: str
    """The path of the hook's transcript, relative to the sprint's directory."""
    workflow: str | None = None
    prompt: str | None = None
    command: str | None = None
    parallel: bool = False
    """Whether the next iteration may start while the hook runs."""


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """The next action of a loop; fields that do not apply are omitted."""

    do: str
    """A key of `ACTIONS`."""
    phase: str | None = None
    """The address of the leaf, or of the phase to which the gate belongs."""
    prompt: str | None = None
    """The prompt for the agent; `task` is the part that comes from the plan."""
    task: str | None = None
    model: str | None = None
    attempt: int | None = None
    """The number of the attempt at a leaf or a gate, from 1."""
    resumed: bool = False
    """Whether the leaf was started before and its outcome is unknown."""
    gated: bool = False
    """Whether `gate run` must follow this work before `phase complete`."""
    until: str | None = None
    waits_for: str | None = None
    """For a wait for a limit: `usage-limit`, `overload` or `network`."""
    said_by: str | None = None
    """For such a wait, the text that stated its end; if absent, waits grow longer."""
    because: str | None = None
    """For a stop, a key of `STOPS`."""
    why: str | None = None
    hint: str | None = None
    details: str | None = None
    """Details that help a person to decide."""
    error: str | None = None
    """The cause, if it was recorded separately from the reason for needing a person."""
    iteration: int | None = None
    """The number of the iteration, if iterations are judged."""
    target: int | None = None
    """The iteration to roll back to."""
    keeps_files: bool = False
    """Whether a snapshot must be taken at the end of the iteration."""
    reflection: bool = False
    """Whether the iteration is for reflection because the idle threshold was reached."""
    hooks: tuple[HookRun, ...] = ()
    is_fallback: bool = False
    """Whether the fallback does the work because a limit blocks the loop's own agent."""


def stop(because: str, why: str, hint: str, at: Action | None = None) -> Action:
    """Return a stop, by default without a phase; `at` is an action at the same place."""
    phase, iteration = (at.phase, at.iteration) if at else (None, None)
    return Action(
        STOP, because=because, phase=phase, iteration=iteration, why=why, hint=hint
    )


def waits(waiting: LimitWait) -> Action:
    """Return the action that waits for a limit to end."""
    more = {"do": WAIT, "phase": waiting.phase or None, "hint": ASK_NOW}
    return made_from(Action, waiting, **more, is_fallback=False)


def is_over(due: str, now: str) -> bool:
    """Return whether a wait that ends at `due` is over."""
    try:
        return parse(now) >= parse(due)
    except InvalidInputError:
        # Another tool wrote an invalid time, which is ignored.
        return True


STOPPED, QUALITY, WAITING = "stopped", "quality", "waiting"
NOTICES = {
    STOPPED: "the loop ended, whatever ended it",
    PERSON: "the loop ended and needs a person to go on",
    QUALITY: "after an iteration it is advised to go back, or that a person looks",
    WAITING: "the loop waits for long",
}
"""The kinds of notices, with their meanings."""

NEEDS_PERSON = frozenset({PERSON, BLOCKED, BREAKPOINT})
"""The stops that only a person can resolve."""


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A notice about a loop."""

    notice: str
    """A key of `NOTICES`."""
    sprint: str
    at: str
    because: str | None = None
    """For the end of a loop, the reason, as in `run-ended`."""
    exit_code: int | None = None
    why: str | None = None
    hint: str | None = None
    """The command that is suggested to a person."""
    phase: str | None = None
    iteration: int | None = None
    until: str | None = None
    """For a wait, the time at which it ends."""


def is_wanted(notice: str, of: Collection[str]) -> bool:
    """Return whether a notice was requested.

    A loop that needs a person has also stopped, so a request for STOPPED includes PERSON.
    """
    return notice in of or (notice == PERSON and STOPPED in of)


def of_end(
    sprint: str,
    because: str,
    exit_code: int,
    *,
    at: str,
    last: Action | None,
    why: str | None,
) -> Notice:
    """Return the notice that a run has ended; `last` is the action that ended it."""
    place = {n: getattr(last, n, None) for n in ("hint", "phase", "iteration")}
    notice = PERSON if because in NEEDS_PERSON else STOPPED
    place |= {"because": because, "exit_code": exit_code, "why": why}
    return Notice(notice=notice, sprint=sprint, at=at, **place)


def of_wait(sprint: str, action: Action, *, at: str) -> Notice:
    """Return the notice that the loop is waiting."""
    place = {n: getattr(action, n) for n in ("why", "phase", "iteration", "until")}
    return Notice(notice=WAITING, sprint=sprint, at=at, **place)


def of_advice(sprint: str, number: int, *, at: str, why: str) -> Notice:
    """Return the notice that a stop or a rollback is advised."""
    hint = f"`sprintlog report {number}`"
    return Notice(
        notice=QUALITY, sprint=sprint, at=at, iteration=number, why=why, hint=hint
    )
