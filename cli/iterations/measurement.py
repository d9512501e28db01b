"""The `sprintlog iteration measure|baseline|describe|accept|retract` commands."""

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.events import MeasurementChanged
from sprintlog.engine.service.port import Envelope
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.service.work_tree import instruments
from sprintlog.engine.sprint.iterations import decisions, measurement
from sprintlog.engine.sprint.iterations.described import DescribeIteration
from sprintlog.projections.state_files.refresh import Refreshed
from sprintlog.projections.views.events import described
from sprintlog.projections.workspace import Workspace

from .. import context, typed
from ..output import print_text, warn
from ..record import Keep, Options, Recording, answer, arguments_of, record, recording
from . import options


@typed.command()
@typed.argument("number", metavar="[N]", type=click.IntRange(0), required=False)
@options.with_params
@typed.option("--note", help="Add a note.")
@typed.list_option("--tag", "tags", metavar="WORD", help="Add a tag.")
@typed.list_option("--untag", "tags_removed", metavar="WORD", help="Remove a tag.")
@context.with_recording
@context.packed(dict, ("number", "note", "tags", "tags_removed"), "said")
def describe(said: dict[str, Any], params: tuple[str, ...], **given: Any) -> None:
    """Record how an iteration was made, or add a note or a tag.

    The default is the latest iteration. The data is shown with the measurements, and a
    rollback does not discard it. If a parameter is set again, the last value is used.

    Examples: sprintlog iteration describe 3 --tag candidate --note 'cache on'

    sprintlog iteration describe --param model=small --param seed=7
    """
    command = DescribeIteration(params=options.read_params(params), **said)
    record("iteration describe", given, command)


@typed.command()
@typed.argument("number", metavar="N", type=click.IntRange(0))
@typed.option("--reason", required=True, help="The reason for retraction.")
@context.with_recording
def retract(number: int, reason: str, **given: Any) -> None:
    """Retract a wrong measurement: it no longer affects any judgement.

    The best iteration is determined again without the retracted measurement. Iterations
    that were compared with the retracted iteration are compared with the iteration before
    it. Earlier advice stays in the log. To measure the iteration again, use `iteration
    measure --number N`; a retraction cannot be undone.

    Example: sprintlog iteration retract 3 --reason 'the machine was busy'
    """
    record("iteration retract", given, decisions.RetractMeasurement(number, reason))


@typed.command()
@typed.argument("number", metavar="N", type=click.IntRange(1))
@typed.option("--reason", required=True, help="Why it is correct.")
@context.with_recording
def accept(number: int, reason: str, **given: Any) -> None:
    """Accept an iteration's changes to existing tests or to the measure.

    Iterations are compared with the tests, test configuration and measuring script from
    before the first one. An iteration that changed these is never the best one, and its
    claim to be done is refused, until a person accepts the changes. From then on, later
    iterations are compared with this iteration.

    Example: sprintlog iteration accept 4 --reason 'the API returns 404 now'
    """
    record("iteration accept", given, decisions.AcceptInstruments(number, reason))


def write_files(
    workspace: Workspace, sprint_id: str, numbers: Iterable[int] | None = None
) -> list[Refreshed]:
    """Write the files of a sprint's loop; warn about files changed by anything else."""
    # Imported here: recording commands must not import exact numbers.
    from sprintlog.projections.state_files.loop_files import write_loop_files

    written = write_loop_files(workspace, workspace.sprint(sprint_id), numbers)
    for one in written:
        if one.problem is not None:
            warn(one.problem)
    return written


def tell_written(written: Iterable[Refreshed]) -> None:
    """Print the paths of the written files."""
    print_text(*(f"wrote {one.path}" for one in written if one.state == "written"))


@typed.command()
@typed.option("--number", type=int, help="The iteration. [the latest one]")
@typed.flag(
    "--by-rules", help="Measure the iteration that `next` prints, by the stored rules."
)
@options.with_metrics
@options.with_capturing
@options.with_score
@options.with_writing
@context.with_recording
def measure(
    number: int | None,
    by_rules: bool,
    given_metrics: tuple[str, ...],
    metrics_file: Path | None,
    capturing: options.Capturing,
    score: float | None,
    is_written: bool,
    **given: Any,
) -> None:
    """Record an iteration's measurements once, without ending the iteration.

    --by-rules runs the commands and reads the reports of the rules (`iteration rules show`)
    if a measurement is due or the last one failed. A failed measurement is recorded as
    well.

    Example: sprintlog iteration measure --number 3 --metrics metrics.json
    """
    if by_rules:
        typed = (number, *given_metrics, metrics_file, score, capturing or None)
        if is_written or any(value is not None for value in typed):
            raise click.UsageError("--by-rules cannot be combined with other measurements")
        from .capture import measure_due

        measure_due(Options(given))
        return
    metrics = options.read_metrics(given_metrics, metrics_file)
    arguments = measurement.MeasureIteration(metrics, number, score)
    typed = ("number", "metrics", "score")
    record_measured(
        "iteration measure", given, arguments, typed, capturing, is_written=is_written
    )


@typed.command()
@typed.number_option(
    "--from",
    "number",
    least=0,
    help="Measure nothing: compare later iterations with iteration N.",
)
@typed.option("--reason", help="The reason.")
@typed.option(
    "--loop-id", metavar="ID", help="The loop's name, like ralph-001. [the sprint's id]"
)
@options.with_metrics
@options.with_capturing
@options.with_writing
@context.with_recording
def baseline(
    number: int | None,
    reason: str | None,
    loop_id: str | None,
    given_metrics: tuple[str, ...],
    metrics_file: Path | None,
    capturing: options.Capturing,
    is_written: bool,
    **given: Any,
) -> None:
    """Measure iteration 0, the state before any change, for comparison.

    With --from, later measurements are compared with another iteration instead.

    Examples: sprintlog iteration baseline --metric test_count=8 --metric tests_passed=5

    sprintlog iteration baseline --from 7 --reason 'new test machine'
    """
    if number is not None:
        if given_metrics or metrics_file or capturing or loop_id or is_written:
            raise click.UsageError("--from requires --reason and excludes measurements")
        record("iteration baseline", given, decisions.ReplaceBaseline(number, reason))
        return
    if reason is not None:
        raise click.UsageError("--reason requires --from")
    metrics = options.read_metrics(given_metrics, metrics_file)
    arguments, typed = measurement.CaptureBaseline(metrics, loop_id), ("metrics", "loop_id")
    record_measured(
        "iteration baseline", given, arguments, typed, capturing, is_written=is_written
    )


def _record_failure(run: Recording, command: measurement.FailMeasurement) -> None:
    """Record that a measurement failed; the caller raises the error."""
    try:
        for event in run.following().handle_with(command, sprint_id=run.sprint_id).events:
            what = described(event)
            warn(f"recorded: {what}; `sprintlog iteration decide` then asks a person")
    finally:
        run.refresh()


def _changed(run: Recording, capturing: options.Capturing) -> MeasurementChanged | None:
    """Return how the tests and the measure differ from the accepted ones, or None."""
    if run.options.expect is not None:
        # Saving the files would change the version.
        return None
    known: Envelope = {**run.envelope(), "key": None, "key_digest": None}
    changed = instruments.save_instruments(
        run.workspace, run.sprint_id, (*capturing.runs, *capturing.builds), envelope=known
    )
    if changed is not None:
        warn(f"the tests or the measure changed: {changed.words}")
    return changed


def record_measured(
    name: str,
    given: dict[str, Any],
    command: measurement.Measuring,
    fields: tuple[str, ...],
    capturing: options.Capturing,
    *,
    is_written: bool,
    keeping: AbstractContextManager[Keep | None] | None = None,
) -> None:
    """Record measurements, and print the results for people.

    A snapshot is taken after all commands have run, so it includes the reports they wrote.
    """
    common = Options(given)
    command = common.masked_command(command)
    arguments = arguments_of(command, fields)
    # An idempotency key includes the options, so repeating the command runs nothing.
    typed = {**arguments, **capturing._asdict()} if capturing else arguments
    with recording(name, common) as run:
        workspace, sprint_id = run.workspace, run.sprint_id
        is_new = not (common.key and workspace.log.find_key(common.key))
        changed = _changed(run, capturing) if is_new else None
        if capturing and is_new:
            # Refuse an invalid measurement before anything is run.
            metrics = command.metrics or {"build_status": "success"}
            likely = replace(command, metrics=metrics)
            workspace.preview(likely, sprint_id=sprint_id, at=common.at)
            from .capture import capturer

            captures = capturer(
                workspace, capturing, sprint_id=sprint_id, masks=common.masks
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
            decide = instruments.with_instruments(command, changed)
            decide = decide if keep is None else keep(decide)
            outcome = run.handle_with(decide, typed)
            try:
                answer(outcome, as_json=common.as_json)
                judged = evaluate(workspace.log, outcome.sprint)
                if not common.as_json and judged.last is not None:
                    print_text(judged.recommendation().message)
            finally:
                run.refresh()
        if is_written:
            last = judged.last
            written = write_files(workspace, sprint_id, [] if last is None else [last])
            if not common.as_json:
                tell_written(written)
