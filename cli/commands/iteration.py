"""`sprintlog iteration …`: record the iterations of the loop."""

from typing import Any

import click

from sprintlog.engine.sprint.loop import end_iteration, start_iteration
from sprintlog.engine.sprint.ralph import fail_iteration
from sprintlog.engine.sprint.words import FAILURE_CATEGORIES

from ..recording import record
from ..wiring import with_recording


@click.group("iteration")
def command() -> None:
    """Record the iterations of the loop."""


@command.command(epilog="Example: sprintlog iteration start")
@click.option("--number", type=int, help="The iteration's number. [the next one]")
@click.option("--max-iterations", type=int, help="How many iterations the loop allows.")
@with_recording
def start(number: int | None, max_iterations: int | None, **given: Any) -> None:
    """Begin a loop iteration; numbers are never given twice, rollbacks included."""
    record(
        "iteration start",
        given,
        start_iteration,
        {"number": number, "max_iterations": max_iterations},
    )


@command.command(epilog="Example: sprintlog iteration end --summary 'login works'")
@click.option("--summary", metavar="TEXT", help="What was reached.")
@with_recording
def end(summary: str | None, **given: Any) -> None:
    """End the loop iteration that is under way.

    The start of the next one ends one that was left open.
    """
    record("iteration end", given, end_iteration, {"summary": summary})


@command.command(
    epilog="Example: sprintlog iteration fail --error 429 --category rate-limit"
)
@click.option("--error", required=True, metavar="TEXT", help="What went wrong.")
@click.option(
    "--category",
    type=click.Choice(FAILURE_CATEGORIES),
    default="logic",
    help="What kind of failure; the policy retries some. [logic]",
)
@with_recording
def fail(error: str, category: str, **given: Any) -> None:
    """Say that the run for a goal failed in the iteration that is under way.

    The iteration goes on when the policy allows another attempt; else the sprint blocks.
    """
    wish = {"error": error, "category": category}
    record("iteration fail", given, fail_iteration, wish, takes_time=True)
