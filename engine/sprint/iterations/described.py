"""Descriptions of iterations: parameters, notes, and tags."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import field

from ...command import Command, Events
from ...errors import NotFoundError, RefusedError
from ...judging.events import IterationDescribed
from ...judging.tracker import BASELINE_NUMBER
from ...log.event import Event, made_from
from ..events import AgentRan, GitState
from ..state.knowledge import newest_first
from ..state.sprint import Sprint
from ..state.transitions import check_exists

NAME = r"[A-Za-z_][A-Za-z0-9_.-]{0,63}"
TAG = r"[A-Za-z0-9][A-Za-z0-9._/-]{0,63}"
VALUE_CHARS_MAX = 1000
NOTE_CHARS_MAX = 10_000
COUNT_MAX = 100
"""The maximum number of parameters or tags in one description."""
MODEL, PROMPT = "model", "prompt_sha256"
"""Parameters taken from the agent runs unless a description sets them."""


class Description(NamedTuple):
    """The combined description of an iteration; later values replace earlier ones."""

    params: dict[str, str]
    notes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    git: GitState | None = None
    """The state of the repository at the end of the iteration."""

    def having(self, event: IterationDescribed) -> "Description":
        """Return this description updated with a later event."""
        gone = {*event.tags_removed}
        kept = (tag for tag in self.tags if tag not in gone)
        notes = () if event.note is None else (event.note,)
        return self._replace(
            params={**self.params, **event.params},
            notes=(*self.notes, *notes),
            tags=tuple(dict.fromkeys((*kept, *event.tags))),
        )

    def with_run(self, ran: AgentRan) -> "Description":
        """Return this description with the parameters of an agent's run added."""
        told = {MODEL: ran.model or ", ".join(ran.models), PROMPT: ran.prompt_sha256}
        known = {name: value for name, value in told.items() if value}
        return self._replace(params={**self.params, **known})


class DescribeIteration(Command, frozen=True):
    """Describe an iteration, by default the latest, with parameters, a note and tags.

    If a parameter is set again, the last value applies.
    """

    number: int | None = None
    params: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    tags: tuple[str, ...] = ()
    tags_removed: tuple[str, ...] = ()

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        check_exists(sprint)
        if (number := self.number) is None:
            number = sprint.plan.iteration or None
        if number is None or not _is_there(sprint, number):
            name = "an iteration" if number is None else f"iteration {number}"
            raise NotFoundError(
                f"cannot describe {name}: it was never started", iteration=number
            )
        given = made_from(IterationDescribed, self, number=number)
        check_description(given)
        if given == IterationDescribed(number):
            raise RefusedError(
                "nothing to record",
                hint="specify --param NAME=VALUE, --note TEXT, --tag WORD or --untag WORD",
                command="describe",
            )
        return [] if sprint.knowledge.tracker.described == given else [given]


def check_description(given: IterationDescribed) -> None:
    """Raise `RefusedError` if a name or tag is invalid or a text is too long."""
    check_params(given.params)
    for tag in (*given.tags, *given.tags_removed):
        if not re.fullmatch(TAG, tag):
            raise RefusedError(
                f"tag {tag[:40]!r} must contain only letters, digits, `.`, `_`, `/` and "
                "`-`",
                field="tags",
            )
    if len(given.tags) > COUNT_MAX or len(given.tags_removed) > COUNT_MAX:
        raise RefusedError(f"a command accepts at most {COUNT_MAX} tags", field="tags")
    if both := {*given.tags} & {*given.tags_removed}:
        raise RefusedError(f"tag {min(both)} is both added and removed", field="tags")
    if given.note is not None and not 0 < len(given.note.strip()) <= NOTE_CHARS_MAX:
        raise RefusedError(
            f"a note must have 1 to {NOTE_CHARS_MAX} characters, not {len(given.note)}",
            field="note",
        )


def check_params(params: Mapping[str, str]) -> None:
    """Raise `RefusedError` if the parameters are invalid."""
    if len(params) > COUNT_MAX:
        raise RefusedError(
            f"a command accepts at most {COUNT_MAX} parameters", field="params"
        )
    for name, value in params.items():
        if not re.fullmatch(NAME, name):
            raise RefusedError(
                f"parameter {name[:40]!r} must contain only letters, digits, `.`, `_` and "
                "`-`, and not start with a digit",
                field="params",
            )
        if len(value) > VALUE_CHARS_MAX:
            raise RefusedError(
                f"parameter {name} has {len(value)} characters; at most {VALUE_CHARS_MAX} "
                "are allowed",
                field=name,
            )


def made_with(number: int, params: Mapping[str, str]) -> list[Event]:
    """Return the event that records an iteration's parameters, if there are any."""
    check_params(params)
    return [IterationDescribed(number, dict(params))] if params else []


def _is_there(sprint: Sprint, number: int) -> bool:
    if number == BASELINE_NUMBER:
        return sprint.knowledge.tracker.baseline is not None
    return any(known == number for known, _ in newest_first(sprint.knowledge.starts))


CAUSED: Events = {IterationDescribed: DescribeIteration}
