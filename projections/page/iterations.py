"""The table of all iterations; unknown values are dashes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from sprintlog.facts import AuthoredFile, JudgedIteration, SprintFacts
from sprintlog.formatting import UNKNOWN

from . import limits
from .markup import Markup, command, heading, row, section, table, tag, text, without
from .numbers import dollars_of, iteration_link, known, number, score, tokens, took

CELL_CHARS_MAX = 300
SHORT_CHARS = 24
FILES_SHOWN = 3
TOLD = {
    "class": "; ".join(f"{name}: {means}" for name, means in SprintFacts.classes.items()),
    "score": "0 to 1, of the measured parts: `sprintlog help look`",
}
"""The tooltips of the column headers."""
_ALWAYS = ("class", "remarks")
_OTHERS = ("outside, before it", "by a rollback")
_WORDS = {"agent": "", "outside": _OTHERS[0], "rollback": _OTHERS[1]}
"""The labels for the authors of file changes; the iteration's own changes come first."""
_ENDED = {
    "needs-human": "asked for a person",
    "limit": "reached a limit",
    "hung": "hung after its complete result",
    "stopped": "was stopped by the user",
    "unknown": "has an unknown outcome",
}


class TableColumn(NamedTuple):
    """A column of the table."""

    name: str
    cell: Callable[[JudgedIteration], object]
    is_number: bool = False
    milliseconds: Callable[[JudgedIteration], int | None] | None = None
    """For a column with durations: returns the duration in milliseconds."""


def columns(facts: SprintFacts) -> list[TableColumn]:
    """Return the table columns for which any iteration has a value.

    Text columns come first, because wide tables scroll.
    """
    rows = facts.iterations.iterations
    changed = facts.changed_files
    found = [
        TableColumn("class", lambda x: x.classification or UNKNOWN),
        TableColumn("score", lambda x: score(x.score), True),
        TableColumn("remarks", lambda x: remarks(facts, x)),
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
            TableColumn("tokens", lambda x: tokens(x.spent), True),
            TableColumn("cost", lambda x: dollars_of(x.spent), True),
            TableColumn("time", lambda x: took(x.spent), True, _milliseconds),
        ]
    if facts.sprint.knowledge.elsewhere:
        found.append(TableColumn("work tree", lambda x: x.work_tree or UNKNOWN))
    names = [name for name in _names(rows, "params") if name != "prompt_sha256"]
    found += [TableColumn(name, partial(_param, name)) for name in names]
    return found


def iterations(facts: SprintFacts) -> Markup:
    """Return the table of iterations, newest first."""
    rows = facts.iterations.iterations
    if not rows:
        return without("iterations", "Iterations", "There is no iteration yet.")
    shown, same = _differing(columns(facts), rows)
    best = facts.iterations.best_iteration
    head = [heading("iteration", class_="num")]
    for one in shown:
        kind, name = "num" if one.is_number else None, one.name.replace("_", " ")
        head.append(heading(name, class_=kind, title=TOLD.get(one.name)))
    lines = [
        _row(one, shown, limits.REMARK_CHARS, is_best=one.iteration == best)
        for one in rows[: -limits.ROWS - 1 : -1]
    ]
    parts: list[object] = []
    if (more := len(rows) - limits.ROWS) > 0:
        parts += [f"{more:,} earlier ones: ", command(f"sprintlog list{facts.named}")]
    if same:
        parts += ["; " * bool(parts), f"the same wherever it is known: {', '.join(same)}"]
    if left := facts.left_out:
        parts += ["; " * bool(parts), left]
    newest, older = lines[: limits.ITERATIONS], lines[limits.ITERATIONS :]
    made = [table(head, newest, label="iterations", class_="sortable")]
    if older:
        # Browsers that run the script do not parse these rows until they are needed.
        told = tag("summary", f"{len(older):,} earlier iterations")
        rest = table(head, older, label="earlier iterations", class_="sortable")
        made.append(tag("noscript", tag("details", told, rest)))
    return section("iterations", "Iterations", *made, note=parts)


def _differing(
    found: list[TableColumn], rows: Sequence[JudgedIteration]
) -> tuple[list[TableColumn], list[str]]:
    """Return the columns in which rows differ, and a description of the common values."""
    same, differing = [], []
    for one in found:
        values = {str(one.cell(row)) for row in rows} - {UNKNOWN}
        is_text = not any(x[:1] in "$-0123456789" and x != "-" for x in values)
        if is_text and len(values) == 1 and len(rows) > 1 and one.name not in _ALWAYS:
            same.append(f"{one.name.replace('_', ' ')} {values.pop()[:CELL_CHARS_MAX]}")
        else:
            differing.append(one)
    return differing, same


def _row(
    one: JudgedIteration, shown: Sequence[TableColumn], chars_max: int, *, is_best: bool
) -> Markup:
    cells = [tag("th", iteration_link(one.iteration), scope="row")]
    for column in shown:
        value = column.cell(one)
        said = value if isinstance(value, Markup) else text(value, chars_max)
        # Most cells contain numbers, which need no class.
        kind = None if column.is_number else "t" if len(said) > SHORT_CHARS else "s"
        ms = column.milliseconds(one) if column.milliseconds is not None else None
        cells.append(tag("td", said, class_=kind, data_ms=ms))
    marks = " ".join(filter(None, ("is-best" * is_best, "off" * (one.is_on_path is False))))
    return row(cells, class_=marks or None, data_n=one.iteration)


def _names(rows: Sequence[JudgedIteration], field: str) -> list[str]:
    return list(dict.fromkeys(name for one in rows for name in getattr(one, field) or ()))


def _of(one: JudgedIteration, field: str, name: str) -> object:
    return (getattr(one, field) or {}).get(name)


def _figure(name: str, one: JudgedIteration) -> object:
    return number(_of(one, "figures", name), 1)


def _param(name: str, one: JudgedIteration) -> object:
    return _of(one, "params", name) or UNKNOWN


def _milliseconds(one: JudgedIteration) -> int | None:
    """Return the total duration of the agent runs; None if it is unknown."""
    found = getattr(one.spent, "duration_ms", None)
    return found if isinstance(found, int) and found else None


def _alerts(one: JudgedIteration) -> object:
    if not one.alerts:
        return UNKNOWN if not known(one.alerts) else "none"
    kinds = dict.fromkeys(f"{x.severity} {x.type.replace('_', ' ')}" for x in one.alerts)
    return ", ".join(kinds)


def _files(changed: tuple[AuthoredFile, ...] | None) -> object:
    """Return the number of changed files, and the names of the first few."""
    if changed is None:
        return UNKNOWN
    by_author: dict[str, list[str]] = {}
    for one in changed:
        author = _WORDS.get(one.by, one.by.replace("-", " "))
        by_author.setdefault(author, []).append(one.path)
    told = ["none"] if by_author.keys() <= {*_OTHERS} else []
    for author, paths in sorted(by_author.items(), key=lambda one: one[0] in _OTHERS):
        by = f" {author}" if author else ""
        names = ", ".join(paths[:FILES_SHOWN])
        more = f" and {len(paths) - FILES_SHOWN} more" if paths[FILES_SHOWN:] else ""
        told.append(f"{len(paths)}{by}: {names}{more}")
    return "; ".join(told)


def remarks(facts: SprintFacts, one: JudgedIteration) -> str:
    """Return how an iteration ended, and everything noted about it, in one line."""
    said = [*_marks(one)]
    if one.is_incomplete is True:
        said.append("incomplete")
    said += [one.turn.words] if one.turn else []
    if known(one.unfit):
        said.append(str(one.unfit))
    for field, word in (("failed", "not measured"), ("retracted", "retracted")):
        if known(value := getattr(one, field)):
            why = value.get("error", "") if isinstance(value, dict) else value
            said.append(f"{word}: {why}")
    failures = facts.failures(one.iteration)
    how = _run_ended(one, is_told=bool(failures)) if known(one.status) else ""
    if known(one.metrics):
        said += [how] if how and one.status != "completed" else []
    elif how:
        said.append(f"not measured; {how}")
    elif one.score is None and not known(one.failed) and not known(one.retracted):
        said.append("not measured")
    said += failures
    said += [*(f"#{word}" for word in one.tags or ()), *(one.notes or ())]
    summary = one.summary.partition("\n")[0] if isinstance(one.summary, str) else ""
    said += [summary] if not any(summary in told for told in said) else []
    return "; ".join(said) or UNKNOWN


def _marks(one: JudgedIteration) -> Iterator[str]:
    if one.is_best is True:
        yield "best"
    if one.is_on_path is False:
        yield "discarded"


def chips(facts: SprintFacts, one: JudgedIteration) -> Iterator[Markup]:
    """Yield an iteration's class, its score and its marks as labels."""
    tones = {"forward": "good", "best": "good", "regression": "bad"}
    if facts.iterations.best_iteration == one.iteration:
        one = replace(one, is_best=True)
    for word in filter(None, [one.classification, *_marks(one), one.unfit or ""]):
        yield tag("span", word, class_=f"chip {tones.get(str(word), 'steady')}")


def _run_ended(one: JudgedIteration, *, is_told: bool) -> str:
    """Return how an iteration's run ended, with the error unless it is shown elsewhere."""
    status = str(one.status)
    is_failed = status != "completed" and isinstance(one.error, str) and not is_told
    error = f": {one.error}" if is_failed else ""
    outcome = str(one.outcome or status)
    return f"its run {_ENDED.get(outcome, outcome)}{error}"
