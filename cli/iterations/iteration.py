"""`sprintlog iteration …`: record, measure and list the iterations of the loop."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.exact import HOW_TO_MEASURE
from sprintlog.engine.sprint.iterations import measurement
from sprintlog.engine.sprint.iterations.goal import FailIteration
from sprintlog.engine.sprint.iterations.loop import EndIteration, StartIteration
from sprintlog.engine.sprint.state.words import FAILURE_CATEGORIES
from sprintlog.projections.views.events import described
from sprintlog.projections.workspace import Decide

from .. import context, typed
from ..output import hint, print_json, print_styled, print_text, warn
from ..record import Keep, Options, Recording, answer, arguments_of, record, recording
from . import corrections
from .agent_output import hear, kept, pass_over, ran_alone, tell, with_output
from .by_rules import measure_due
from .capture import Capturing, capturer, with_capturing
from .metrics import read_metrics, with_metrics, with_score
from .report_files import tell_written, with_writing, write_files
from .select import select
from .snapshots import diff, keeping_files, keeping_start, snapshot, with_snapshot_options

Keeping = AbstractContextManager[Keep | None]
"""Gives what puts a snapshot behind what is decided, if one is wanted."""


@typed.group("iteration")
def command() -> None:
    """Record, measure and list iterations."""


for further in (snapshot, diff, select, corrections.describe, corrections.retract):
    command.add_command(further)


@command.command(epilog="Example: sprintlog iteration start")
@typed.option("--number", type=int, help="The iteration's number. [the next one]")
@typed.option("--max-iterations", type=int, help="Limit of iterations.")
@typed.option("--phase", metavar="ADDRESS", help="The phase it is for.")
@typed.option("--beyond-limit", is_flag=True, help="Ignore the limit of iterations.")
@typed.option("--snapshot", "with_files", is_flag=True, help="Save the files before it.")
@corrections.with_params
@context.with_recording
def start(
    number: int | None,
    max_iterations: int | None,
    phase: str | None,
    beyond_limit: bool,
    with_files: bool,
    params: tuple[str, ...],
    **given: Any,
) -> None:
    """Start an iteration; its number is never reused, even after a rollback.

    It is rejected at the limit of iterations; discarded iterations count as well.

    With --snapshot the work tree's files are saved unless the last snapshot holds them, so
    that `why` and `report` tell the agent's changes from those made before it.
    """
    command = StartIteration(
        number, max_iterations, phase, beyond_limit, corrections.read_params(params)
    )
    more = {"phase": phase, "params": params}
    typed = ("number", "max_iterations", "beyond_limit", *(n for n in more if more[n]))
    keep = keeping_start(given, command) if with_files else None
    record("iteration start", given, command, typed=typed, keep=keep)


@command.command(
    epilog="Examples: sprintlog iteration end --summary 'login works'\n\n"
    "sprintlog iteration end --metric test_count=10 --metric tests_passed=9\n\n"
    "sprintlog iteration end --from agent.jsonl"
)
@typed.option(
    "--summary",
    may_be_empty=True,
    metavar="TEXT",
    help="A summary. [the agent's last message]",
)
@with_output
@with_metrics
@with_capturing
@with_score
@corrections.with_params
@with_writing
@typed.option("--snapshot", "with_files", is_flag=True, help="Save the files.")
@with_snapshot_options
@context.with_recording
@context.doing_when_off(pass_over)
def end(
    summary: str | None,
    source: str | None,
    agent: str | None,
    given_metrics: tuple[str, ...],
    metrics_file: Path | None,
    capturing: Capturing,
    score: float | None,
    params: tuple[str, ...],
    is_written: bool,
    with_files: bool,
    patterns: tuple[str, ...],
    file_max: int,
    **given: Any,
) -> None:
    """End the current iteration and record its measurements, if any.

    With metrics it is judged, and short advice is printed. With --snapshot the work tree's
    files are saved in the same append. Starting an iteration ends the previous one if it is
    still open.

    With --from, the agent's output is recorded as well: tokens, cost, tools, models,
    success or failure, and its last message. Reading the same file again has no effect.
    """
    if agent and source is None:
        raise click.UsageError("--agent goes with --from")
    ran, beside = None, None
    if source is not None:
        heard = hear(source, agent)
        tell(heard)
        ran, summary = ran_alone(heard), heard.summary if summary is None else summary
        beside = kept(heard, given)
    # A key stands for what was typed, and for what was read.
    said = ("summary", *(() if ran is None else ("ran",)), *(("params",) if params else ()))
    made_with = corrections.read_params(params)
    keeping = keeping_files(given, patterns, file_max, wanted=with_files)
    if not (given_metrics or metrics_file or capturing or score is not None):
        if is_written:
            raise click.UsageError("--write goes with what was measured")
        with keeping as keep:
            command = EndIteration(None, summary, ran, beside, made_with)
            record("iteration end", given, command, typed=said, keep=keep)
        return
    metrics = read_metrics(given_metrics, metrics_file)
    arguments = measurement.EndMeasuredIteration(
        metrics, summary, score, ran=ran, said=beside, params=made_with
    )
    _record(
        *("iteration end", given, arguments, (*said, "metrics", "score"), capturing),
        is_written=is_written,
        keeping=keeping,
    )


@command.command(
    epilog="Example: sprintlog iteration fail --error 429 --category rate-limit"
)
@typed.option("--error", required=True, metavar="TEXT", help="What went wrong.")
@typed.option(
    "--category",
    type=typed.Choice(FAILURE_CATEGORIES),
    default="logic",
    help="The kind of failure; the policy retries some. [logic]",
)
@context.UNTIL
@context.with_recording
def fail(error: str, category: str, until: str | None, **given: Any) -> None:
    """Record that the run for a goal failed in the current iteration.

    The iteration continues if the policy allows another attempt; otherwise the sprint is
    blocked. With --until the agent is rate-limited, which is not a failure.
    """
    if until is not None:
        # Imported here: who records a failure seldom waits for a limit.
        from ..stops import wait_until

        record("iteration fail", given, wait_until(until, error, category))
        return
    arguments = FailIteration(error, category)
    record("iteration fail", given, arguments, typed=("error", "category"))


@command.command(
    epilog="Example: sprintlog iteration measure --number 3 --metrics metrics.json"
)
@typed.option("--number", type=int, help="The iteration. [the latest one]")
@typed.option(
    "--by-rules",
    is_flag=True,
    help="Measure the iteration that `next` prints, by the stored rules.",
)
@with_metrics
@with_capturing
@with_score
@with_writing
@context.with_recording
def measure(
    number: int | None,
    by_rules: bool,
    given_metrics: tuple[str, ...],
    metrics_file: Path | None,
    capturing: Capturing,
    score: float | None,
    is_written: bool,
    **given: Any,
) -> None:
    """Record the measurements of an iteration, once, without ending it.

    --by-rules runs the commands and reads the reports set by `rules set --measure` or `run
    --measure`, if a measurement is due or the last one failed. A failed measurement is
    recorded as well.
    """
    if by_rules:
        typed = (number, *given_metrics, metrics_file, score, capturing or None)
        if is_written or any(value is not None for value in typed):
            raise click.UsageError("--by-rules goes alone: the rules say what is measured")
        measure_due(Options(given))
        return
    metrics = read_metrics(given_metrics, metrics_file)
    arguments = measurement.MeasureIteration(metrics, number, score)
    typed = ("number", "metrics", "score")
    _record("iteration measure", given, arguments, typed, capturing, is_written=is_written)


@command.command(
    epilog="Examples: sprintlog iteration baseline --metric test_count=8 "
    "--metric tests_passed=5\n\n"
    "sprintlog iteration baseline --from 7 --reason 'new test machine'"
)
@typed.number_option(
    "--from",
    "number",
    least=0,
    help="Measure nothing: compare later iterations with iteration N.",
)
@typed.option("--reason", metavar="TEXT", help="The reason.")
@typed.option(
    "--loop-id", metavar="ID", help="Names the loop, like ralph-001. [the sprint's id]"
)
@with_metrics
@with_capturing
@with_writing
@context.with_recording
def baseline(
    number: int | None,
    reason: str | None,
    loop_id: str | None,
    given_metrics: tuple[str, ...],
    metrics_file: Path | None,
    capturing: Capturing,
    is_written: bool,
    **given: Any,
) -> None:
    """Measure iteration 0, the state before any change, for comparison.

    With --from, another iteration replaces it for later measurements.
    """
    if number is not None:
        if given_metrics or metrics_file or capturing or loop_id or is_written:
            raise click.UsageError("--from goes with --reason, and measures nothing")
        corrections.replace_baseline(number, reason, given)
        return
    if reason is not None:
        raise click.UsageError("--reason goes with --from")
    metrics = read_metrics(given_metrics, metrics_file)
    arguments, typed = measurement.CaptureBaseline(metrics, loop_id), ("metrics", "loop_id")
    _record("iteration baseline", given, arguments, typed, capturing, is_written=is_written)


@command.command("list", epilog="Example: sprintlog iteration list --last 5")
@typed.number_option("--last", least=1, help="Only the newest ones.")
@context.with_reading
def list_(last: int | None, reading: context.ReadOptions) -> None:
    """List iterations: class, score, tests, coverage, errors, alerts and cost.

    The last column shows how the run ended, failures first. The class compares it with the
    previous iteration: `forward`, `regression`, `plateau` (neither), `stalled` (at least
    the third plateau in a row); `sprintlog help judging` explains the terms.
    """
    from sprintlog.projections.views.iterations import judgements
    from sprintlog.projections.views.work import work_trees

    from .judgements import judged_at, list_lines, own_lines, trajectory_line

    with context.open_workspace() as workspace:
        judged = judged_at(workspace, reading)
        base, failures = judged.baseline(), judged.failures()
        known = {one.number: one for one in [*([base] if base else []), *judged.all()]}
        others = {one.number: one for one in judged.unmeasured()}
        numbers = sorted(known.keys() | failures.keys() | others.keys())[-(last or 0) :]
        found = [known[number] for number in numbers if number in known]
        failed = [failures[number] for number in numbers if number in failures]
        left = [others[number] for number in numbers if number in others]
        trees = work_trees(workspace, judged.sprint)
        if reading.as_json:
            print_json(judgements(judged, found, failed, left, trees=trees))
            return
        lines = list_lines(judged, found, failed, left, trees=trees)
        plots = own_lines(judged, found)
    if not numbers:
        print_text("no iteration was measured")
        hint(HOW_TO_MEASURE)
    else:
        print_text(*lines)
        if (line := trajectory_line(found)) is not None:
            print_styled(f"\n{line}")
        for line in plots:
            print_styled(line)


def _record_failure(run: Recording, command: measurement.FailMeasurement) -> None:
    """Record that an iteration could not be measured; whoever asked is told why after."""
    try:
        outcome = run.following().handle_with(command, sprint_id=run.sprint_id)
        for event in outcome.events:
            warn(f"recorded: {described(event)}; `sprintlog decide` asks a person then")
    finally:
        run.refresh()


def _record(
    name: str,
    given: dict[str, Any],
    command: measurement.Measuring,
    fields: tuple[str, ...],
    capturing: Capturing,
    *,
    is_written: bool,
    keeping: Keeping | None = None,
) -> None:
    """Record what was measured, and say to people what follows from it.

    The files are kept after all was run: with the reports that it wrote.
    """
    from sprintlog.engine.service.streams.evaluation import evaluate

    options = Options(given)
    command = options.masked_command(command)
    arguments = arguments_of(command, fields)
    # A key stands for what was typed: nothing is run and read to answer it again.
    typed = {**arguments, **capturing._asdict()} if capturing else arguments
    with recording(name, options) as run:
        workspace, sprint_id = run.workspace, run.sprint_id
        if capturing and not (options.key and workspace.log.find_key(options.key)):
            # What would be refused anyway is refused before anything is run.
            metrics = command.metrics or {"build_status": "success"}
            likely = replace(command, metrics=metrics)
            workspace.preview(likely, sprint_id=sprint_id, at=options.at)
            captures = capturer(
                workspace, capturing, sprint_id=sprint_id, masks=options.masks
            )
            try:
                command = captures.add_to(command)
            except RefusedError as error:
                if not isinstance(command, measurement.CaptureBaseline):
                    number = getattr(command, "number", None)
                    _record_failure(run, captures.failure(error, number))
                raise
            for said in captures.notes:
                warn(said)
        with keeping or nullcontext() as keep:
            decide: Decide = command if keep is None else keep(command)
            outcome = run.handle_with(decide, typed)
            try:
                answer(outcome, as_json=options.as_json)
                judged = evaluate(workspace.log, outcome.sprint)
                if not options.as_json and judged.last is not None:
                    print_text(judged.recommendation().message)
            finally:
                run.refresh()
        if is_written:
            last = judged.last
            written = write_files(workspace, sprint_id, [] if last is None else [last])
            if not options.as_json:
                tell_written(written)
