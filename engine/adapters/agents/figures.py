"""Figures of several things together, as far as they are known."""

from collections.abc import Iterable
from typing import Any

from ...usage import FIGURES, Usage
from .values import Data, count


def less(whole: int | None, part: int | None) -> int | None:
    """Return a count without a part of it; None where that makes no sense."""
    if whole is None or part is None:
        return whole
    return whole - part if part <= whole else None


def added(values: Iterable[int | None]) -> int | None:
    """Return the sum of the counts that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def together(usages: Iterable[Usage]) -> Usage:
    """Return the figures of several things that complement each other."""
    sums: dict[str, Any] = {}
    for usage in usages:
        for name in FIGURES:
            if (value := getattr(usage, name)) is not None:
                sums[name] = sums.get(name, 0) + value
    return Usage(**sums)


def tokens_in(figures: Data, *names: str) -> Usage:
    """Return the tokens by the names of input, output, cache reads and cache writes.

    If all are zero, the agent has not learned them: no model works with no tokens.
    """
    tokens = [count(figures.get(name)) for name in names]
    given, written, cached, kept = tokens if any(tokens) else [None] * 4
    return Usage(given, written, cached, kept)
