"""Formats for figures and times on the page; unknown values are dashes."""

from msgspec import UNSET

from sprintlog.formatting import UNKNOWN, dollars, duration
from sprintlog.usage import lower_bounds, tokens_of

from .markup import Markup, moment, tag, text


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
    return f"at least {amount}" if name in lower_bounds(spent) else amount


def money(amount: float | None) -> str:
    """Return an amount in dollars."""
    return UNKNOWN if amount is None else dollars(amount)


def took(spent: object) -> str:
    """Return the duration of agent runs."""
    found = getattr(spent, "duration_ms", None)
    return duration(found) if isinstance(found, int) and found else UNKNOWN


def time(at: object) -> Markup:
    """Return a time, or a dash if the value is unknown."""
    if not (isinstance(at, str) and at):
        return Markup(UNKNOWN)
    return moment(at) if at[19:].endswith("Z") else text(at)


def version_link(version: int) -> Markup:
    """Return a link to the event at a version."""
    return tag("a", text(f"v{version}"), href=f"#v{version}")


def iteration_link(number: int, label: object = None) -> Markup:
    """Return a link to the view of an iteration."""
    return tag("a", text(str(number) if label is None else label), href=f"#i{number}")
