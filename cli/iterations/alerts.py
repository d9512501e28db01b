"""`sprintlog alerts`: what got worse."""

import click

from sprintlog.engine.iterations.alerts import Alert
from sprintlog.engine.iterations.evaluation import Judgement

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..output import counted, hint, print_answer, table
from ..screen.tables import Toned
from ..screen.terminal import ATTENTION, BAD
from .judgements import judged_at

TONES = {"CRITICAL": BAD, "HIGH": BAD, "MEDIUM": ATTENTION}


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
        others = [x for x in judged.all() if x.alerts and x not in found]
    told = [alert for one in found for alert in one.alerts]
    rows = [_row(alert) for alert in told]
    lines = table(rows, whole={0, 2}, spare=(1,), least=60)
    print_answer(told, lines or ["No alerts"], as_json=reading.as_json)
    if others and not of_all and not reading.as_json:
        more = counted(sum(len(one.alerts) for one in others), "more alert")
        where = counted(len(others), "other iteration")
        hint(f"{more} in {where}: `sprintlog alerts --all`")


def _row(alert: Alert) -> tuple[str, ...]:
    severity = Toned(alert.severity, TONES.get(alert.severity))
    return severity, alert.type, f"iteration {alert.triggered_at}", alert.message
