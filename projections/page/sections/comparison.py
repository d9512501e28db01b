"""Two iterations side by side: the best and the last, or, with its script, any two."""

from collections.abc import Sequence

from sprintlog.facts import JudgedIteration, SprintFacts
from sprintlog.formatting import UNKNOWN, duration

from ..markup import Markup, command, heading, row, said, section, table, tag, text, without
from ..numbers import money
from .iterations import TableColumn, columns

CELL_CHARS_MAX = 200


def comparison(facts: SprintFacts) -> Markup:
    """Return the best and the last iteration side by side."""
    rows = [one for one in facts.iterations.iterations if isinstance(one.version, int)]
    if len(rows) < 2:
        nothing = "There are no two iterations to compare."
        return without("compare", "Compare two", nothing)
    last = rows[-1]
    best = facts.iteration(facts.iterations.best_iteration)
    one = best if best is not None and best is not last else rows[-2]
    body = [
        row([
            tag("th", text(column.name.replace("_", " ")), scope="row"),
            tag("td", text(column.cell(one), CELL_CHARS_MAX), class_="num"),
            tag("td", text(column.cell(last), CELL_CHARS_MAX), class_="num"),
            tag("td", _change(column, one, last), class_="num change"),
        ])
        for column in columns(facts)
    ]  # fmt: skip
    named = (_named(facts, one), _named(facts, last), "change")
    head = ["figure", *(heading(name, class_="num") for name in named)]
    kept = [facts.has_snapshot(x.iteration) for x in (one, last)]
    line = f"sprintlog iteration diff {one.iteration} {last.iteration}{facts.named}"
    told = ("The files that differ: ", command(line))
    files = told if all(kept) else (_not_kept(facts, (one, last), kept),)
    made = table(head, body, label="comparison", class_="compared")
    return section("compare", "Compare two", made, tag("p", *files, class_="note files"))


def _not_kept(
    facts: SprintFacts, compared: Sequence[JudgedIteration], kept: Sequence[bool]
) -> Markup:
    """Return why the files of two iterations cannot be compared."""
    if not facts.keeps_files:
        why = "none were kept, since the loop ran without `--snapshot`"
        return said(f"Files are not compared: {why}.")
    lacking = [
        f"iteration {x.iteration}"
        for x, is_kept in zip(compared, kept, strict=True)
        if not is_kept
    ]
    return text(f"Files are not compared: no snapshot is there of {' and '.join(lacking)}.")


def _named(facts: SprintFacts, one: JudgedIteration) -> str:
    best = " (best)" if one.iteration == facts.iterations.best_iteration else ""
    return f"iteration {one.iteration}{best}"


def _change(column: TableColumn, one: JudgedIteration, other: JudgedIteration) -> str:
    """Return by how much a figure changed; nothing where one of them is none."""
    mine, theirs = str(column.cell(one)), str(column.cell(other))
    if UNKNOWN in (mine, theirs):
        return ""
    first, second = (_amount(column, x) for x in (one, other))
    if first is None or second is None:
        return "=" if mine == theirs else "\N{NOT EQUAL TO}"
    by = round(second - first, 4)
    if not by:
        return "="
    how_much = f"{abs(by):,.4f}".rstrip("0").rstrip(".")
    if column.milliseconds is not None:
        how_much = duration(abs(by))
    elif mine.startswith("$"):
        how_much = money(abs(by))
    return f"{'+' if by > 0 else '-'}{how_much}"


def _amount(column: TableColumn, one: JudgedIteration) -> float | None:
    """Return a figure of an iteration as a number; None for what is none."""
    if column.milliseconds is not None:
        return column.milliseconds(one)
    try:
        return float(str(column.cell(one)).replace(",", "").lstrip("$"))
    except ValueError:
        return None
