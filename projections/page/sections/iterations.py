"""Every iteration with every figure and parameter; what nobody knows is a dash."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sprintlog.engine.iterations.classify import CLASS_MEANS

from ...views.iterations import JudgedIteration
from ...words.phrases import UNKNOWN
from ..changed_files import Changed
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text
from ..numbers import cost, known, money, number, score, tokens, took, version_link

CELL_CHARS_MAX = 300
SHORT_CHARS = 24
FILES_SHOWN = 3
TOLD = {
    "class": "; ".join(f"{name}: {means}" for name, means in CLASS_MEANS.items()),
    "score": "0 to 1, of what was measured: `sprintlog help judging`",
}
"""What is told of a column where one points at its name."""
_ALWAYS = ("class", "remarks")
_ENDED = {"needs-human": "asked for a person"}


class TableColumn(NamedTuple):
    """A column of the table."""

    name: str
    cell: Callable[[JudgedIteration], object]
    is_number: bool = False
    milliseconds: Callable[[JudgedIteration], int | None] | None = None
    """Of one with durations: how long they are."""


def columns(facts: Facts) -> list[TableColumn]:
    """Return the columns of a table of iterations: what is known of any of them.

    What is in words comes first: where a table is too wide, figures are scrolled to.
    """
    rows = facts.iterations.iterations
    changed = facts.changed_files
    found = [
        TableColumn("class", lambda x: x.classification or UNKNOWN),
        TableColumn("score", lambda x: score(x.score), True),
        TableColumn("remarks", lambda x: _remarks(facts, x)),
        TableColumn("alerts", _alerts),
    ]
    if changed:
        found.append(
            TableColumn("files changed", lambda x: _files(changed.get(x.iteration)))
        )
    found += [
        TableColumn(name, partial(_figure, name), True) for name in _names(rows, "figures")
    ]
    if any(known(one.spent) for one in rows):
        found += [
            TableColumn("tokens", lambda x: number(tokens(x.spent)), True),
            TableColumn("cost", lambda x: money(cost(x.spent)), True),
            TableColumn("time", lambda x: took(x.spent), True, _milliseconds),
        ]
    found += [TableColumn(name, partial(_param, name)) for name in _names(rows, "params")]
    return found


def iterations(facts: Facts) -> Markup:
    """Return the table."""
    rows = facts.iterations.iterations
    if not rows:
        nothing = tag("p", "There is no iteration yet.", class_="empty")
        return section("iterations", "Iterations", nothing)
    shown, same = _differing(columns(facts), rows)
    best = facts.iterations.best_iteration
    head = [heading("iteration", class_="num")]
    head += [
        heading(
            one.name.replace("_", " "),
            class_="num" if one.is_number else None,
            title=TOLD.get(one.name),
        )
        for one in shown
    ]
    lines = [
        _row(one, shown, facts.limits.remark_chars, is_best=one.iteration == best)
        for one in rows[-facts.limits.iterations :]
    ]
    parts = []
    if (more := len(rows) - facts.limits.iterations) > 0:
        parts += [
            f"{more:,} earlier ones: ",
            command(f"sprintlog iteration list{facts.named}"),
        ]
    if same:
        parts += ["; " * bool(parts), f"the same wherever it is known: {', '.join(same)}"]
    told = tag("p", *parts, class_="note") if parts else ""
    made = table(head, lines, label="iterations", class_="sortable")
    return section("iterations", "Iterations", told, made)


def _differing(
    found: list[TableColumn], rows: Sequence[JudgedIteration]
) -> tuple[list[TableColumn], list[str]]:
    """Return the columns in which rows differ, and in words what all of them have."""
    same, differing = [], []
    for one in found:
        values = {str(one.cell(row)) for row in rows} - {UNKNOWN}
        is_text = not any(_is_figure(value) for value in values)
        if is_text and len(values) == 1 and len(rows) > 1 and one.name not in _ALWAYS:
            said = values.pop()
            same.append(f"{one.name.replace('_', ' ')} {said[:CELL_CHARS_MAX]}")
        else:
            differing.append(one)
    return differing, same


def _row(
    one: JudgedIteration,
    shown: Sequence[TableColumn],
    chars_max: int,
    *,
    is_best: bool,
) -> Markup:
    version = one.version if isinstance(one.version, int) else 0
    name = str(one.iteration)
    first = version_link(version, name) if version else text(name)
    cells = [tag("th", first, scope="row")]
    for column in shown:
        value = column.cell(one)
        said = value if isinstance(value, Markup) else text(value, chars_max)
        # Figures are most of it, and need no mark.
        kind = None if column.is_number else "t" if len(said) > SHORT_CHARS else "s"
        ms = column.milliseconds(one) if column.milliseconds is not None else None
        cells.append(tag("td", said, class_=kind, data_ms=ms))
    marks = " ".join(filter(None, ("is-best" * is_best, "off" * (one.is_on_path is False))))
    return row(cells, class_=marks or None, data_v=version or None, data_n=one.iteration)


def _names(rows: Sequence[JudgedIteration], field: str) -> list[str]:
    held = [getattr(one, field) for one in rows]
    return list(dict.fromkeys(n for one in held if isinstance(one, dict) for n in one))


def _of(one: JudgedIteration, field: str, name: str) -> object:
    held = getattr(one, field)
    return held.get(name) if isinstance(held, dict) else None


def _figure(name: str, one: JudgedIteration) -> object:
    return number(_of(one, "figures", name), 1)


def _param(name: str, one: JudgedIteration) -> object:
    return _short(_of(one, "params", name))


def _milliseconds(one: JudgedIteration) -> int | None:
    """Return how long agents ran; None where nobody said."""
    found = getattr(one.spent, "duration_ms", None)
    return found if isinstance(found, int) and found else None


def _is_figure(said: str) -> bool:
    return said[:1] in "$-0123456789" and said != "-"


def _short(value: object) -> object:
    if value is None:
        return UNKNOWN
    said = str(value)
    return said[:12] if len(said) == 64 and said.isalnum() else value


def _alerts(one: JudgedIteration) -> object:
    if not isinstance(one.alerts, tuple) or not one.alerts:
        return UNKNOWN if not known(one.alerts) else "none"
    kinds = dict.fromkeys(f"{x.severity} {x.type.replace('_', ' ')}" for x in one.alerts)
    return ", ".join(kinds)


def _files(changed: Changed | None) -> object:
    """Return how many files changed, and the first of their names."""
    if changed is None:
        return UNKNOWN
    if not changed:
        return "none"
    names = ", ".join(path for path, _ in changed[:FILES_SHOWN])
    more = len(changed) - FILES_SHOWN
    return f"{len(changed)}: {names}" + (f" and {more} more" if more > 0 else "")


def _remarks(facts: Facts, one: JudgedIteration) -> object:
    said = []
    if one.is_best is True:
        said.append("best")
    if one.is_on_path is False:
        said.append("off the path")
    if one.is_incomplete is True:
        said.append("incomplete")
    for field, word in (("failed", "not measured"), ("retracted", "retracted")):
        if known(value := getattr(one, field)):
            why = value.get("error", "") if isinstance(value, dict) else value
            said.append(f"{word}: {why}")
    failures = facts.past.story.failures.of(one.iteration)
    if known(one.metrics):
        said += _failed(one, is_told=bool(failures))
    elif known(one.status):
        said.append(_unmeasured(one, is_told=bool(failures)))
    elif one.score is None and not known(one.failed) and not known(one.retracted):
        said.append("not measured")
    said += failures
    said += [f"#{tag_}" for tag_ in one.tags] if isinstance(one.tags, tuple) else []
    said += list(one.notes) if isinstance(one.notes, tuple) else []
    summary = one.summary if isinstance(one.summary, str) else ""
    said += [summary] if not any(summary in told for told in said) else []
    return "; ".join(said) or UNKNOWN


def _failed(one: JudgedIteration, *, is_told: bool) -> list[str]:
    """Return that the run of a measured iteration did not complete, and why."""
    if not known(one.status) or one.status == "completed":
        return []
    error = f": {one.error}" if isinstance(one.error, str) and not is_told else ""
    return [f"its run {_ENDED.get(str(one.status), str(one.status))}{error}"]


def _unmeasured(one: JudgedIteration, *, is_told: bool) -> str:
    """Return how the run of an iteration ended that nobody measured, and why."""
    if one.status == "completed":
        return "not measured; its run completed"
    error = f": {one.error}" if isinstance(one.error, str) and not is_told else ""
    return f"not measured; its run {_ENDED.get(str(one.status), str(one.status))}{error}"
