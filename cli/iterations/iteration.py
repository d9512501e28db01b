"""The `sprintlog iteration` group, and its commands `start`, `end` and `fail`."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from sprintlog.engine.sprint.iterations import goal, loop, measurement

from .. import context, typed
from ..record import Keep, record, wait_until, with_failure
from . import options

OWN_MODULES = ("alerts", "best", "compare", "decide", "rules")
OF_MEASUREMENT = ("accept", "baseline", "describe", "measure", "retract")


@typed.group(
    "iteration",
    lazy={
        **{name: f"iterations.{name}:command" for name in OWN_MODULES},
        **{name: f"iterations.measurement:{name}" for name in OF_MEASUREMENT},
        "diff": "iterations.snapshots:diff",
        "select": "iterations.select:select",
        "snapshot": "iterations.snapshots:snapshot",
    },
)
def command() -> None:
    """Record, measure, compare and judge iterations."""


@command.command()
@typed.option("--number", type=int, help="The iteration's number. [the next one]")
@typed.option("--max-iterations", type=int, help="Maximum number of iterations.")
@typed.option("--phase", metavar="ADDRESS", help="The phase that it works on.")
@typed.flag("--beyond-limit", help="Ignore the limit of iterations.")
@typed.flag("--snapshot", "with_files", help="Save the files before it starts.")
@options.with_params
@context.with_recording
@context.packed(dict, ("number", "max_iterations", "phase", "beyond_limit"), "said")
def start(
    said: dict[str, Any], with_files: bool, params: tuple[str, ...], **given: Any
) -> None:
    """Start an iteration; its number is never reused, even after a rollback.

    The command is rejected once the iteration limit is reached; discarded iterations count
    as well.

    With --snapshot the work tree's files are saved unless the last snapshot already
    contains them. `why` and `report` then distinguish the agent's changes from earlier
    changes.

    Example: sprintlog iteration start
    """
    command = loop.StartIteration(params=options.read_params(params), **said)
    keep = None
    if with_files:
        from .snapshots import keeping_start

        keep = keeping_start(given, command)
    record("iteration start", given, command, keep=keep)


@command.command()
@typed.option("--summary", may_be_empty=True, help="A summary. [the agent's last message]")
@options.with_output
@options.with_metrics
@options.with_capturing
@options.with_score
@options.with_params
@options.with_writing
@typed.flag("--snapshot", "with_files", help="Save the files.")
@options.with_snapshot_options
@context.with_recording
@context.doing_when_off(options.pass_over)
def end(
    summary: str | None,
    source: str | None,
    agent: str | None,
    given_metrics: tuple[str, ...],
    metrics_file: Path | None,
    capturing: options.Capturing,
    score: float | None,
    params: tuple[str, ...],
    is_written: bool,
    with_files: bool,
    patterns: tuple[str, ...],
    file_max: int,
    **given: Any,
) -> None:
    """End the current iteration and record its measurements, if any.

    With metrics the iteration is judged, and short advice is printed. With --snapshot the
    work tree's files are saved in the same append. Starting an iteration ends the previous
    one if it is still open.

    With --from, the agent's output is recorded as well: tokens, cost, tools, models,
    success or failure, and the last message. Reading the same file again has no effect.

    Examples: sprintlog iteration end --summary 'login works'

    sprintlog iteration end --metric test_count=10 --metric tests_passed=9

    sprintlog iteration end --from agent.jsonl
    """
    if agent and source is None:
        raise click.UsageError("--agent requires --from")
    ran, beside = None, None
    if source is not None:
        from .agent_output import recorded_run

        ran, last_message, beside = recorded_run(source, agent, given)
        summary = last_message if summary is None else summary
    # An idempotency key includes the options and the agent's output.
    said = ("summary", *(() if ran is None else ("ran",)), *(("params",) if params else ()))
    made_with = options.read_params(params)
    keeping: AbstractContextManager[Keep | None] = nullcontext()
    if with_files:
        from .snapshots import keeping_files

        keeping = keeping_files(given, patterns, file_max)
    if not (given_metrics or metrics_file or capturing or score is not None):
        if is_written:
            raise click.UsageError("--write requires a measurement")
        with keeping as keep:
            command = loop.EndIteration(None, summary, ran, beside, made_with)
            record("iteration end", given, command, typed=said, keep=keep)
        return
    metrics = options.read_metrics(given_metrics, metrics_file)
    arguments = measurement.EndMeasuredIteration(
        metrics, summary, score, ran=ran, said=beside, params=made_with
    )
    from .measurement import record_measured

    record_measured(
        *("iteration end", given, arguments, (*said, "metrics", "score"), capturing),
        is_written=is_written,
        keeping=keeping,
    )


@command.command()
@with_failure
@context.with_recording
def fail(error: str, category: str, until: str | None, **given: Any) -> None:
    """Record that an agent run for the goal failed in the current iteration.

    The iteration continues if the policy allows another attempt; otherwise the sprint is
    blocked. With --until, the agent is recorded as rate-limited, which is not a failure.

    Example: sprintlog iteration fail --error 429 --category rate-limit
    """
    if until is not None:
        record("iteration fail", given, wait_until(until, error, category))
        return
    record("iteration fail", given, goal.FailIteration(error, category))
