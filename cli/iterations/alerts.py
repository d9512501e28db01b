"""The `sprintlog iteration alerts` command, which lists regressions."""

from collections.abc import Sequence

from sprintlog.engine.judging.changes import Alert
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.service.streams.evaluation import Judged
from sprintlog.engine.sprint.iterations.measurement import measured_on_path
from sprintlog.projections.views.quality import iterations_of

from .. import context, output, typed
from ..screen.tables import Toned
from ..screen.terminal import ATTENTION, BAD
from .judgements import judged_at

NAMED_MAX = 5
"""The maximum number of discarded iterations that are named."""
TONES = {"CRITICAL": BAD, "HIGH": BAD, "MEDIUM": ATTENTION}


@typed.command("alerts")
@typed.number_option("--iteration", least=0, help="The iteration. [the last measured one]")
@typed.flag("--all", "of_all", help="Show the alerts of every iteration.")
@context.with_reading
def command(iteration: int | None, of_all: bool, reading: context.ReadOptions) -> None:
    """List regressions compared with the previous iteration, worst first.

    Example: sprintlog iteration alerts --all
    """
    with context.open_workspace() as workspace:
        judged = judged_at(workspace, reading)
        found = iterations_of(judged, iteration, of_all=of_all)
        number = found[0].number if found else None
        others = [x for x in judged.all() if x.alerts and x not in found]
    told = [alert for one in found for alert in one.alerts]
    rows = [_row(alert) for alert in told]
    lines = output.table(rows, whole={0, 2}, spare=(1,), least=60)
    which = "" if of_all or number is None else f" in iteration {number}"
    output.print_answer(told, lines or [f"no alert{which}"], as_json=reading.as_json)
    if others and not of_all and not reading.as_json:
        output.hint(f"{_others(judged, others)}: run `sprintlog iteration alerts --all`")


def _others(judged: Judged, others: Sequence[Judgement]) -> str:
    """Return a note on alerts in other iterations, and on alerts resolved by rollbacks."""
    more = output.counted(sum(len(one.alerts) for one in others), "more alert")
    on_path = {*measured_on_path(judged.sprint)}
    if not any(one.number in on_path for one in others):
        named = ", ".join(str(one.number) for one in others[-NAMED_MAX:])
        which = f"the last of them {named}" if len(others) > NAMED_MAX else named
        word = "iteration" if len(others) == 1 else "iterations"
        return f"{more}, resolved by the rollback of {word} {which}"
    return f"{more} in {output.counted(len(others), 'other iteration')}"


def _row(alert: Alert) -> tuple[str, ...]:
    severity = Toned(alert.severity, TONES.get(alert.severity))
    return severity, alert.type, f"iteration {alert.triggered_at}", alert.message
