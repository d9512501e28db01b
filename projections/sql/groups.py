"""Results of iterations grouped by agent, model, prompt or another recorded parameter."""

import json
import re
from collections.abc import Mapping, Sequence
from math import fsum
from random import Random

from msgspec import Struct

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.sprint.iterations.described import PROMPT

from ..workspace import Workspace
from .query import Row, ask

RUNS_MIN = 5
"""The number of measured runs below which a group is not compared."""
RESAMPLES, SECONDS_MAX = 1000, 60.0
_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_COLUMNS = "log || '/' || sprint, verified, score, change, cost_usd, runs, at_least"


class ResultGroup(Struct, frozen=True):
    """The results of all iterations with the same agent, model, prompt or parameter."""

    value: str | None
    """The common value; null if it is unknown."""
    sprints: int
    iterations: int
    verified: int
    best_score: float | None
    runs: int
    """The number of measured iterations that were built on a measured one."""
    change: float | None
    """The mean change of the score in these runs."""
    interval: tuple[float, float] | None
    """The 95 % bootstrap interval of the mean; null for fewer than 5 runs."""
    cost_usd: float | None
    is_cost_at_least: bool

    @property
    def shown(self) -> str:
        """Return the value for people; the digest of a prompt is shortened."""
        value = self.value or "unknown"
        return value[:12] if len(value) == 64 and value.isalnum() else value


class GroupedResults(Struct, frozen=True):
    """Results by a value, best group first, and which groups differ."""

    by: str
    groups: list[ResultGroup]
    verdict: list[str]


def grouped(
    logs: Mapping[str, Workspace], by: str, *, sprint: str | None = None
) -> GroupedResults:
    """Return the results of all iterations in the given logs, or of one sprint, by a value.

    Discarded iterations count, because they are results as well. Raise `InvalidInputError`
    for a name that no parameter can have.
    """
    if not _NAME.fullmatch(by):
        raise InvalidInputError("must be agent, model, prompt or a parameter", field="--by")
    name = {"prompt": PROMPT}.get(by, by)
    value = "agent" if by == "agent" else f"json_extract(params, '$.\"{name}\"')"
    found: dict[str | None, list[Row]] = {}
    sql = f"SELECT {value}, sprint, {_COLUMNS} FROM v_iterations"
    with ask(logs, sql, seconds_max=SECONDS_MAX) as rows:
        for key, of, *row in (one for page in rows.pages for one in page):
            if sprint in (None, of):
                found.setdefault(None if key is None else str(key), []).append(tuple(row))
    groups = [_group(key, rows) for key, rows in found.items()]
    # Unknown values come last.
    groups.sort(key=lambda x: (x.value is None, -(x.change or 0), x.value or ""))
    return GroupedResults(by, groups, verdict(groups))


def _group(value: str | None, rows: Sequence[Row]) -> ResultGroup:
    sprints, verified, scores, changes, costs, runs, bounds = zip(*rows, strict=True)
    known = sorted(float(x) for x in changes if isinstance(x, int | float))
    spent = [float(x) for x in costs if isinstance(x, int | float)]
    open_costs = (x is None and n != 0 for x, n in zip(costs, runs, strict=True))
    is_bound = any(open_costs) or any("cost_usd" in json.loads(x) for x in bounds if x)
    return ResultGroup(
        value,
        sprints=len({*sprints}),
        iterations=len(rows),
        verified=sum(x == 1 for x in verified),
        best_score=max((float(x) for x in scores if x is not None), default=None),
        runs=len(known),
        change=fsum(known) / len(known) if known else None,
        interval=interval(known),
        cost_usd=fsum(spent) if spent else None,
        is_cost_at_least=bool(spent) and is_bound,
    )


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return a 95 % bootstrap interval of the mean; None for too few values.

    The same values always have the same interval.
    """
    if (count := len(values)) < RUNS_MIN:
        return None
    draw = Random(0).choices
    means = sorted(fsum(draw(values, k=count)) / count for _ in range(RESAMPLES))
    return means[RESAMPLES // 40], means[-RESAMPLES // 40 - 1]


def verdict(groups: Sequence[ResultGroup]) -> list[str]:
    """Return which group gives better results, or why that cannot be stated."""
    known = [x for x in groups if x.value is not None]
    few = [x for x in known if x.runs < RUNS_MIN]
    enough = [(x, x.interval) for x in known if x.interval is not None]
    said = []
    if few:
        counts = " and ".join(f"{x.shown}: {x.runs}" for x in few)
        said.append(f"too few to compare: {counts} measured runs, {RUNS_MIN} needed")
    if len(enough) < 2:
        return said or ["nothing to compare: fewer than two known values were measured"]
    (best, (low, _)), *others = enough
    alike = [x.shown for x, (_, high) in others if high >= low]
    worse = [x.shown for x, (_, high) in others if high < low]
    if worse:
        said.append(f"{best.shown} gives better results than {' and '.join(worse)}")
    if alike:
        names = " and ".join([best.shown, *alike])
        said.append(f"not distinguishable, because their intervals overlap: {names}")
    return said
