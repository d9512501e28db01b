"""How judged iterations are printed: lines for people, objects for scripts."""

from collections.abc import Iterable, Sequence
from typing import Any

from sprintlog.engine.iterations.evaluation import Judgement
from sprintlog.engine.iterations.exact import Number, short, shown
from sprintlog.engine.iterations.recommend import Recommendation
from sprintlog.engine.iterations.score import Score
from sprintlog.engine.iterations.select import said_score, unknown_parts
from sprintlog.engine.iterations.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.judged import Failure, Judged, Unmeasured, evaluate
from sprintlog.engine.sprint.state.sprint import Spent
from sprintlog.projections.iterations.sparkline import BARS, PLAIN, sparkline
from sprintlog.projections.views.files import FileChange
from sprintlog.projections.workspace import Workspace

from ..context import ReadOptions
from ..output import coloured, shows_bars, table, wrapped
from ..screen import phrases
from ..screen.terminal import GOOD
from ..screen.times import duration

ERROR_CHARS_MAX = 120
"""How much of an error fits into a line of a table."""
FILES_MAX = 20
"""More files are only counted; `iteration diff` names all."""
HEAD = ("iteration", "class", "score", "tests", "coverage", "errors", "alerts", "")
TOOK = ("turns", "tokens", "cost", "time")
ALERTS = HEAD.index("alerts")


def judged_at(workspace: Workspace, reading: ReadOptions) -> Judged:
    """Return a sprint's iterations as they are judged at a point."""
    return evaluate(workspace.log, reading.sprint(workspace))


def subject_line(judged: Judged, given: Recommendation) -> str:
    """Return which iteration an advice speaks of, and what is known of it."""
    name = f"iteration {given.number}"
    if judged.tracker.entry(given.number) is None:
        why = "; ".join(reason.text for reason in given.reasons)
        return f"{name}: {why.removeprefix(f'{name} ')}"
    one = judged.one(given.number)
    word = one.classification or "nothing to compare with yet"
    return f"{name}: {word}, quality {said_score(one.score)}"


def list_lines(
    judged: Judged,
    shown_ones: Iterable[Judgement],
    failures: Iterable[Failure] = (),
    others: Iterable[Unmeasured] = (),
) -> list[str]:
    """Return a table of iterations, one a line, those without a measurement among them."""
    off_path, found = judged.off_path(), list(shown_ones)
    # Where all scores lack the same it is said once, below them.
    unknown = {unknown_parts(one.score) for one in found}
    (below,) = unknown if len(unknown) == 1 else (None,)
    rows = [(one.number, _row(judged, one, off_path, is_told=bool(below))) for one in found]
    rows += [(one.event.number, _failed_row(one)) for one in failures]
    if not rows:
        return _lines_of_runs(judged, others)
    rows += [(one.number, _unmeasured_row(one)) for one in others]
    lines = _table([(-1, HEAD), *sorted(rows)], judged.spent())
    return [*lines, *wrapped(f"of each score: {below}", indent="  ")] if below else lines


def _table(rows: Sequence[tuple[int, Sequence[str]]], spent: dict[int, Spent]) -> list[str]:
    if not any(number in spent for number, _ in rows):
        return table([row for _, row in rows], right={0, 2, 3, 4, 5}, whole={1})
    lines = [
        (*row[:ALERTS], *(TOOK if number < 0 else _took(spent.get(number))), *row[ALERTS:])
        for number, row in rows
    ]
    # What an iteration was worth comes before what it cost, and that before its length.
    spare = (9, 6, 7, 4)
    return table(lines, right={0, *range(2, 10)}, whole={1}, spare=spare, least=16)


def _took(spent: Spent | None) -> tuple[str, ...]:
    if spent is None:
        return ("-",) * len(TOOK)
    tokens = phrases.tokens_of(spent)
    return (
        "-" if spent.turns is None else f"{spent.turns:,}",
        "-" if tokens is None else f"{tokens:,}",
        "-" if spent.cost_usd is None else phrases.dollars(spent.cost_usd),
        duration(spent.duration_ms) if spent.duration_ms else "-",
    )


def trajectory_line(judged: Sequence[Judgement]) -> str | None:
    """Return how the score went, as bars; None before there are two of them."""
    values = [one.score.value for one in judged if one.number != BASELINE_NUMBER]
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    bars = sparkline(values, BARS if shows_bars() else PLAIN)
    low, high = shown(min(known), 2), shown(max(known), 2)
    return f"score  {coloured(bars, GOOD)}  {low} to {high}"


def breakdown_lines(score: Score) -> list[str]:
    """Return what a score was made from: dimensions, and their components below them."""
    rows: list[tuple[str, ...]] = [("dimension", "points", "weight", "contribution")]
    for one in score.dimensions:
        parts = (_cell(one.points, 2), _cell(one.weight, 2), _cell(one.contribution, 4))
        rows.append((one.name, *parts))
        rows += [(f"  {c.name}", _cell(c.points, 2), "", "") for c in one.components]
    rows.append(("total", "", _cell(score.share, 2), _cell(score.value, 4)))
    return table(rows, right=frozenset({1, 2, 3}))


def recommendation_lines(given: Recommendation) -> list[str]:
    """Return the reasons of an advice, and where its confidence comes from."""
    lines = [f"action: {given.action}"]
    if given.target is not None:
        differs = given.best not in (None, given.target)
        best = f" (the best one is iteration {given.best})" if differs else ""
        lines.append(f"target: iteration {given.target}{best}")
    lines.append(f"reason: {given.reason}")
    lines += [f"  {reason.text}  {shown(reason.weight, 1)}" for reason in given.reasons]
    lines.append(f"confidence: {given.derivation}")
    return [*lines, *(f"alternative: {one}" for one in given.alternatives)]


def _row(
    judged: Judged, one: Judgement, off_path: set[int], *, is_told: bool
) -> tuple[str, ...]:
    now, best = one.figures, judged.tracker.best
    selected = judged.tracker.selected
    passed = "?" if now.tests_passed is None else str(now.tests_passed)
    tests = "-" if now.test_count is None else f"{passed}/{now.test_count}"
    marks = {
        "best": best is not None and best.number == one.number,
        "selected": selected is not None and selected.number == one.number,
        "off the path": one.number in off_path,
        "incomplete": one.is_incomplete,
        "score given": one.score.is_given,
        f"{short((1 - one.score.share) * 100)}% unknown": one.score.share < 1
        and not is_told,
    }
    return (
        str(one.number),
        one.classification or "-",
        _cell(one.score.value, 2),
        tests,
        "-" if now.coverage is None else f"{short(now.coverage)}%",
        "-" if now.error_count is None else str(now.error_count),
        ", ".join(alert.type for alert in one.alerts) or "-",
        ", ".join(mark for mark, is_so in marks.items() if is_so),
    )


def _failed_row(failure: Failure) -> tuple[str, ...]:
    said = f"not measured: {failure.event.error}"
    return (str(failure.event.number), *("-",) * (len(HEAD) - 2), said[:ERROR_CHARS_MAX])


def _unmeasured_row(one: Unmeasured) -> tuple[str, ...]:
    return (str(one.number), *("-",) * (len(HEAD) - 2), f"not measured: {_how(one)}")


def _how(one: Unmeasured) -> str:
    """Return how an iteration ended, on one line."""
    said = (one.error or one.summary or "").strip().partition("\n")[0]
    return ": ".join(filter(None, (one.status, said)))[:ERROR_CHARS_MAX]


def _lines_of_runs(judged: Judged, others: Iterable[Unmeasured]) -> list[str]:
    """Return a table of what was run, where nothing was measured at all."""
    spent = judged.spent()
    rows = [(str(one.number), *_took(spent.get(one.number)), _how(one)) for one in others]
    return table([("iteration", *TOOK, ""), *rows], right={0, 1, 2, 3, 4}, whole={0})


def _cell(number: Number | None, places: int) -> str:
    return "-" if number is None else shown(number, places)


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
    return _short_cell(mine, places), _short_cell(theirs, places), change


def _short_cell(number: Number | None, places: int) -> str:
    return "-" if number is None else short(number, places)


def _signed(number: Number, places: int) -> str:
    return f"+{short(number, places)}" if number > 0 else short(number, places)
