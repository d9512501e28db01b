"""The `sprintlog report` command: a sprint, an iteration or the selected result."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from msgspec import UNSET
from msgspec.structs import replace

from sprintlog.engine.adapters.replace import replace_file
from sprintlog.engine.errors import InvalidInputError, NotFoundError, SprintlogError
from sprintlog.engine.judging.exact import HOW_TO_MEASURE
from sprintlog.engine.judging.tracker import BASELINE_NUMBER
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.service.work_tree.own_paths import know_for_people
from sprintlog.engine.sprint.events.snapshots import left_words
from sprintlog.engine.sprint.state.times import parse
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.projections.facts.sprint_facts import sprint_facts
from sprintlog.projections.markdown import code
from sprintlog.projections.page.document import DRAWINGS, job_summary
from sprintlog.projections.page.document import page as page_of
from sprintlog.projections.page.timeline import laid_out
from sprintlog.projections.state_files import iteration_report, loop_files, tracker
from sprintlog.projections.state_files import iteration_report as reports
from sprintlog.projections.state_files.selection_report import selection_markdown
from sprintlog.projections.text.phrases import duration, spent_said, usage
from sprintlog.projections.text.stops import work_ended
from sprintlog.projections.text.summary_report import SummaryTexts, summary_markdown
from sprintlog.projections.views import iterations as views
from sprintlog.projections.views import quality, runs, work
from sprintlog.projections.workspace import Workspace

from .. import context, named_sprint, output, stops, typed
from ..screen import times
from ..screen.pager import paged
from .judgements import FILES_MAX, judged_at
from .measurement import tell_written, write_files
from .snapshots import authored_lines, files_changed_in


def write_page(
    workspace: Workspace, reading: context.ReadOptions, file: Path, *, opens: bool
) -> None:
    """Write a sprint's page, and open it in the user's browser if requested."""
    if file.is_dir():
        raise InvalidInputError(f"{file} is a folder; specify a file", field="--html")
    name = workspace.choose(reading.sprint_id)
    content = page_of(workspace, name, at=reading.at).encode()
    try:
        replace_file(file.parent.resolve() / file.name, content, mode=0o644)
    except OSError as error:
        raise SprintlogError(f"{file}: {error.strerror}") from error
    know_for_people(workspace, file)
    answer = {"file": str(file), "bytes": len(content)}
    line = f"wrote {file} ({len(content):,} bytes)"
    output.print_answer(answer, [line], as_json=reading.as_json)
    if opens:
        _open(file)


def _open(file: Path) -> None:
    """Open a file in the browser; print a note if there is no browser."""
    import webbrowser

    if not webbrowser.open(file.resolve().as_uri()):
        output.note(f"no browser was found: open {file} yourself")


@typed.command("report")
@typed.argument("point", required=False, metavar="[iter:N|N]")
@typed.flag("--selection", "is_selection", help="Report on the selection.")
@typed.flag(
    "--write",
    "is_written",
    help="Write the files under .aiwg/ralph/LOOP/ instead, for all iterations or for one.",
)
@typed.file_option("--html", "page", help="Write the whole report as one HTML page.")
@typed.choice_option(
    "--svg", "drawing", of=["quality", "gantt"], help="Print one chart of that page as SVG."
)
@typed.flag(
    "--markdown",
    "is_job_summary",
    help="Markdown with a timeline, for the summary of a CI job: at most 1 MiB.",
)
@typed.flag("--open", "opens", help="With --html: open the page in the browser.")
@context.with_reading
def command(
    point: str | None,
    is_selection: bool,
    is_written: bool,
    page: Path | None,
    drawing: str | None,
    is_job_summary: bool,
    opens: bool,
    reading: context.ReadOptions,
) -> None:
    """Print a one-page report on a sprint, or the report on one iteration.

    The report shows why the sprint stopped, its duration and cost, the best iteration, and
    all regressions; it has a row for each iteration.

    An iteration's report reflects the state when it was measured; later iterations do not
    change it. For an unmeasured iteration it contains the reason and the available data.
    "Best Preserved" states whether a snapshot contained the best files at that time.

    Examples: sprintlog report >> "$GITHUB_STEP_SUMMARY"

    sprintlog report iter:3

    sprintlog report --html night.html --open
    """
    if point is not None and is_selection:
        raise click.UsageError("--selection covers all iterations: omit N")
    if is_written and reading.at is not None:
        raise click.UsageError("--write cannot be combined with --at")
    if opens and page is None:
        raise click.UsageError("--open requires --html FILE")
    forms = [page is not None, drawing is not None, is_job_summary]
    if sum([*forms, is_selection, is_written]) > 1:
        said = "--html, --svg, --markdown, --selection and --write cannot be combined"
        raise click.UsageError(said)
    if any(forms) and point is not None:
        raise click.UsageError("page and summary do not accept an iteration: use --at")
    if reading.as_json and (drawing is not None or is_job_summary):
        raise click.UsageError("--json cannot be combined with --svg or --markdown")
    number = None if point is None else _number(point)
    with context.open_workspace() as workspace:
        if page is not None:
            write_page(workspace, reading, page, opens=opens)
            return
        if drawing is not None:
            facts = sprint_facts(
                workspace, workspace.choose(reading.sprint_id), at=reading.at
            )
            output.print_bytes(DRAWINGS[drawing](facts).encode())
            return
        if is_written:
            _write(workspace, reading.sprint_id, number, as_json=reading.as_json)
            return
        judged = judged_at(workspace, reading)
        if is_selection:
            _print_selection(judged, as_json=reading.as_json)
        elif number is None:
            _print_summary(workspace, judged, reading, is_of_job=is_job_summary)
        else:
            _print_iteration(workspace, judged, number, as_json=reading.as_json)


def _number(point: str) -> int:
    text = point.removeprefix("iter:")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidInputError(f"invalid iteration {point[:60]!r}: must be iter:N or N")
    return int(text)


def _print_iteration(
    workspace: Workspace, judged: Judged, number: int, *, as_json: bool
) -> None:
    """Print the report on an iteration, including the changed files if known."""
    tree = work.work_trees(workspace, judged.sprint).get(number)
    said = [f"**Work tree**: {code(tree)}"] if tree else []
    answer: views.IterationAnswer
    if number != BASELINE_NUMBER and judged.tracker.entry(number) is None:
        text = reports.unmeasured_markdown(judged, number, _took(judged, number), said)
        answer = views.unmeasured_report(judged, number)
    else:
        then = loop_files.then_of(workspace, judged)(number)
        report = reports.iteration_report(then, number)
        said += [
            *iteration_report.ended(judged, number),
            *reports.made_with(then.described().get(number)),
        ]
        after = reports.done_after(judged, number)
        text = reports.iteration_markdown(report, _took(then, number), said, after)
        answer = views.report(then, report)
    changed = files_changed_in(workspace, judged.sprint, number)
    if as_json:
        one = replace(answer.judgement, work_tree=tree or UNSET)
        output.print_json(replace(answer, changed=changed, judgement=one))
        return
    with paged():
        output.print_bytes(text.encode())
        if changed is not None:
            lines = authored_lines(changed, most=FILES_MAX) or ["no file differs"]
            output.print_text("", "### Files that changed", "", *lines)


def _took(judged: Judged, number: int) -> str:
    """Return the resources that agents used in an iteration, with units."""
    if (spent := judged.spent().get(number)) is None:
        return ""
    return ", ".join(usage(spent, duration_ms=spent.duration_ms))


def _print_selection(judged: Judged, *, as_json: bool) -> None:
    data = tracker.selection_data(judged)
    if data is None:
        raise NotFoundError(
            f"no output of sprint {judged.sprint.id} was selected",
            hint="use `sprintlog iteration select` to select one",
        )
    output.print_rendered(data, lambda: selection_markdown(data).encode(), as_json=as_json)


def _print_summary(
    workspace: Workspace, judged: Judged, reading: context.ReadOptions, *, is_of_job: bool
) -> None:
    sprint = judged.sprint
    check_exists(sprint)
    action = named_sprint.told(runs.what_is_next(workspace, sprint, at=reading.at))
    stopped = action if action.do in work.STOPPED else None
    if reading.as_json:
        output.print_json(views.summary(workspace, judged, stopped))
        return
    found = work.status(workspace, sprint, action, at=reading.at)
    word, text = next(stops.standing_told(sprint, found, action, judged))
    spent = sprint.knowledge.spent
    is_known = usage(spent, duration_ms=spent.duration_ms)
    no_cost = ["no cost reported"] if spent.cost_usd is None else []
    said = SummaryTexts(
        time=_time(sprint.document, work_ended(found.run) if found.run else None),
        cost=", ".join([*spent_said(spent), *no_cost]) if is_known else "",
        outcome="" if word == "next" else f"{word}: {text}",
        left=left_words(left.paths, left.count) if (left := found.left_out) else "",
        tree=found.work_tree or "",
    )
    report = summary_markdown(judged, said)
    if is_of_job:
        timeline = laid_out(sprint_facts(workspace, sprint.id, at=reading.at))
        output.print_bytes(job_summary(report, timeline).encode())
        return
    with paged():
        output.print_bytes(report.encode())


def _time(document: Mapping[str, Any], ended: str | None) -> str:
    """Return the period of work on a sprint: its start, end and duration."""
    stats = document.get("stats")
    began = stats.get("started-at") if isinstance(stats, dict) else None
    ended = ended or document.get("last-activity")
    try:
        length = parse(str(ended)) - parse(str(began))
    except InvalidInputError:
        # Imported documents may contain any text.
        return ""
    took = duration(length.total_seconds() * 1000)
    return f"{times.when(began)} to {times.when(ended)} ({took})"


def _write(
    workspace: Workspace, sprint_id: str | None, number: int | None, *, as_json: bool
) -> None:
    chosen = workspace.choose(sprint_id)
    written = write_files(workspace, chosen, None if number is None else [number])
    if not written and number in (None, BASELINE_NUMBER):
        raise NotFoundError(
            f"there is nothing to report: no iteration of sprint {chosen} was measured",
            hint=HOW_TO_MEASURE,
        )
    if as_json:
        output.print_json([quality.Written(x.path or "", x.state, x.kept) for x in written])
    else:
        tell_written(written)
