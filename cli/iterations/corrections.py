"""What is said of iterations afterwards: `iteration describe`, `retract`, a baseline."""

from typing import Any

import click

from sprintlog.engine.sprint.iterations.decisions import (
    ReplaceBaseline,
    RetractMeasurement,
)
from sprintlog.engine.sprint.iterations.described import DescribeIteration

from .. import typed
from ..context import with_recording
from ..record import record
from .options import read_params, with_params


@typed.command(
    epilog="Examples: sprintlog iteration describe 3 --tag candidate --note 'cache on'\n\n"
    "sprintlog iteration describe --param model=small --param seed=7"
)
@click.argument("number", metavar="[N]", type=click.IntRange(0), required=False)
@with_params
@typed.option("--note", metavar="TEXT", help="Add a note.")
@typed.option("--tag", "tags", multiple=True, metavar="WORD", help="Add a tag.")
@typed.option(
    "--untag", "tags_removed", multiple=True, metavar="WORD", help="Remove a tag."
)
@with_recording
def describe(
    number: int | None,
    params: tuple[str, ...],
    note: str | None,
    tags: tuple[str, ...],
    tags_removed: tuple[str, ...],
    **given: Any,
) -> None:
    """Record how an iteration was made, or add a note or a tag.

    The default is the latest iteration. The data is shown with the measurements, and a
    rollback does not discard it. The last value of a parameter is used.
    """
    command = DescribeIteration(number, read_params(params), note, tags, tags_removed)
    fields = ("number", "params", "note", "tags", "tags_removed")
    record("iteration describe", given, command, typed=fields)


@typed.command(
    epilog="Example: sprintlog iteration retract 3 --reason 'the machine was busy'"
)
@click.argument("number", metavar="N", type=click.IntRange(0))
@typed.option("--reason", metavar="TEXT", required=True, help="Why it was wrong.")
@with_recording
def retract(number: int, reason: str, **given: Any) -> None:
    """Retract a wrong measurement: it no longer affects any judgement.

    The best iteration is determined again without it; iterations based on it are compared
    with its predecessor. Earlier advice stays in the log. To measure the iteration again,
    use `iteration measure --number N`; a retraction cannot be undone.
    """
    command = RetractMeasurement(number, reason)
    record("iteration retract", given, command, typed=("number", "reason"))


def replace_baseline(number: int, reason: str | None, given: dict[str, Any]) -> None:
    """Compare what is measured from now on with an iteration."""
    command = ReplaceBaseline(number, reason)
    record("iteration baseline", given, command, typed=("number", "reason"))
