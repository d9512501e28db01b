"""The actions that `next` returns, with their fields, and the notices about a loop."""

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
    DECIDE: "it was measured: `iteration decide` records what follows from that",
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
    JUDGE: "the measurements require a stop",
}
"""What a stop can be because of."""


ASK_NOW = "`sprintlog sprint resume` continues at once"
"""What ends a wait before its time."""


class HookRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A hook to run for an iteration."""

    id: str
    transcript: str
    """Where its output is kept, seen from the sprint's directory."""
    workflow: str | None = None
    prompt: str | None = None
    command: str | None = None
    parallel: bool = False
    """Whether the next iteration may begin while it runs."""


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """The next thing for a loop to do; fields that do not apply are omitted."""

    do: str
    """A word of `ACTIONS`."""
    phase: str | None = None
    """Address of the leaf, or of the phase whose gate is meant."""
    prompt: str | None = None
    """The prompt for the agent; `task` is the plan's part of it."""
    task: str | None = None
    model: str | None = None
    attempt: int | None = None
    """1 for the first time that a leaf is worked on or a gate is run."""
    resumed: bool = False
    """The leaf was started before, and its outcome is unknown."""
    gated: bool = False
    """`gate run` comes after this work, before `phase complete`."""
    until: str | None = None
    waits_for: str | None = None
    """Of a wait for a limit: a word of `limits.WAITS_FOR`."""
    said_by: str | None = None
    """Of it: the words that said until when; without them the wait grows."""
    because: str | None = None
    """Of a stop: a word of `STOPS`."""
    why: str | None = None
    hint: str | None = None
    details: str | None = None
    """What helps a person to decide."""
    error: str | None = None
    """The cause, if it was recorded separately from the reason why a person is needed."""
    iteration: int | None = None
    """The number of the iteration that is meant; in a plan where iterations are judged."""
    target: int | None = None
    """The iteration to go back to."""
    keeps_files: bool = False
    """A snapshot must be taken at the end of the iteration."""
    reflection: bool = False
    """The iteration reflects: nothing moved for as long as the threshold says."""
    hooks: tuple[HookRun, ...] = ()
    is_fallback: bool = False
    """The fallback works, since a limit prevents the loop's own agent: `until`, `why`."""


def waits(waiting: LimitWait) -> Action:
    """Return the action that waits for a limit to end."""
    more = {"do": WAIT, "phase": waiting.phase or None, "hint": ASK_NOW}
    return made_from(Action, waiting, **more, is_fallback=False)


def is_over(due: str, now: str) -> bool:
    """Return whether the wait is over."""
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
    """A word of `NOTICES`."""
    sprint: str
    at: str
    because: str | None = None
    """Of an end: what it came from, as `run-ended` has it."""
    exit_code: int | None = None
    why: str | None = None
    hint: str | None = None
    """A command for a person."""
    phase: str | None = None
    iteration: int | None = None
    until: str | None = None
    """Of a wait: when it is over."""


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
    """Return the notice about a run's end; `last` is the action that caused the end."""
    place = {n: getattr(last, n, None) for n in ("hint", "phase", "iteration")}
    notice = PERSON if because in NEEDS_PERSON else STOPPED
    place |= {"because": because, "exit_code": exit_code, "why": why}
    return Notice(notice=notice, sprint=sprint, at=at, **place)


def of_wait(sprint: str, action: Action, *, at: str) -> Notice:
    """Return the notice that a loop is waiting."""
    place = {n: getattr(action, n) for n in ("why", "phase", "iteration", "until")}
    return Notice(notice=WAITING, sprint=sprint, at=at, **place)


def of_advice(sprint: str, number: int, *, at: str, why: str) -> Notice:
    """Return the notice that the loop is advised to stop or roll back."""
    hint = f"`sprintlog report {number}`"
    return Notice(
        notice=QUALITY, sprint=sprint, at=at, iteration=number, why=why, hint=hint
    )
