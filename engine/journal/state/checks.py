"""Validation of entries, learnings and patterns, field by field (JRN-070)."""

import re
from datetime import UTC, datetime
from typing import Any

from ...errors import RefusedError
from .shapes import ANY, ClosedObject, Entry, FieldRule, rules_of

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
