"""`sprintlog report`: an iteration, all of them, or the selected output, as Markdown."""

import click

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.iterations.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.judged import Judged
from sprintlog.projections.views import iterations as views
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..output import print_bytes, print_json
from ..screen import phrases
from ..screen.pager import paged
from .judgements import judged_at
from .report_files import tell_written, write_files


@typed.command(
    "report",
    epilog="Examples: sprintlog report iter:3\n\n"
    'sprintlog report --summary >> "$GITHUB_STEP_SUMMARY"',
)
@click.argument("point", required=False, metavar="[iter:N|N]")
@typed.option("--selection", "is_selection", is_flag=True, help="Of the selected output.")
@typed.option("--summary", "is_summary", is_flag=True, help="Of all iterations, one page.")
@typed.option(
    "--write",
    "is_written",
    is_flag=True,
    help="Write the files below .aiwg/ralph/LOOP/ instead: of all iterations, or of one.",
)
@with_reading
def command(
    point: str | None,
    is_selection: bool,
    is_summary: bool,
    is_written: bool,
    reading: ReadOptions,
) -> None:
    """Print the report of an iteration, the one measured last where none is named.

    It says what was known when the iteration was measured: later ones do not change it.
    Best Preserved is whether a snapshot held the files of the best iteration then.
    """
    if is_selection + is_summary + is_written > 1:
        raise click.UsageError("give one of --selection, --summary and --write")
    if point is not None and (is_selection or is_summary):
        raise click.UsageError("--selection and --summary are of all iterations")
    if is_written and reading.at is not None:
        raise click.UsageError("--write writes what is known now: leave --at out")
    number = None if point is None else _number(point)
    with open_workspace() as workspace:
        if is_written:
            _write(workspace, reading.sprint_id, number, as_json=reading.as_json)
            return
        judged = judged_at(workspace, reading)
        if is_selection:
            _print_selection(judged, as_json=reading.as_json)
        elif is_summary:
            _print_summary(judged, as_json=reading.as_json)
        else:
            _print_iteration(workspace, judged, number, as_json=reading.as_json)


def _number(point: str) -> int:
    text = point.removeprefix("iter:")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidInputError(f"{point[:60]!r} is no iteration; give iter:N or N")
    return int(text)


def _print_iteration(
    workspace: Workspace, judged: Judged, number: int | None, *, as_json: bool
) -> None:
    from sprintlog.projections.iterations.iteration_report import (
        iteration_markdown,
        iteration_report,
    )
    from sprintlog.projections.state_files.loop_files import then_of

    if number is None and judged.last is None and judged.tracker.baseline is None:
        raise _nothing_measured(judged.sprint.id)
    asked = judged.last if number is None else number
    asked = BASELINE_NUMBER if asked is None else asked
    then = then_of(workspace, judged)(asked)
    report = iteration_report(then, asked)
    if as_json:
        print_json(views.report(then, report))
    else:
        with paged():
            print_bytes(iteration_markdown(report, _took(then, asked)).encode())


def _took(judged: Judged, number: int) -> str:
    """Return what agents took in an iteration, each with its unit."""
    if (spent := judged.spent().get(number)) is None:
        return ""
    return ", ".join(phrases.usage(spent, duration_ms=spent.duration_ms))


def _print_selection(judged: Judged, *, as_json: bool) -> None:
    from sprintlog.projections.iterations.selection_report import (
        selection_markdown,
        selection_report_data,
    )

    data = selection_report_data(judged)
    if data is None:
        raise NotFoundError(
            f"no output of sprint {judged.sprint.id} was selected",
            hint="`sprintlog iteration select` selects one",
        )
    if as_json:
        print_json(data)
    else:
        with paged():
            print_bytes(selection_markdown(data).encode())


def _print_summary(judged: Judged, *, as_json: bool) -> None:
    from sprintlog.projections.iterations.summary_report import summary_markdown

    if as_json:
        print_json(views.summary(judged))
        return
    base = judged.baseline()
    found = [*([base] if base else []), *judged.all()]
    failures = judged.failures()
    given = judged.recommendation() if judged.last is not None or failures else None
    text = summary_markdown(
        judged.sprint.id,
        found,
        summaries=judged.summaries(),
        best=judged.best(),
        given=given,
        selection=judged.selected(),
        failures=failures,
        spent=judged.spent(),
    )
    with paged():
        print_bytes(text.encode())


def _write(
    workspace: Workspace, sprint_id: str | None, number: int | None, *, as_json: bool
) -> None:
    chosen = workspace.choose(sprint_id)
    numbers = None if number is None else [number]
    written = write_files(workspace, chosen, numbers)
    if not written and number in (None, BASELINE_NUMBER):
        raise _nothing_measured(chosen)
    if as_json:
        print_json([views.Written(x.path or "", x.state, x.kept) for x in written])
    else:
        tell_written(written)


def _nothing_measured(sprint_id: str) -> NotFoundError:
    return NotFoundError(
        f"there is nothing to report: no iteration of sprint {sprint_id} was measured",
        hint="`sprintlog iteration end --metric NAME=VALUE` measures one",
    )
