"""The `sprintlog wait` command: wait until the limit that ended the last run expires."""

import sys

from sprintlog.engine.adapters.processes.signals import InterruptedBySignal
from sprintlog.engine.sprint.agent.actions import STOP
from sprintlog.projections.views.work import WaitEnded

from .. import context, named_sprint, output, record, stops, typed
from ..wrapping.limit_wait import wait


@typed.command()
@context.with_actor
@context.with_sprint
@context.with_json
def command(sprint_id: str | None, actor: str, as_json: bool) -> None:
    """Wait until the limit that ended the agent's last run has expired.

    The last run is the latest recorded by `wrap`, `run` or `iteration end`. If the end of
    the limit is unknown, the waits increase: 1, 2, 4 … 60 minutes. `sprintlog sprint
    resume` in another terminal ends the wait.

    The exit status is 0 if the limit has expired and work can continue, 1 if a person or
    money is needed, and 3 if no limit ended the last run.

    Example: while sprintlog wrap -- ./iterate.sh; sprintlog wait || test $? = 3; do :; done
    """
    record.check_actor(actor)
    try:
        chosen, last = wait(sprint_id, actor)
    except InterruptedBySignal as signal:
        sys.exit(128 + signal.number)
    if last is None:
        limit, code, lines = "none", output.NOT_FOUND, ["no limit"]
    elif last.do == STOP:
        limit, code = "person", output.REFUSED
        lines = ["a person is needed", *stops.reason_lines(named_sprint.told(last))]
    else:
        limit, code, lines = "expired", 0, ["the limit has expired"]
    if as_json:
        found = (last.until, last.waits_for, last.why) if last is not None else ()
        output.print_json(WaitEnded(chosen, limit, *found))
    else:
        output.print_text(f"{chosen}: {lines[0]}", *lines[1:])
    sys.exit(code)
