"""The parts of a journal, and the rules for their fields, in the order of progress.json.

The rules (JRN-070, and the closed word lists) apply to new records and imported files;
stored events are decoded without them. As in the specification's own writer, empty fields
are omitted: absent values, "", [] and counters at 0. `false` is a value and is written.
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
    *("bug", "stub", "dependency", "scope-creep", "api-issue", "test-failure"),
    *("tooling-friction", "architecture", "documentation", "performance", "security"),
)
SEVERITIES = ("critical", "high", "medium", "low", "info")
ACTIONS = ("fixed", "deferred", "escalated", "documented", "none")

RETRY = "retry"
MANUAL = "manual"
RECOVERY_ACTIONS = (RETRY, "fix-state", "break-chunks", "skip", MANUAL)

CODEBASE_PATTERN = "codebase-pattern"
ERROR_WORKAROUND = "error-workaround"
LEARNING_TYPES = (
    *(CODEBASE_PATTERN, "build-command", "test-pattern", "api-convention"),
    *(ERROR_WORKAROUND, "tool-usage", "architecture-constraint", "dependency-quirk"),
)
PATTERN_TYPES = (
    *("file-structure", "naming-convention", "api-pattern", "test-pattern"),
    *("error-handling", "state-management", "build-pattern", "deployment-pattern"),
)
CONFIDENCES = ("high", "medium", "low")
REQUIRED = "field is required"
INTEGER_MAX = 2**63 - 1

# The RFC 3339 format that both readers in the specification accept.
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d{1,9})?\d*(Z|[+-]\d{2}:\d{2})", re.ASCII
)


class FieldRule(NamedTuple):
    """The constraints on a field, in addition to its type."""

    is_needed: bool = False
    words: tuple[str, ...] = ()
    """The permitted words, if the field has a closed list."""
    least: int | None = None
    """The minimum of a numeric field."""
    is_moment: bool = False
    pattern: str = ""
    """The pattern of an id in files; generated ids always match it."""


ANY = FieldRule()
Needed = Annotated[str, FieldRule(is_needed=True)]
Moment = Annotated[str, FieldRule(is_needed=True, is_moment=True)]
Count = Annotated[int, FieldRule(least=0)]
FromOne = Annotated[int, FieldRule(is_needed=True, least=1)]


class ClosedObject(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A closed object in progress.json."""

    extra: dict[str, Any] = {}
    """Fields from a later version of the schema, which are kept unchanged."""


class Observation(ClosedObject, frozen=True, kw_only=True):
    """An observation made while working on an entry."""

    type: Annotated[str, FieldRule(True, OBSERVATION_TYPES)]
    """`blocker` (cannot continue), `finding` (noticed) or `completion` (already done)."""
    title: Needed
    """A short description."""
    description: str = ""
    """The details, and the agent's assessment."""
    file: str = ""
    """The file that the observation concerns."""
    category: Annotated[str, FieldRule(words=CATEGORIES)] = ""
    """The category, from the list in the specification."""
    severity: Annotated[str, FieldRule(words=SEVERITIES)] = ""
    """`critical`, `high`, `medium`, `low` or `info`."""
    action_taken: Annotated[str, FieldRule(words=ACTIONS)] = ""
    """The action taken: `fixed`, `deferred`, `escalated`, `documented` or `none`."""
    related_learning_id: str = ""
    """The id of the learning that resulted from the observation."""


class Context(ClosedObject, frozen=True, kw_only=True):
    """The context of an iteration."""

    retry_count: Count = 0
    """The number of earlier retries of this PRD."""
    previous_failure_reason: str = ""
    """Why the previous iteration failed."""
    recovery_action: Annotated[str, FieldRule(words=RECOVERY_ACTIONS)] = ""
    """`retry`, `fix-state`, `break-chunks`, `skip` or `manual`."""
    recovery_guidance: str = ""
    """The guidance for this iteration."""
    dependencies_completed: tuple[str, ...] = ()
    """The PRDs that were completed earlier; they do not require entries."""
    blocker_verified: bool | None = None
    """Whether the reported blocker was checked."""
    blocker_valid: bool | None = None
    """Whether the check confirmed the blocker."""


class Entry(ClosedObject, frozen=True, kw_only=True):
    """A record of an iteration's work on a PRD."""

    id: Annotated[str, FieldRule(pattern=state.ENTRY_ID)] = ""
    """`{prd_id}-{iteration}`, in lower-case letters, digits and dashes."""
    timestamp: Moment = ""
    """The end time in RFC 3339, stored verbatim."""
    prd_id: Needed = ""
    """The PRD on which the agent worked, stored verbatim."""
    iteration: FromOne = 0
    """The number of the PRD's iteration, from 1."""
    status: Annotated[str, FieldRule(True, STATUSES)] = ""
    """`completed`, `failed`, `blocked` or `partial`."""
    duration_seconds: Count = 0
    """The duration in seconds."""
    summary: str = ""
    """A one-line summary."""
    observations: tuple[Observation, ...]
    """The observations made during the work."""
    files_modified: tuple[str, ...] = ()
    """The paths of the changed files."""
    git_commits: tuple[str, ...] = ()
    """The commits that were made, in any notation."""
    context: Context | None = None
    """The circumstances of the iteration."""


class Learning(ClosedObject, frozen=True, kw_only=True):
    """An insight that applies beyond the iteration in which it was gained."""

    id: Annotated[str, FieldRule(pattern=state.LEARNING_ID)] = ""
    """`learning-` followed by four digits."""
    type: Annotated[str, FieldRule(True, LEARNING_TYPES)] = ""
    """The kind, from the list in the specification."""
    content: Needed = ""
    """The insight itself."""
    context: str = ""
    """The context in which the insight applies."""
    source_prd_id: Needed = ""
    """The PRD from which the insight was gained."""
    source_entry_id: str = ""
    """The entry from which the insight was gained."""
    created_at: Moment = ""
    """The time of the insight in RFC 3339, stored verbatim."""
    times_referenced: Count = 0
    """The number of uses before the learning was recorded; later references are added."""
    still_valid: bool
    """Whether the learning was valid when it was recorded."""


class Pattern(ClosedObject, frozen=True, kw_only=True):
    """A recurring convention in the codebase."""

    id: Annotated[str, FieldRule(pattern=state.PATTERN_ID)] = ""
    """`pattern-` followed by four digits."""
    name: Needed = ""
    """The name."""
    type: Annotated[str, FieldRule(True, PATTERN_TYPES)] = ""
    """The kind, from the list in the specification."""
    description: str = ""
    """The convention and how to follow it."""
    examples: tuple[str, ...] = ()
    """Paths or code snippets that show the convention."""
    discovered_at: Moment = ""
    """The time of discovery in RFC 3339, stored verbatim."""
    source_prd_id: str = ""
    """The PRD in which the pattern was discovered."""
    confidence: Annotated[str, FieldRule(words=CONFIDENCES)] = ""
    """`high`, `medium` or `low`."""


@cache
def rules_of(kind: type[ClosedObject]) -> dict[str, FieldRule]:
    """Return the rule for each field of a part, in order."""
    fields = [field for field in structs.fields(kind) if field.name != "extra"]
    return {
        field.name: next(iter(getattr(field.type, "__metadata__", ())), ANY)
        for field in fields
    }


def refuse(field: str, problem: str, hint: str | None = None) -> RefusedError:
    """Return the error for an invalid field."""
    return RefusedError(f"{field}: {problem}", hint=hint, field=field)


def event_time(text: str, *, field: str) -> str:
    """Return a time with the log's precision; raise `RefusedError` if it is invalid.

    The first instant of year 1 counts as missing, because other tools write it for a
    missing time.
    """
    match = _MOMENT.fullmatch(text)
    try:
        if not match:
            raise ValueError
        shown = f"{match[1]}{match[2] or ''}{match[3]}"
        moment = datetime.fromisoformat(shown).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        problem = f"invalid time {text[:40]!r}: must be RFC 3339, like 2026-01-15T09:00:00Z"
        raise refuse(field, problem if text else REQUIRED) from error
    if moment == datetime.min.replace(tzinfo=UTC):
        raise refuse(field, REQUIRED)
    return shown


def check(part: ClosedObject, field: str) -> None:
    """Raise a `RefusedError` that names the first field with an invalid value.

    Times are checked last, because a missing time is filled in if all other fields are
    valid.
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
    """Return why a field's value is invalid; None if it is valid."""
    if rule.least is not None:
        if rule.least > 0 and value < rule.least:
            return f"must be >= {rule.least}"
        return None if 0 <= value <= INTEGER_MAX else f"must be 0 to {INTEGER_MAX}"
    if not value:
        return REQUIRED if rule.is_needed else None
    if not rule.words or value in rule.words:
        return None
    return f'invalid value "{value[:40]}"; allowed: {", ".join(rule.words)}'
