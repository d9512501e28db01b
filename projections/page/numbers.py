"""Formats for figures and times on the page; unknown values are dashes."""

from msgspec import UNSET

from sprintlog.formatting import UNKNOWN, dollars, duration
from sprintlog.usage import lower_bounds, tokens_of

from .markup import Markup, tag, text


def known(value: object) -> bool:
    """Return whether a value is known."""
    return value is not None and value is not UNSET


def number(value: object, places: int = 2) -> str:
    """Return a number with thousands separators and no more decimals than necessary."""
    if not known(value):
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    said = f"{value:,.{places}f}"
    return said.rstrip("0").rstrip(".") if "." in said else said


def score(value: float | None) -> str:
    """Return a score with two decimals."""
    return UNKNOWN if value is None else f"{value:.2f}"


def tokens(spent: object) -> str:
    """Return the number of tokens, marked if it is a lower bound."""
    known = tokens_of(spent)
    return UNKNOWN if known is None else _bounded(number(known), spent, "tokens")


def cost(spent: object) -> float | None:
    """Return the cost of agent runs, or None if it is unknown."""
    found = getattr(spent, "cost_usd", None)
    return float(found) if isinstance(found, float | int) else None


def dollars_of(spent: object) -> str:
    """Return the cost, marked if it is a lower bound."""
    return _bounded(money(cost(spent)), spent, "cost_usd")


def _bounded(amount: str, spent: object, name: str) -> str:
    return f">={amount}" if name in lower_bounds(spent) else amount


def money(amount: float | None) -> str:
    """Return an amount in dollars."""
    return UNKNOWN if amount is None else dollars(amount)


def took(spent: object) -> str:
    """Return the duration of agent runs."""
    found = getattr(spent, "duration_ms", None)
    return duration(found) if isinstance(found, int) and found else UNKNOWN


def clock_of(text: str) -> str:
    """Return a recorded time without fractional seconds: `2026-01-15 21:05:00`."""
    return text[:19].replace("T", " ") if text[19:].endswith("Z") else text


def time(at: object) -> Markup:
    """Return a UTC time to the second, or a dash if the value is not a time."""
    return tag("time", clock_of(at)) if isinstance(at, str) and at else Markup(UNKNOWN)


def version_link(version: int, label: str | None = None) -> Markup:
    """Return a link to the state file at a version."""
    return tag("a", text(label or f"v{version}"), href=f"#v={version}")
