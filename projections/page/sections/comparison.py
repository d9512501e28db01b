"""Two iterations side by side: the best and the last, or, with its script, any two."""

from collections.abc import Sequence

from sprintlog.engine.sprint.iterations.snapshots import has_snapshot

from ...views.iterations import JudgedIteration
from ...words.phrases import UNKNOWN
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text
from .iterations import columns

CELL_CHARS_MAX = 200


def comparison(facts: Facts) -> Markup:
    """Return the best and the last iteration side by side."""
    rows = [one for one in facts.iterations.iterations if isinstance(one.version, int)]
    if len(rows) < 2:
        nothing = tag("p", "There are no two iterations to compare.", class_="empty")
        return section("compare", "Compare two", nothing)
    last = rows[-1]
    best = next((x for x in rows if x.iteration == facts.iterations.best_iteration), None)
    one = best if best is not None and best is not last else rows[-2]
    body = [
        row([
            tag("th", text(name.replace("_", " ")), scope="row"),
            tag("td", text(_cell(cell(one)), CELL_CHARS_MAX), class_="num"),
            tag("td", text(_cell(cell(last)), CELL_CHARS_MAX), class_="num"),
            tag("td", _change(cell(one), cell(last)), class_="num change"),
        ])
        for name, cell, _ in columns(facts.iterations.iterations)
    ]  # fmt: skip
    head = [heading("figure"), heading(_named(facts, one), class_="num"),
            heading(_named(facts, last), class_="num"),
            heading("change", class_="num")]  # fmt: skip
    kept = [has_snapshot(facts.sprint, x.iteration) for x in (one, last)]
    line = f"sprintlog iteration diff {one.iteration} {last.iteration}{facts.named}"
    files = (
        [tag("p", "The files that differ: ", command(line), class_="note files")]
        if all(kept)
        else [tag("p", _not_kept((one, last), kept), class_="note files")]
    )
    made = table(head, body, label="comparison", class_="compared")
    return section("compare", "Compare two", made, *files)


def _not_kept(compared: Sequence[JudgedIteration], kept: Sequence[bool]) -> str:
    """Return of which iterations no snapshot was taken."""
    lacking = [
        f"iteration {x.iteration}"
        for x, is_kept in zip(compared, kept, strict=True)
        if not is_kept
    ]
    return f"Files are not compared: no snapshot was taken of {' and '.join(lacking)}."


def _named(facts: Facts, one: JudgedIteration) -> str:
    best = " (best)" if one.iteration == facts.iterations.best_iteration else ""
    return f"iteration {one.iteration}{best}"


def _cell(value: object) -> object:
    return value


def _change(mine: object, theirs: object) -> str:
    """Return by how much a figure changed; nothing where one of them is none."""
    try:
        first, second = (float(str(x).replace(",", "").lstrip("$")) for x in (mine, theirs))
    except ValueError:
        return "" if UNKNOWN in (mine, theirs) or mine == theirs else "differs"
    by = round(second - first, 4)
    if not by:
        return "="
    return f"{by:+,.4f}".rstrip("0").rstrip(".")
