"""How figures and times are written on the page; what nobody knows is a dash."""

from datetime import datetime

from msgspec import UNSET

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import parse
from sprintlog.engine.usage import COST, bounded, tokens_of

from ..text.phrases import UNKNOWN, dollars, duration
from ..views.costs import Spending
from .markup import Markup, tag, text

EPOCH = parse("1970-01-01T00:00:00Z")


def known(value: object) -> bool:
    """Tell whether somebody said a value."""
    return value is not None and value is not UNSET


def number(value: object, places: int = 2) -> str:
    """Return a figure with thousands apart, and no more places than it needs."""
    if not known(value):
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    said = f"{value:,.{places}f}"
    return said.rstrip("0").rstrip(".") if "." in said else said


def score(value: float | None) -> str:
    """Return a score with two places."""
    return UNKNOWN if value is None else f"{value:.2f}"


def tokens(spent: object) -> str:
    """Return the tokens, with a mark if they are a lower bound."""
    known = tokens_of(spent)
    return UNKNOWN if known is None else bounded(number(known), spent)


def cost(spent: object) -> float | None:
    """Return what agents cost; None where nobody said."""
    if isinstance(spent, Spending) and isinstance(spent.cost_usd, float | int):
        return float(spent.cost_usd)
    return None


def dollars_of(spent: object) -> str:
    """Return the cost, with a mark if it is a lower bound."""
    return bounded(money(cost(spent)), spent, COST)


def money(amount: float | None) -> str:
    """Return an amount of dollars."""
    return UNKNOWN if amount is None else dollars(amount)


def took(spent: object) -> str:
    """Return how long agents ran."""
    if isinstance(spent, Spending) and spent.duration_ms:
        return duration(spent.duration_ms)
    return UNKNOWN


def milliseconds(at: str) -> int | None:
    """Return a recorded time as milliseconds since 1970; None for what is no time."""
    try:
        # The form of nearly all; the checked way takes three times as long.
        moment = datetime.fromisoformat(at) if at.endswith("Z") else parse(at)
    except (ValueError, InvalidInputError):
        return None
    return (moment - EPOCH) // RESOLUTION


RESOLUTION = parse("1970-01-01T00:00:00.001Z") - EPOCH


def clock_of(text: str) -> str:
    """Return a recorded time without its fractions: `2026-01-15 21:05:00`."""
    return text[:19].replace("T", " ") if text[19:].endswith("Z") else text


def time(at: object) -> Markup:
    """Return a time of the page: UTC, to the second; a dash for anything but a time."""
    return tag("time", clock_of(at)) if isinstance(at, str) and at else Markup(UNKNOWN)


def version_link(version: int, label: str | None = None) -> Markup:
    """Return a link to the state file at a version."""
    return tag("a", text(label or f"v{version}"), href=f"#v={version}")
