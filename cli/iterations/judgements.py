"""Output of judged iterations: lines for people, objects for scripts."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter

import click

from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.exact import HOW_TO_MEASURE, Number, plain, short, shown
from sprintlog.engine.judging.recommend import Recommendation
from sprintlog.engine.judging.score import Score, score_text, unknown_parts
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.evaluation import Judged, RunEnding, evaluate
from sprintlog.engine.sprint.state.sprint import Spent
from sprintlog.engine.sprint.state.words import COMPLETED
from sprintlog.engine.usage import COST, bounded
from sprintlog.projections.text.phrases import NOISE, dollars, duration, group_rows
from sprintlog.projections.text.summary_report import BARS, PLAIN, sparkline
from sprintlog.projections.views.files import FileChange
from sprintlog.projections.views.iteration_quality import equals_by_exit_code
from sprintlog.projections.views.iterations import ListedIterations, judgements, listed
from sprintlog.projections.views.work import work_trees
from sprintlog.projections.workspace import Workspace

from .. import output, typed
from ..context import ReadOptions, open_logs, open_workspace, with_logs, with_reading
from ..screen.terminal import GOOD

ERROR_CHARS_MAX = 120
"""The maximum length of an error in a table row."""
FILES_MAX = 20
"""The maximum number of files listed; `iteration diff` lists all."""
HEAD = ("iteration", "class", "score", "tests", "coverage", "errors", "alerts", "summary")
TOOK = ("turns", "tokens", "cost", "time")
COVERAGE, ERRORS, ALERTS = (HEAD.index(name) for name in ("coverage", "errors", "alerts"))
SUMMARY_CHARS = 40
"""The minimum width of a summary; a table omits other columns to preserve it."""
_Row = tuple[int, Judgement | None, str]
"""A number, its judgement if it was measured, and the text of the last column."""
OWN_MAX = 3
"""The maximum number of custom metrics with a column; the report includes all."""


def judged_at(workspace: Workspace, reading: ReadOptions) -> Judged:
    """Return a sprint's judged iterations at a point."""
    return evaluate(workspace.log, reading.sprint(workspace))


def subject_line(judged: Judged, given: Recommendation) -> str:
    """Return a line with the class and score of the iteration that the advice is about."""
    name = f"iteration {given.number}"
    if judged.tracker.entry(given.number) is None:
        why = "; ".join(reason.text for reason in given.reasons)
        return f"{name}: {why.removeprefix(f'{name} ')}"
    one = judged.one(given.number)
    word = one.classification or "nothing to compare with yet"
    return f"{name}: {word}, quality {score_text(one.score)}"


def list_lines(judged: Judged, found: ListedIterations) -> list[str]:
    """Return a table of iterations, one per line, including unmeasured iterations.

    The work tree is shown in a column if it differs between iterations, otherwise on a
    line.
    """
    off_path, trees, ends = judged.left_behind(), found.trees, judged.endings()
    # If all scores lack the same parts, one line below the table names them.
    unknown = {unknown_parts(one.score) for one in found.measured}
    (below,) = unknown if len(unknown) == 1 else (None,)
    rows: list[_Row] = [
        (one.number, one, _marks(judged, one, off_path, is_told=bool(below)))
        for one in found.measured
    ]
    for failed in found.failures:
        number, why = failed.event.number, f"not measured: {failed.why}"[:ERROR_CHARS_MAX]
        rows.append((number, None, _marked(number, off_path, why)))
    if not rows:
        return _lines_of_runs(judged, found.others, trees)
    rows = [(number, one, _ended(said, ends.get(number))) for number, one, said in rows]
    for other in found.others:
        said = _marked(other.number, off_path, f"not measured: {_how(other)}")
        rows.append((other.number, None, said))
    names = own_in(judged, found.measured)[:OWN_MAX]
    lines = _table(judged, sorted(rows, key=itemgetter(0)), names, trees)
    if below:
        lines += output.wrapped(f"of each score: {below}", indent="  ")
    if equals := equals_by_exit_code(judged):
        lines += output.wrapped(f"best: {equals}", indent="  ")
    return lines + _tree_line(trees)


def _tree_cells(number: int, trees: Mapping[int, str]) -> tuple[str, ...]:
    """Return a cell with an iteration's work tree; empty if all iterations share it."""
    if len({*trees.values()}) < 2:
        return ()
    return ("work tree" if number < 0 else trees.get(number, "-"),)


def _tree_line(trees: Mapping[int, str]) -> list[str]:
    """Return a line with the iterations' work tree, or no line if the iterations differ."""
    names = {*trees.values()}
    return (
        [f"work tree: {output.visible(name)}" for name in names] if len(names) == 1 else []
    )


def own_in(judged: Judged, found: Iterable[Judgement]) -> list[str]:
    """Return the names of custom metrics: declared metrics, then other measured metrics."""
    names = [one.name for one in judged.rules.metrics]
    measured = (name for one in found for name in one.figures.own)
    return list(dict.fromkeys((*names, *measured)))


def _own_cell(one: Judgement | None, name: str) -> str:
    value = one.figures.own.get(name) if one is not None else None
    return "-" if value is None else plain(value)


def _table(
    judged: Judged, rows: Sequence[_Row], names: Sequence[str], trees: Mapping[int, str]
) -> list[str]:
    """Return rows as lines of a table, with columns for the named metrics."""
    spent, described, claims = judged.spent(), judged.described(), judged.claims()
    is_spent = any(number in spent for number, *_ in rows)
    took: tuple[str, ...] = TOOK if is_spent else ()
    tree = _tree_cells(-1, trees)
    lines = [(*HEAD[:ALERTS], *names, *took, HEAD[ALERTS], *tree, HEAD[-1])]
    for number, one, said in rows:
        *quality, alerts = ("-",) * ALERTS if one is None else _cells(one)
        own = [_own_cell(one, name) for name in names]
        took = took_cells(spent.get(number)) if is_spent else ()
        tree = _tree_cells(number, trees)
        tags = described[number].tags if number in described else ()
        note = ", ".join(
            filter(None, (claims.get(number), said, *(f"#{tag}" for tag in tags)))
        )
        lines.append((str(number), *quality, *own, *took, alerts, *tree, note))
    end = ALERTS + len(names)
    after = end + len(took)
    # Score columns have priority over costs, and costs over durations.
    spare = ((end + 3, end, end + 1) if is_spent else ()) + (COVERAGE, ERRORS, after)
    right = {0, *range(2, after)}
    return output.table(lines, right=right, whole={1}, spare=spare, least=SUMMARY_CHARS)


def took_cells(spent: Spent | None) -> tuple[str, ...]:
    """Return the resources used by agents as table cells."""
    if spent is None:
        return ("-",) * len(TOOK)
    tokens = spent.tokens
    return (
        "-" if spent.turns is None else f"{spent.turns:,}",
        "-" if tokens is None else bounded(f"{tokens:,}", spent),
        "-" if spent.cost_usd is None else bounded(dollars(spent.cost_usd), spent, COST),
        duration(spent.duration_ms) if spent.duration_ms else "-",
    )


def trajectory_line(judged: Sequence[Judgement]) -> str | None:
    """Return the scores over time as bars, or None if there are fewer than two scores."""
    values = [one.score.value for one in judged if one.number != BASELINE_NUMBER]
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    bars = sparkline(values, BARS if output.shows_bars() else PLAIN)
    low, high = shown(min(known), 2), shown(max(known), 2)
    return f"score  {output.coloured(bars, GOOD)}  {low} to {high}"


def own_lines(judged: Judged, found: Sequence[Judgement]) -> list[str]:
    """Return a bar chart for each custom metric with at least two values."""
    known = {one.name: one for one in judged.rules.metrics}
    turns = [one for one in found if one.number != BASELINE_NUMBER]
    lines = []
    for name in own_in(judged, found):
        values = [one.figures.own.get(name) for one in turns]
        there = [value for value in values if value is not None]
        if len(there) < 2:
            continue
        bars = sparkline(values, BARS if output.shows_bars() else PLAIN)
        said = f"{plain(there[0])} to {plain(there[-1])}"
        if (declared := known.get(name)) is not None and declared.better is not None:
            said = f"{said}, {declared.better} is better"
        lines.append(f"{name}  {output.coloured(bars, GOOD)}  {said}")
    return lines


def breakdown_lines(score: Score) -> list[str]:
    """Return a table of a score's dimensions, each followed by its components."""
    rows: list[tuple[str, ...]] = [("dimension", "points", "weight", "contribution")]
    for one in score.dimensions:
        parts = (_cell(one.points, 2), _cell(one.applied, 4), _cell(one.contribution, 4))
        rows.append((one.name, *parts))
        rows += [(f"  {c.name}", _cell(c.points, 2), "", "") for c in one.components]
    weight = sum(one.applied or 0 for one in score.dimensions)
    rows.append(("total", "", _cell(weight, 4), _cell(score.value, 4)))
    return output.table(rows, right=frozenset({1, 2, 3}))


def recommendation_lines(given: Recommendation) -> list[str]:
    """Return a recommendation with its reasons and the derivation of its confidence."""
    lines = [f"action: {given.action}"]
    if given.target is not None:
        differs = given.best not in (None, given.target)
        best = f" (the best one is iteration {given.best})" if differs else ""
        lines.append(f"target: iteration {given.target}{best}")
    lines.append(f"reason: {given.reason}")
    lines += [f"  {reason.text}  {shown(reason.weight, 1)}" for reason in given.reasons]
    lines.append(f"confidence: {given.derivation}")
    return [*lines, *(f"alternative: {one}" for one in given.alternatives)]


def _cells(one: Judgement) -> tuple[str, ...]:
    """Return an iteration's table cells from the class to the alerts."""
    now = one.figures
    passed = "?" if now.tests_passed is None else str(now.tests_passed)
    more = f" +{len(one.alerts) - 1}" if one.alerts[1:] else ""
    return (
        one.classification or "-",
        _cell(one.score.value, 2),
        "-" if now.test_count is None else f"{passed}/{now.test_count}",
        "-" if now.coverage is None else f"{short(now.coverage)}%",
        "-" if now.error_count is None else str(now.error_count),
        f"{one.alerts[0].type}{more}" if one.alerts else "-",
    )


def _marks(judged: Judged, one: Judgement, off_path: set[int], *, is_told: bool) -> str:
    best, selected = judged.tracker.best, judged.tracker.selected
    marks = {
        "best": best is not None and best.number == one.number,
        "selected": selected is not None and selected.number == one.number,
        "baseline": one.number == judged.tracker.baseline_number != BASELINE_NUMBER,
        "discarded": one.number in off_path,
        "incomplete": one.is_incomplete,
        one.unfit or "": one.unfit is not None,
        "score given": one.score.is_given,
        f"{short((1 - one.score.share) * 100)}% unknown": one.score.share < 1
        and not is_told,
    }
    return ", ".join(mark for mark, is_so in marks.items() if is_so)


def _ended(said: str, ended: RunEnding | None) -> str:
    """Return the summary with the run's outcome, which comes first if the run failed."""
    if ended is None:
        return said
    if ended.outcome == COMPLETED:
        parts = [said, ended.turn.words if ended.turn else "", _line_of(ended.summary)]
    else:
        parts = [_how(ended), said]
    return ", ".join(filter(None, parts))


def _marked(number: int, off_path: set[int], said: str) -> str:
    return f"discarded, {said}" if number in off_path else said


def _how(one: RunEnding) -> str:
    """Return a one-line description of how an iteration ended."""
    said = _line_of(one.error or one.summary)
    return ": ".join(filter(None, (one.words, said)))[:ERROR_CHARS_MAX]


def _line_of(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0][:ERROR_CHARS_MAX]


def _lines_of_runs(
    judged: Judged, others: Iterable[RunEnding], trees: Mapping[int, str]
) -> list[str]:
    """Return a table of runs for a sprint without measurements."""
    spent, off_path = judged.spent(), judged.left_behind()
    rows = [
        (
            str(one.number),
            *took_cells(spent.get(one.number)),
            *_tree_cells(one.number, trees),
            _marked(one.number, off_path, _how(one)),
        )
        for one in others
    ]
    head = ("iteration", *TOOK, *_tree_cells(-1, trees), "summary")
    right, spare = {0, 1, 2, 3, 4}, (1, 4, 2)
    lines = output.table(
        [head, *rows], right=right, whole={0}, spare=spare, least=SUMMARY_CHARS
    )
    return lines + _tree_line(trees)


def _cell(number: Number | None, places: int) -> str:
    return "-" if number is None else shown(number, places)


def files_lines(files: list[FileChange] | None) -> list[str]:
    """Return a line for each file that differs, or no lines unless two snapshots exist."""
    if files is None:
        return []
    lines = [f"{file.how.ljust(7)}  {file.path}" for file in files]
    more = "and {} more: `sprintlog iteration diff A B` names all"
    return ["", *(output.first(lines, FILES_MAX, more) or ["no file differs"])]


@typed.command("list")
@typed.number_option("--last", least=1, help="Show only the newest N.")
@typed.option(
    "--by",
    metavar="NAME",
    help="Compare the results of all sprints by agent, model, prompt or a parameter.",
)
@with_logs
@with_reading
def command(
    last: int | None, by: str | None, logs: dict[str, str], reading: ReadOptions
) -> None:
    """List iterations: class, score, tests, coverage, errors, cost, alerts and summary.

    The last column shows how the run ended, failures first; on narrow terminals, other
    columns are omitted. The class compares an iteration with the previous one: `forward`,
    `regression`, `plateau` (neither) or `stalled` (at least the third plateau in a row);
    `sprintlog help look` explains the terms.

    --by prints a row for each model or other value instead, and whether the results differ
    by more than their noise.

    Examples: sprintlog list --last 5

    sprintlog list --by model --log ~/api --log ~/web
    """
    if (logs and by is None) or (by is not None and (last or reading.at)):
        raise click.UsageError("--log requires --by, without --last and --at")
    if by is not None:
        # Imported here: the import takes longer than a list of iterations.
        from sprintlog.projections.sql.groups import grouped

        with open_logs(logs) as opened:
            answer = grouped(opened, by, sprint=reading.sprint_id)
        lines = output.table(group_rows(answer), right={*range(1, 9)}, whole={0, 6, 7})
        lines += ["", *answer.verdict, NOISE]
        output.print_answer(answer, lines, as_json=reading.as_json)
        return
    with open_workspace() as workspace:
        judged = judged_at(workspace, reading)
        found = listed(judged, work_trees(workspace, judged.sprint), last=last)
        if reading.as_json:
            output.print_json(judgements(judged, found))
            return
        lines = list_lines(judged, found)
        plots = own_lines(judged, found.measured)
    if not any(found[:3]):
        output.print_text("no iteration was measured")
        output.hint(HOW_TO_MEASURE)
    else:
        output.print_text(*lines)
        if (line := trajectory_line(found.measured)) is not None:
            output.print_styled(f"\n{line}")
        for line in plots:
            output.print_styled(line)
