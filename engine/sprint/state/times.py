"""Times as ISO 8601 text in UTC, and the arithmetic that state files require."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from ...errors import InvalidInputError

_SHAPE = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})"
_moment = datetime.fromisoformat


def parse(text: str) -> datetime:
    """Return the time in an ISO 8601 text with a zone, or raise `InvalidInputError`."""
    if not re.fullmatch(_SHAPE, text, re.ASCII):
        raise InvalidInputError(
            f"{text[:40]!r} is not a time; use ISO 8601 with a time zone, such as "
            "2026-01-15T09:00:00Z"
        )
    try:
        # Converted to UTC here, because the first and last hours may be out of range.
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(f"{text[:40]!r} is not a time: {error}") from error


def to_text(moment: datetime) -> str:
    """Return a time as ISO 8601 text in UTC, with milliseconds unless they are 0."""
    moment = moment.astimezone(UTC)
    text = moment.replace(tzinfo=None).isoformat(timespec="seconds")
    milliseconds = moment.microsecond // 1000
    return f"{text}.{milliseconds:03d}Z" if milliseconds else f"{text}Z"


def from_milliseconds(milliseconds: int) -> str:
    """Return the text of a time given in milliseconds since 1970."""
    return to_text(datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds))


def normalise(text: str) -> str:
    """Return any valid time in the format that the log stores."""
    return to_text(parse(text))


def later(text: str, *, milliseconds: int) -> str:
    """Return the time `milliseconds` after `text`, but no later than the year 9999."""
    try:
        return to_text(parse(text) + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return to_text(datetime.max.replace(tzinfo=UTC))


def elapsed(started: Any, ended: Any) -> str | None:
    """Return the duration between two times as `HH:MM:SS`; it is never negative.

    The hours may exceed 24. Return None if either time is missing or invalid, as in other
    tools' documents.
    """
    try:
        duration = _moment(ended) - _moment(started)
    except (ValueError, TypeError, OverflowError):
        return None
    return _clock(duration.days * 86_400 + duration.seconds)


@lru_cache(maxsize=4096)
def _clock(seconds: int) -> str:
    # Cached, because formatting numbers with two digits takes longer than the rest.
    minutes, seconds = divmod(max(0, seconds), 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}"
