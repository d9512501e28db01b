"""How two judged iterations are shown side by side."""

from typing import Any

from sprintlog.engine.iterations.evaluation import Judgement
from sprintlog.engine.iterations.exact import Number, short
from sprintlog.projections.views.files import FileChange

from ..output import table

FILES_MAX = 20
"""More files are only counted; `iteration diff` names all."""


def files_lines(files: list[FileChange] | None) -> list[str]:
    """Return the files that differ, a line each; nothing without two snapshots."""
    if files is None:
        return []
    lines = [f"{file.how.ljust(7)}  {file.path}" for file in files[:FILES_MAX]]
    if (more := len(files) - FILES_MAX) > 0:
        lines.append(f"and {more} more: `sprintlog iteration diff A B` names all")
    return ["", *(lines or ["no file differs"])]


def comparison_lines(one: Judgement, other: Judgement) -> list[str]:
    """Return a table: what was measured and what it is worth, and the difference."""
    rows = [("", str(one.number), str(other.number), "delta")]
    rows.append(("class", one.classification or "-", other.classification or "-", ""))
    pairs: list[tuple[str, Any, Any, int]] = [
        ("score", one.score.value, other.score.value, 4),
        ("  measured, %", 100 * one.score.share, 100 * other.score.share, 1),
    ]
    for mine, theirs in zip(one.score.dimensions, other.score.dimensions, strict=True):
        pairs.append((f"  {mine.name}", mine.points, theirs.points, 2))
    mine_figures, their_figures = one.figures._asdict(), other.figures._asdict()
    for name, value in mine_figures.items():
        if value is not None or their_figures[name] is not None:
            pairs.append((name, value, their_figures[name], 1))
    rows += [(name, *_cells(a, b, places)) for name, a, b, places in pairs]
    return table(rows, right=frozenset({1, 2, 3}))


def _cells(mine: Any, theirs: Any, places: int) -> tuple[str, str, str]:
    if isinstance(mine, str) or isinstance(theirs, str):
        return mine or "-", theirs or "-", ""
    change = ""
    if mine is not None and theirs is not None:
        change = _signed(theirs - mine, places)
    return _cell(mine, places), _cell(theirs, places), change


def _cell(number: Number | None, places: int) -> str:
    return "-" if number is None else short(number, places)


def _signed(number: Number, places: int) -> str:
    return f"+{short(number, places)}" if number > 0 else short(number, places)
