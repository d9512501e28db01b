"""Usage of models: figures that are known, lower bounds or unknown; pure."""

from collections.abc import Iterable
from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent's run cost, as far as it says; what is missing is missing."""

    input_tokens: int | None = None
    """New tokens that the model was given."""
    output_tokens: int | None = None
    """Tokens that the model wrote."""
    cache_read_tokens: int | None = None
    """Tokens that came from a cache."""
    cache_creation_tokens: int | None = None
    """Tokens that were put into a cache."""
    cost_usd: float | None = None
    """Cost in US dollars."""
    turns: int | None = None
    """How often the model answered."""
    duration_ms: int | None = None
    at_least: tuple[str, ...] = ()
    """The figures that are lower bounds, by their names."""


FIGURES = tuple(name for name in Usage.__struct_fields__ if name != "at_least")
COST, TOKENS = "cost_usd", "tokens"
TOKEN_FIGURES = ("input_tokens", "cache_creation_tokens", "output_tokens")
"""The figures whose sum is called tokens; reads from a cache are separate."""
_REQUIRED = ("input_tokens", "output_tokens", COST)
_OF_CALL = (*TOKEN_FIGURES, "cache_read_tokens", COST)
"""What a call takes of which no tokens are known: nothing of it is known."""


def tokens_of(figures: Any) -> int | None:
    """Return the tokens of anything that has the fields of `Usage`; None if unknown."""
    found = (getattr(figures, name, None) for name in TOKEN_FIGURES)
    known = [one for one in found if isinstance(one, int) and one >= 0]
    return sum(known) if known else None


def lower_bounds(figures: Any) -> tuple[str, ...]:
    """Return the names of the figures, `tokens` included, that are lower bounds.

    Sums that were recorded before such marks existed (None) lack cache creation.
    """
    found = getattr(figures, "at_least", ())
    if found is None:
        return (TOKENS,)
    is_partial = not set(TOKEN_FIGURES).isdisjoint(found) and TOKENS not in found
    return (*found, TOKENS) if is_partial else tuple(found)


def bounded(amount: str, figures: Any, name: str = TOKENS, mark: str = ">=") -> str:
    """Return an amount, by default for a table, with a mark if it is a lower bound."""
    return f"{mark}{amount}" if name in lower_bounds(figures) else amount


def open_figures(usage: Usage | None) -> tuple[str, ...]:
    """Return the sorted names of the figures of a run that are unknown or lower bounds.

    An agent without cache figures has no such tokens.
    """
    values = {name: getattr(usage, name, None) for name in _REQUIRED}
    found = {name for name, value in values.items() if value is None or value < 0}
    found.update(lower_bounds(usage))
    found.update(() if found.isdisjoint(TOKEN_FIGURES) else (TOKENS,))
    return tuple(sorted(found))


class ModelCall(Usage, frozen=True, omit_defaults=True, kw_only=True):
    """What one call of a model took, or how long one turn lasted."""

    key: str
    """The first 16 hexadecimal digits of the sha256 of its id: the same again is the
    same call."""
    model: str | None = None
    """The model, by the agent's own name."""


def merged(one: Usage, other: Usage) -> dict[str, Any]:
    """Return the larger of each figure: a call's figures only grow until it ends."""
    pairs = {name: (getattr(one, name), getattr(other, name)) for name in FIGURES}
    return {
        name: max(known)
        for name, pair in pairs.items()
        if (known := [value for value in pair if value is not None])
    }


def known_sum(usages: Iterable[Usage]) -> Usage:
    """Return the sum of several usages, of the figures that are known."""
    sums: dict[str, Any] = {}
    for usage in usages:
        for name in FIGURES:
            if (value := getattr(usage, name)) is not None:
                sums[name] = sums.get(name, 0) + value
    return Usage(**sums)


def summed(calls: Iterable[Usage]) -> Usage:
    """Return what calls took together; what some of them do not state is a lower bound.

    A call that was aborted is one of these: its zeros stand for figures that never came.
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
