"""Notices that a loop can send to a person; pure."""

from collections.abc import Collection

import msgspec

from . import actions
from .actions import Action

STOPPED, PERSON, QUALITY, WAITING = "stopped", "person", "quality", "waiting"
NOTICES = {
    STOPPED: "the loop ended, whatever ended it",
    PERSON: "the loop ended and needs a person to go on",
    QUALITY: "after an iteration it is advised to go back, or that a person looks",
    WAITING: "the loop waits for long",
}
"""The kinds of notices, with their meanings."""

NEEDS_PERSON = frozenset({actions.PERSON, actions.BLOCKED, actions.BREAKPOINT})
"""The stops that only a person's word leads on from."""


class Notice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One notice about a loop."""

    notice: str
    """A word of `NOTICES`."""
    sprint: str
    at: str
    because: str | None = None
    """Of an end: what it came from, as `run-ended` has it."""
    exit_code: int | None = None
    why: str | None = None
    hint: str | None = None
    """What a person can type."""
    phase: str | None = None
    iteration: int | None = None
    until: str | None = None
    """Of a wait: when it is over."""


def is_wanted(notice: str, of: Collection[str]) -> bool:
    """Return whether a notice was requested.

    PERSON is also an end: a request for STOPPED includes it.
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
    """Return the notice of a run's end; `last` is the answer that ended it."""
    return Notice(
        notice=PERSON if because in NEEDS_PERSON else STOPPED,
        sprint=sprint,
        at=at,
        because=because,
        exit_code=exit_code,
        why=why,
        hint=last.hint if last else None,
        phase=last.phase if last else None,
        iteration=last.iteration if last else None,
    )


def of_wait(sprint: str, action: Action, *, at: str) -> Notice:
    """Return the notice of a wait."""
    return Notice(
        notice=WAITING,
        sprint=sprint,
        at=at,
        why=action.why,
        phase=action.phase,
        iteration=action.iteration,
        until=action.until,
    )


def of_advice(sprint: str, number: int, *, at: str, why: str) -> Notice:
    """Return the notice of advice to stop or roll back."""
    return Notice(
        notice=QUALITY,
        sprint=sprint,
        at=at,
        iteration=number,
        why=why,
        hint=f"`sprintlog report {number}`",
    )
