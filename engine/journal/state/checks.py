"""Validation of entries, learnings and patterns, field by field (JRN-070)."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from ...errors import RefusedError
from . import words
from .shapes import Context, Entry, Learning, Observation, Pattern

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


def check_entry(entry: Entry) -> None:
    """Raise `RefusedError` naming the first field that says what it may not."""
    _check_text("entry.prd_id", entry.prd_id)
    if entry.iteration < 1:
        raise refuse("entry.iteration", "must be >= 1")
    _check_count("entry.iteration", entry.iteration)
    _check_word("entry.status", entry.status, words.STATUSES)
    _check_count("entry.duration_seconds", entry.duration_seconds)
    for index, observation in enumerate(entry.observations):
        _check_observation(f"entry.observations[{index}]", observation)
    if entry.context is not None:
        _check_context("entry.context", entry.context)
    event_time(entry.timestamp, field="entry.timestamp")


def check_learning(learning: Learning) -> None:
    """Raise `RefusedError` naming the first field that says what it may not."""
    _check_word("learning.type", learning.type, words.LEARNING_TYPES)
    _check_text("learning.content", learning.content)
    _check_text("learning.source_prd_id", learning.source_prd_id)
    _check_count("learning.times_referenced", learning.times_referenced)
    event_time(learning.created_at, field="learning.created_at")


def check_pattern(pattern: Pattern) -> None:
    """Raise `RefusedError` naming the first field that says what it may not."""
    _check_text("pattern.name", pattern.name)
    _check_word("pattern.type", pattern.type, words.PATTERN_TYPES)
    if pattern.confidence:
        _check_word("pattern.confidence", pattern.confidence, words.CONFIDENCES)
    event_time(pattern.discovered_at, field="pattern.discovered_at")


def _check_observation(field: str, observation: Observation) -> None:
    _check_word(f"{field}.type", observation.type, words.OBSERVATION_TYPES)
    _check_text(f"{field}.title", observation.title)
    for name, allowed in (
        ("category", words.CATEGORIES),
        ("severity", words.SEVERITIES),
        ("action_taken", words.ACTIONS),
    ):
        if said := getattr(observation, name):
            _check_word(f"{field}.{name}", said, allowed)


def _check_context(field: str, context: Context) -> None:
    _check_count(f"{field}.retry_count", context.retry_count)
    if said := context.recovery_action:
        _check_word(f"{field}.recovery_action", said, words.RECOVERY_ACTIONS)


def _check_text(field: str, text: str) -> None:
    if not text:
        raise refuse(field, REQUIRED)


def _check_count(field: str, count: int) -> None:
    if not 0 <= count <= INTEGER_MAX:
        raise refuse(field, f"must be 0 to {INTEGER_MAX}")


def _check_word(field: str, word: str, allowed: Iterable[str]) -> None:
    if not word:
        raise refuse(field, REQUIRED)
    if word not in allowed:
        shown = ", ".join(allowed)
        raise refuse(field, f'invalid value "{word[:40]}"; allowed: {shown}')
