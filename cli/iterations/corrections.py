"""What is said of iterations afterwards: `iteration describe`, `retract`, a baseline."""

from typing import Any

import click

from sprintlog.engine.sprint.iterations.corrections import (
    ReplaceBaseline,
    RetractMeasurement,
)
from sprintlog.engine.sprint.iterations.described import DescribeIteration

from .. import typed
from ..context import with_recording
from ..record import record

with_params = typed.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="What it is made with, like temperature=0.2; repeat it for more.",
)


def read_params(given: tuple[str, ...]) -> dict[str, str]:
    """Return parameters by name; raise `UsageError` for one that is given twice."""
    params: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in params:
            why = "is given twice" if name in params else "give NAME=VALUE"
            raise click.UsageError(f"--param {pair[:60]!r}: {why}")
        params[name] = value
    return params


@typed.command(
    epilog="Examples: sprintlog iteration describe 3 --tag candidate --note 'cache on'\n\n"
    "sprintlog iteration describe --param model=small --param seed=7"
)
@click.argument("number", metavar="[N]", type=click.IntRange(0), required=False)
@with_params
@typed.option("--note", metavar="TEXT", help="Keep a note with it.")
@typed.option("--tag", "tags", multiple=True, metavar="WORD", help="Tag it.")
@typed.option(
    "--untag", "tags_removed", multiple=True, metavar="WORD", help="Take a tag away."
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

    It is the latest one, unless N says which. All of it is shown beside what was measured,
    and no rollback takes it back. Of a parameter that is given again the last value
    counts.
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

    The best iteration is found again without it; what was built on it is compared with what
    it was built on. What was recommended before stays in the log. The iteration can be
    measured again, with `iteration measure --number N`; nothing takes a retraction back.
    """
    command = RetractMeasurement(number, reason)
    record("iteration retract", given, command, typed=("number", "reason"))


def replace_baseline(number: int, reason: str | None, given: dict[str, Any]) -> None:
    """Compare what is measured from now on with an iteration."""
    command = ReplaceBaseline(number, reason)
    record("iteration baseline", given, command, typed=("number", "reason"))
