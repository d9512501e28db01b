"""Model usage: tokens and exact amounts of money, some of which are lower bounds.

This module is pure.
"""

from collections.abc import Iterable
from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """The usage in an agent's run; an unknown figure is `None`."""

    input_tokens: int | None = None
    """New input tokens."""
    output_tokens: int | None = None
    """Output tokens."""
    cache_read_tokens: int | None = None
    """Tokens read from a cache."""
    cache_creation_tokens: int | None = None
    """Tokens written to a cache."""
    cost_usd: float | None = None
    """Cost in US dollars."""
    turns: int | None = None
    """The number of model responses."""
    duration_ms: int | None = None
    at_least: tuple[str, ...] = ()
    """The names of the figures that are lower bounds."""


FIGURES = tuple(name for name in Usage.__struct_fields__ if name != "at_least")
COST, TOKENS = "cost_usd", "tokens"
TOKEN_FIGURES = ("input_tokens", "cache_creation_tokens", "output_tokens")
"""The figures whose sum is the number of tokens; cache reads are counted separately."""
_REQUIRED = ("input_tokens", "output_tokens", COST)
_OF_CALL = (*TOKEN_FIGURES, "cache_read_tokens", COST)
"""The figures that are unknown in a call without any known token count."""


def tokens_of(figures: Any) -> int | None:
    """Return the tokens of any object with the fields of `Usage`, or None if unknown."""
    found = (getattr(figures, name, None) for name in TOKEN_FIGURES)
    known = [one for one in found if isinstance(one, int) and one >= 0]
    return sum(known) if known else None


def lower_bounds(figures: Any) -> tuple[str, ...]:
    """Return the names of the figures, including `tokens`, that are lower bounds.

    In older sums, lower bounds are not marked, and the tokens for cache creation are
    missing.
    """
    if (found := getattr(figures, "at_least", ())) is None:
        return (TOKENS,)
    is_partial = not set(TOKEN_FIGURES).isdisjoint(found) and TOKENS not in found
    return (*found, TOKENS) if is_partial else tuple(found)


def bounded(amount: str, figures: Any, name: str = TOKENS, mark: str = ">=") -> str:
    """Return an amount, prefixed with a mark if it is a lower bound."""
    return f"{mark}{amount}" if name in lower_bounds(figures) else amount


def open_figures(usage: Usage | None) -> tuple[str, ...]:
    """Return the sorted names of a run's figures that are unknown or lower bounds.

    An agent that reports no cache figures is assumed to use no cache tokens.
    """
    values = {name: getattr(usage, name, None) for name in _REQUIRED}
    found = {name for name, value in values.items() if value is None or value < 0}
    found.update(lower_bounds(usage))
    found.update(() if found.isdisjoint(TOKEN_FIGURES) else (TOKENS,))
    return tuple(sorted(found))


class ModelCall(Usage, frozen=True, omit_defaults=True, kw_only=True):
    """The usage of one model call, or the duration of one turn."""

    key: str
    """The first 16 hexadecimal digits of the SHA-256 of the call's id."""
    model: str | None = None
    """The agent's name for the model."""


def merged(one: Usage, other: Usage) -> dict[str, Any]:
    """Return the higher value of each figure: a call's figures grow until it ends."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in FIGURES}
    return {
        name: max(known)
        for name, pair in pairs.items()
        if (known := [value for value in pair if value is not None])
    }


def known_sum(usages: Iterable[Usage]) -> Usage:
    """Return the sum of several usages, ignoring unknown figures."""
    sums: dict[str, Any] = {}
    for usage in usages:
        for name in FIGURES:
            if (value := getattr(usage, name)) is not None:
                sums[name] = sums.get(name, 0) + value
    return Usage(**sums)


def summed(calls: Iterable[Usage]) -> Usage:
    """Return the sum of the calls; a figure that some calls lack becomes a lower bound.

    Aborted calls are included; their zeros mean that the figures are unknown.
    """
    sums: dict[str, Any] = {}
    lacking: set[str] = set()
    for call in calls:
        required = _OF_CALL if tokens_of(call) is None else _REQUIRED
        for name in FIGURES:
            if (value := getattr(call, name)) is not None:
                sums[name] = sums.get(name, 0) + value
            elif name in required and call.duration_ms is None:
                lacking.add(name)
        lacking.update(call.at_least)
    if COST in sums:
        sums[COST] = round(sums[COST], 9)
    return Usage(**sums, at_least=tuple(sorted(lacking & sums.keys())))


def plus(total: str | None, amount: float | str) -> str:
    """Return the exact sum of two decimals; a total of None counts as 0."""
    return _added(total or "0", str(amount), sign=1)


def minus(total: str, amount: str | None) -> str:
    """Return the exact difference of two decimals; an amount of None counts as 0."""
    return _added(total, amount or "0", sign=-1)


def is_less(one: float | str, other: float | str) -> bool:
    """Return whether one amount is less than another."""
    (first, places), (second, others) = _scaled(str(one)), _scaled(str(other))
    return bool(first * 10**others < second * 10**places)


def _added(one: str, other: str, *, sign: int) -> str:
    (first, places), (second, others) = _scaled(one), _scaled(other)
    most = max(places, others)
    total = first * 10 ** (most - places) + sign * second * 10 ** (most - others)
    return text_of(total, most)


def text_of(digits: int, places: int) -> str:
    """Return `digits` / 10**`places` as text without trailing zeros."""
    mark = "-" if digits < 0 else ""
    said = str(abs(digits)).rjust(places + 1, "0")
    whole, part = said[: len(said) - places], said[len(said) - places :].rstrip("0")
    return f"{mark}{whole}.{part}" if part else f"{mark}{whole}"


def _scaled(text: str) -> tuple[int, int]:
    """Return a number's digits as an integer, and the number of decimal places."""
    mantissa, _, power = text.partition("e")
    whole, _, part = mantissa.partition(".")
    digits, places = int(whole + part), len(part) - int(power or 0)
    return (digits, places) if places >= 0 else (digits * 10**-places, 0)


def product(count: int, each: float | str, *, places: int = 0) -> str:
    """Return the exact value of `count` times an amount, divided by 10**`places`."""
    digits, own = _scaled(str(each))
    return text_of(count * digits, own + places)


def percent(part: str, whole: str) -> int:
    """Return a part as a percentage of the whole, rounded down."""
    (first, places), (second, others) = _scaled(part), _scaled(whole)
    if not second:
        return 100
    return int(100 * first * 10**others // (second * 10**places))


def dollars(text: str) -> str:
    """Return an amount with all its decimal places, such as `$1,234.50`."""
    mark = "-" if text.startswith("-") else ""
    whole, _, part = text.removeprefix("-").partition(".")
    return f"{mark}${int(whole):,}.{part.ljust(2, '0')}"
