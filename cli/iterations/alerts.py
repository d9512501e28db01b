"""`sprintlog alerts`: what got worse."""

import click

from sprintlog.engine.iterations.evaluation import Judgement

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..output import print_answer, table
from .judgements import judged_at


@typed.command("alerts", epilog="Example: sprintlog alerts --all")
@typed.option(
    "--iteration",
    type=click.IntRange(0),
    metavar="N",
    help="Which iteration. [the one measured last]",
)
@typed.option("--all", "of_all", is_flag=True, help="Of every iteration.")
@with_reading
def command(iteration: int | None, of_all: bool, reading: ReadOptions) -> None:
    """Show what got worse from the iteration before, the worst first."""
    found: list[Judgement] = []
    with open_workspace() as workspace:
        judged = judged_at(workspace, reading)
        number = judged.last if iteration is None else iteration
        if of_all:
            found = judged.all()
        elif number is not None:
            found = [judged.one(number)]
    told = [alert for one in found for alert in one.alerts]
    rows = [(a.severity, a.type, f"iteration {a.triggered_at}", a.message) for a in told]
    print_answer(told, table(rows) or ["No alerts"], as_json=reading.as_json)
