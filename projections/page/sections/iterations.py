"""Every iteration with every figure and parameter; what nobody knows is a dash."""

from collections.abc import Callable, Sequence

from ...views.iterations import JudgedIteration
from ...words.phrases import UNKNOWN
from ..facts import Facts
from ..markup import Markup, command, heading, row, section, table, tag, text
from ..numbers import cost, known, money, number, score, tokens, took, version_link

ROWS_MAX = 400
"""Of more iterations only the last ones have a row."""
CELL_CHARS_MAX = 120
SHORT_CHARS = 24
Column = tuple[str, Callable[[JudgedIteration], object], bool]
"""Its name, its cell, and whether that is a figure."""


def columns(rows: Sequence[JudgedIteration]) -> list[Column]:
    """Return the columns of a table of iterations: what is known of any of them."""
    found: list[Column] = [
        ("class", lambda x: x.classification, False),
        ("score", lambda x: score(x.score), True),
    ]
    for name in _names(rows, "figures"):
        found.append((name, lambda x, n=name: number(_of(x, "figures", n), 1), True))  # type: ignore[misc]
    if any(known(one.spent) for one in rows):
        found += [
            ("tokens", lambda x: number(tokens(x.spent)), True),
            ("cost", lambda x: money(cost(x.spent)), True),
            ("time", lambda x: took(x.spent), True),
        ]
    found.append(("alerts", _alerts, False))
    found.append(("remarks", _remarks, False))
    for name in _names(rows, "params"):
        found.append((name, lambda x, n=name: _short(_of(x, "params", n)), False))  # type: ignore[misc]
    return found


def iterations(facts: Facts) -> Markup:
    """Return the table."""
    rows = facts.iterations.iterations
    if not rows:
        nothing = tag("p", "There is no iteration yet.", class_="empty")
        return section("iterations", "Iterations", nothing)
    shown = columns(rows)
    best = facts.iterations.best_iteration
    head = [heading("iteration", class_="num")]
    head += [
        heading(name.replace("_", " "), class_="num" if is_number else None)
        for name, _, is_number in shown
    ]
    lines = [_row(one, shown, is_best=one.iteration == best) for one in rows[-ROWS_MAX:]]
    note = None
    if (more := len(rows) - ROWS_MAX) > 0:
        note = f"{more:,} earlier ones: "
    told = (
        tag("p", note, command("sprintlog iteration list"), class_="note") if note else ""
    )
    made = table(head, lines, label="iterations", class_="sortable")
    return section("iterations", "Iterations", told, made)


def _row(one: JudgedIteration, shown: Sequence[Column], *, is_best: bool) -> Markup:
    version = one.version if isinstance(one.version, int) else 0
    name = str(one.iteration)
    first = version_link(version, name) if version else text(name)
    cells = [tag("th", first, scope="row", class_="num")]
    for _, cell, is_number in shown:
        value = cell(one)
        said = value if isinstance(value, Markup) else text(value, CELL_CHARS_MAX)
        # Figures are most of it, and need no mark.
        kind = None if is_number else "t" if len(said) > SHORT_CHARS else "s"
        cells.append(tag("td", said, class_=kind))
    marks = " ".join(filter(None, ("is-best" * is_best, "off" * (one.is_on_path is False))))
    return row(cells, class_=marks or None, data_v=version or None, data_n=one.iteration)


def _names(rows: Sequence[JudgedIteration], field: str) -> list[str]:
    held = [getattr(one, field) for one in rows]
    return list(dict.fromkeys(n for one in held if isinstance(one, dict) for n in one))


def _of(one: JudgedIteration, field: str, name: str) -> object:
    held = getattr(one, field)
    return held.get(name) if isinstance(held, dict) else None


def _short(value: object) -> object:
    said = str(value)
    return said[:12] if len(said) == 64 and said.isalnum() else value


def _alerts(one: JudgedIteration) -> object:
    if not isinstance(one.alerts, tuple) or not one.alerts:
        return UNKNOWN if not known(one.alerts) else "none"
    kinds = dict.fromkeys(f"{x.severity} {x.type}" for x in one.alerts)
    return ", ".join(kinds)


def _remarks(one: JudgedIteration) -> object:
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
    if known(one.status):
        said.append(f"not measured, {one.status}")
    said += [f"#{tag_}" for tag_ in one.tags] if isinstance(one.tags, tuple) else []
    said += list(one.notes) if isinstance(one.notes, tuple) else []
    said += [one.summary] if isinstance(one.summary, str) else []
    return "; ".join(said) or UNKNOWN
