"""What a journal consists of, field by field and in the order of progress.json.

The rules of the fields hold for what is recorded from now on, and for files that are
read; stored events are decoded whatever they say. Empty fields are omitted, as by the
specification's own writer: absent values, "", [] and counters at 0. `false` is a
statement and is written.
"""

import re
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import structs

from ..errors import RefusedError
from . import state

COMPLETED = "completed"
FAILED = "failed"
BLOCKED = "blocked"

PARTIAL = "partial"

STATUSES = (COMPLETED, FAILED, BLOCKED, PARTIAL)

BLOCKER = "blocker"
FINDING = "finding"
OBSERVATION_TYPES = (BLOCKER, FINDING, "completion")
CATEGORIES = (
    "bug",
    "stub",
    "dependency",
    "scope-creep",
    "api-issue",
    "test-failure",
    "tooling-friction",
    "architecture",
    "documentation",
    "performance",
    "security",
)
SEVERITIES = ("critical", "high", "medium", "low", "info")
ACTIONS = ("fixed", "deferred", "escalated", "documented", "none")

RETRY = "retry"
MANUAL = "manual"
RECOVERY_ACTIONS = (RETRY, "fix-state", "break-chunks", "skip", MANUAL)

CODEBASE_PATTERN = "codebase-pattern"
ERROR_WORKAROUND = "error-workaround"
LEARNING_TYPES = (
    CODEBASE_PATTERN,
    "build-command",
    "test-pattern",
    "api-convention",
    ERROR_WORKAROUND,
    "tool-usage",
    "architecture-constraint",
    "dependency-quirk",
)
PATTERN_TYPES = (
    "file-structure",
    "naming-convention",
    "api-pattern",
    "test-pattern",
    "error-handling",
    "state-management",
    "build-pattern",
    "deployment-pattern",
)
CONFIDENCES = ("high", "medium", "low")


class FieldRule(NamedTuple):
    """The rule of a field, beyond its type."""

    is_needed: bool = False
    words: tuple[str, ...] = ()
    """Its closed word list, if it has one."""
    least: int | None = None
    """The lowest number allowed, in a field for one."""
    is_moment: bool = False
    pattern: str = ""
    """The form of an id in files; our own ids follow from the rules."""


ANY = FieldRule()
Needed = Annotated[str, FieldRule(is_needed=True)]
Moment = Annotated[str, FieldRule(is_needed=True, is_moment=True)]
Count = Annotated[int, FieldRule(least=0)]
FromOne = Annotated[int, FieldRule(is_needed=True, least=1)]


class ClosedObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A closed object of progress.json."""

    extra: dict[str, Any] = {}
    """Fields of a later version of the schema, kept unchanged."""


class Observation(ClosedObject, frozen=True, kw_only=True):
    """Something noticed while working on an entry."""

    type: Annotated[str, FieldRule(True, OBSERVATION_TYPES)]
    """`blocker` (cannot go on), `finding` (noticed) or `completion` (was there already)."""
    title: Needed
    """What it is, in a few words."""
    description: str = ""
    """What was noticed, and what the agent thought of it."""
    file: str = ""
    """The file it is about."""
    category: Annotated[str, FieldRule(words=CATEGORIES)] = ""
    """What kind of thing it is, of the list in the specification."""
    severity: Annotated[str, FieldRule(words=SEVERITIES)] = ""
    """`critical`, `high`, `medium`, `low` or `info`."""
    action_taken: Annotated[str, FieldRule(words=ACTIONS)] = ""
    """What was done about it: `fixed`, `deferred`, `escalated`, `documented` or `none`."""
    related_learning_id: str = ""
    """The learning that it led to."""


class Context(ClosedObject, frozen=True, kw_only=True):
    """How an iteration came about."""

    retry_count: Count = 0
    """How often this PRD was tried again before."""
    previous_failure_reason: str = ""
    """Why the iteration before failed."""
    recovery_action: Annotated[str, FieldRule(words=RECOVERY_ACTIONS)] = ""
    """`retry`, `fix-state`, `break-chunks`, `skip` or `manual`."""
    recovery_guidance: str = ""
    """What was advised for this iteration."""
    dependencies_completed: tuple[str, ...] = ()
    """PRDs completed before; they need no entry of their own."""
    blocker_verified: bool | None = None
    """Whether somebody checked what is said to block."""
    blocker_valid: bool | None = None
    """Whether it was found to block."""


class Entry(ClosedObject, frozen=True, kw_only=True):
    """One iteration's work on a PRD, as it ended."""

    id: Annotated[str, FieldRule(pattern=state.ENTRY_ID)] = ""
    """`{prd_id}-{iteration}`, in small letters, digits and dashes."""
    timestamp: Moment = ""
    """When it ended: RFC 3339, as it was given."""
    prd_id: Needed = ""
    """The PRD that was worked on, as it was given."""
    iteration: FromOne = 0
    """The how many-th of this PRD, from 1."""
    status: Annotated[str, FieldRule(True, STATUSES)] = ""
    """`completed`, `failed`, `blocked` or `partial`."""
    duration_seconds: Count = 0
    """How long it took."""
    summary: str = ""
    """What happened, in one line."""
    observations: tuple[Observation, ...]
    """What was noticed."""
    files_modified: tuple[str, ...] = ()
    """Paths of the files it changed."""
    git_commits: tuple[str, ...] = ()
    """The commits it made, in whatever form they were given."""
    context: Context | None = None
    """How it came about."""


class Learning(ClosedObject, frozen=True, kw_only=True):
    """Something that holds beyond the iteration in which it was learned."""

    id: Annotated[str, FieldRule(pattern=state.LEARNING_ID)] = ""
    """`learning-` and four digits."""
    type: Annotated[str, FieldRule(True, LEARNING_TYPES)] = ""
    """Its kind, of the list in the specification."""
    content: Needed = ""
    """What was learned."""
    context: str = ""
    """Where it applies."""
    source_prd_id: Needed = ""
    """The PRD it was learned from."""
    source_entry_id: str = ""
    """The entry it was learned from."""
    created_at: Moment = ""
    """When it was learned: RFC 3339, as it was given."""
    times_referenced: Count = 0
    """How often it had been used when it came in; its references are added to that."""
    still_valid: bool
    """Whether it held when it came in."""


class Pattern(ClosedObject, frozen=True, kw_only=True):
    """Something that the codebase does in the same way again and again."""

    id: Annotated[str, FieldRule(pattern=state.PATTERN_ID)] = ""
    """`pattern-` and four digits."""
    name: Needed = ""
    """What it is called."""
    type: Annotated[str, FieldRule(True, PATTERN_TYPES)] = ""
    """Its kind, of the list in the specification."""
    description: str = ""
    """What it is, and how to follow it."""
    examples: tuple[str, ...] = ()
    """Paths or pieces of code that show it."""
    discovered_at: Moment = ""
    """When it was discovered: RFC 3339, as it was given."""
    source_prd_id: str = ""
    """The PRD it was discovered in."""
    confidence: Annotated[str, FieldRule(words=CONFIDENCES)] = ""
    """`high`, `medium` or `low`."""


@cache
def rules_of(kind: type[ClosedObject]) -> dict[str, FieldRule]:
    """Return the rule of each field of a part, in their order."""
    fields = [field for field in structs.fields(kind) if field.name != "extra"]
    return {
        field.name: next(iter(getattr(field.type, "__metadata__", ())), ANY)
        for field in fields
    }


REQUIRED = "field is required"
INTEGER_MAX = 2**63 - 1

# The form of RFC 3339 that both readers of the specification take.
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d{1,9})?\d*(Z|[+-]\d{2}:\d{2})", re.ASCII
)


def refuse(field: str, problem: str, hint: str | None = None) -> RefusedError:
    """Return the refusal of a field."""
    return RefusedError(f"{field}: {problem}", hint=hint, field=field)


def event_time(text: str, *, field: str) -> str:
    """Return a time as the log can take it; raise `RefusedError` for what is none.

    The first moment of year 1 is what other tools write for no time at all.
    """
    match = _MOMENT.fullmatch(text)
    try:
        if not match:
            raise ValueError
        shown = f"{match[1]}{match[2] or ''}{match[3]}"
        moment = datetime.fromisoformat(shown).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        problem = f"{text[:40]!r} is no time; give RFC 3339, like 2026-01-15T09:00:00Z"
        raise refuse(field, problem if text else REQUIRED) from error
    if moment == datetime.min.replace(tzinfo=UTC):
        raise refuse(field, REQUIRED)
    return shown


def check(part: ClosedObject, field: str) -> None:
    """Raise `RefusedError` naming the first field that says what it may not.

    A field with a time comes last: it is filled in if nothing else is wrong.
    """
    moments = []
    for name, rule in rules_of(type(part)).items():
        if rule.is_moment:
            moments.append(name)
        elif rule is not ANY and (problem := _problem(rule, getattr(part, name))):
            raise refuse(f"{field}.{name}", problem)
    if isinstance(part, Entry):
        for index, observation in enumerate(part.observations):
            check(observation, f"{field}.observations[{index}]")
        if part.context is not None:
            check(part.context, f"{field}.context")
    for name in moments:
        event_time(getattr(part, name), field=f"{field}.{name}")


def _problem(rule: FieldRule, value: Any) -> str | None:
    """Return why a field may not say that."""
    if rule.least is not None:
        if rule.least > 0 and value < rule.least:
            return f"must be >= {rule.least}"
        return None if 0 <= value <= INTEGER_MAX else f"must be 0 to {INTEGER_MAX}"
    if not value:
        return REQUIRED if rule.is_needed else None
    if not rule.words or value in rule.words:
        return None
    return f'invalid value "{value[:40]}"; allowed: {", ".join(rule.words)}'
