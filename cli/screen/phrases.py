"""Times, numbers and tables as this terminal shows them."""

from typing import Any

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import parse

from . import times
from .terminal import clock, terminal


def when(text: object, *, is_relative: bool = False) -> str:
    """Return a recorded time for people: short and local on a terminal, else as it is."""
    said = str(text)
    if terminal().has_utc:
        return said
    try:
        moment = parse(said)
    except InvalidInputError:
        return said
    told = times.relative if is_relative else times.short
    return told(moment, now=times.moment_of(clock() * 1000), zone=None)


def usage(used: Any, *, duration_ms: int | None = None) -> list[str]:
    """Return what agents took, each with its unit: time, turns, tokens, dollars."""
    words = [] if not duration_ms else [times.duration(duration_ms)]
    if (turns := getattr(used, "turns", None)) is not None:
        words.append(counted(turns, "turn"))
    if (tokens := tokens_of(used)) is not None:
        words.append(counted(tokens, "token"))
    if (cost := getattr(used, "cost_usd", None)) is not None:
        words.append(dollars(cost))
    return words


def tokens_of(used: Any) -> int | None:
    """Return all tokens that were given and written; None where none are known."""
    known = [getattr(used, name, None) for name in ("input_tokens", "output_tokens")]
    return None if known == [None, None] else sum(count or 0 for count in known)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, thousands apart: `1,234 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def dollars(amount: float) -> str:
    """Return an amount of US dollars; less than a cent is not nothing."""
    return f"${amount:,.2f}" if amount >= 0.005 or not amount else f"${amount:.4f}"
