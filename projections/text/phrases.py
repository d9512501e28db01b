"""Durations, counts and costs as text with units."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.state.times import parse
from sprintlog.engine.usage import COST, bounded, tokens_of

UNKNOWN = "\N{EN DASH}"
"""The sign for unknown values, which are never shown as 0."""

MONTHS = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)
"""English month names in every locale, so that printed times can be typed anywhere."""


def duration(milliseconds: float) -> str:
    """Return a duration with its units, such as `450 ms`, `3.2 s`, `3m 12s` or `2d 03h`."""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f}".removesuffix(".0") + " s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes}m {seconds:02d}s"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours:02d}h" if days else f"{hours}h {minutes:02d}m"


_EPOCH, _RESOLUTION = datetime.fromtimestamp(0, UTC), timedelta(milliseconds=1)


def milliseconds(at: str) -> int | None:
    """Return a recorded time in milliseconds since 1970, or None if it is invalid."""
    try:
        # Nearly all times have this format; `parse` takes three times as long.
        moment = datetime.fromisoformat(at) if at.endswith("Z") else parse(at)
    except (ValueError, InvalidInputError):
        return None
    return (moment - _EPOCH) // _RESOLUTION


def usage(used: Any, *, duration_ms: int | None = None) -> list[str]:
    """Return agent usage with units: time, turns, tokens and dollars."""
    words = [] if not duration_ms else [duration(duration_ms)]
    if (turns := getattr(used, "turns", None)) is not None:
        words.append(counted(turns, "turn"))
    if (tokens := tokens_of(used)) is not None:
        words.append(bounded(counted(tokens, "token"), used, mark="at least "))
    if (cost := getattr(used, "cost_usd", None)) is not None:
        words.append(bounded(dollars(cost), used, COST, mark="at least "))
    return words


def spent_said(all_runs: Any) -> list[str]:
    """Return the usage of all agent runs, and how many runs have an unknown cost."""
    runs = counted(all_runs.runs + all_runs.cut_short, "run")
    if all_runs.cut_short:
        runs += f", {all_runs.cut_short} of them cut short"
    words = [runs]
    if all_runs.duration_ms:
        words.append(f"{duration(all_runs.duration_ms)} at work")
    words.extend(usage(all_runs))
    unknown = all_runs.without_cost + all_runs.cut_short
    if unknown and all_runs.cost_usd is not None:
        words[-1] += f" (cost of {counted(unknown, 'run')} not fully known)"
    return words


def counted(number: int, noun: str) -> str:
    """Return a number, with thousands separators, and its noun, as in `1,234 tokens`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def dollars(amount: float) -> str:
    """Return an amount in US dollars; amounts below one cent have four decimal places."""
    return f"${amount:,.2f}" if amount >= 0.005 or not amount else f"${amount:.4f}"


NOISE = "change: mean change of the score in a run; runs of one sprint are not independent"
"""Explains the columns of `group_rows`."""


def group_rows(found: Any) -> list[tuple[str, ...]]:
    """Return the results of groups as the rows of a table; the first row is its head."""
    head = (*("sprints", "iterations", "verified", "best score", "runs"), "change", "95 %")
    rows: list[tuple[str, ...]] = [(found.by, *head, "cost")]
    for one in found.groups:
        best = UNKNOWN if one.best_score is None else f"{one.best_score:.2f}"
        change = UNKNOWN if one.change is None else f"{one.change:+.3f}"
        noise = UNKNOWN
        if one.interval is not None:
            noise = "{:+.3f} to {:+.3f}".format(*one.interval)
        cost = UNKNOWN if one.cost_usd is None else dollars(one.cost_usd)
        cost = f">={cost}" if one.is_cost_at_least else cost
        counts = map(str, (one.sprints, one.iterations, one.verified))
        rows.append((one.shown, *counts, best, str(one.runs), change, noise, cost))
    return rows
