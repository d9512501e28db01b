"""The `sprintlog doctor` command: check the log, and rescue its undamaged part."""

import sys
from contextlib import suppress
from pathlib import Path

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.readable import quoted
from sprintlog.engine.service.place.location import Location
from sprintlog.engine.sprint.state.words import COMPLETED
from sprintlog.projections.health.diagnosis import judge
from sprintlog.projections.health.examination import examine
from sprintlog.projections.health.findings import NOTE, OK, PROBLEM, WARNING
from sprintlog.projections.health.salvage import LOST, salvage
from sprintlog.projections.views.log import Check, Checks, SalvagedLog

from .. import output, settings, typed
from ..context import find_log, open_workspace, with_json
from ..iterations.file_rules import differing
from ..screen.terminal import ATTENTION, BAD, GOOD

TONES = {OK: GOOD, NOTE: None, WARNING: ATTENTION, PROBLEM: BAD}
STATUS_WIDTH, CHECK_WIDTH = 9, 14
LOSS = {
    "saved": "saved",
    "readable": f"readable, but the chain to it is broken: in {LOST}",
    "damaged": f"damaged; what can be read of it is in {LOST}",
    "missing": "missing: nothing of it was found",
}


@typed.command("doctor")
@typed.folder_option(
    "--salvage", "target", help="Create a log in a new folder from the intact events."
)
@with_json
def command(target: Path | None, as_json: bool) -> None:
    """Diagnose the log, its location and its surroundings; change nothing.

    The command works on a damaged, locked or read-only log, because it reads a copy. It
    checks the newest events; `verify` checks all events. The exit status is 4 if something
    is damaged, missing or drifted. With --salvage, the events before the first damaged
    event become a new log. Readable later events are written next to it, and the old log
    does not change; the exit status is 4 if some events could not be saved.

    Examples: sprintlog doctor

    sprintlog doctor --salvage ../rescued-log
    """
    location = find_log()
    if target is not None:
        rescue = salvage(location, target, progress=output.counting("events saved"))
        output.print_answer(rescue, _told(location, rescue), as_json=as_json)
        if not rescue.whole:
            sys.exit(output.INTEGRITY)
        return
    checks = _of_server() if location.is_served else judge(examine(location))
    if settings.settings_file() is not None:
        checks += _rules()
    if as_json:
        output.print_json(Checks(checks))
    else:
        output.print_styled("\n".join(map(_line, checks)))
    if any(check.status == PROBLEM for check in checks):
        sys.exit(output.INTEGRITY)


def _of_server() -> list[Check]:
    """Return the checks for a log on a server."""
    # Imported here: most logs are local.
    from sprintlog.projections.health.server import server_checks

    with open_workspace(check_head=False) as workspace:
        return [*server_checks(workspace)]


def _rules() -> list[Check]:
    """Return checks that compare the rules in the settings file with the sprints' rules."""
    checks = []
    with suppress(SprintlogError), open_workspace() as workspace:
        # The checks above have reported the unreadable log.
        for name, version in workspace.sprints().items():
            if workspace.status_of(name, version) == COMPLETED:
                continue
            sprint = workspace.sprint(name)
            if line := differing(sprint.knowledge.tracker.rules_at(sprint.version)):
                found, _, hint = line.partition("; ")
                checks.append(Check("rules", NOTE, f"{name}: {found}", hint))
    return checks


def _line(check: Check) -> str:
    status = output.coloured(check.status, TONES[check.status])
    indent = " " * (STATUS_WIDTH + CHECK_WIDTH)
    head = check.status.ljust(STATUS_WIDTH) + check.check.ljust(CHECK_WIDTH)
    first, *rest = output.wrapped(f"{head}{check.found}", indent=indent)
    lines = [status + first[len(check.status) :], *rest]
    if check.hint is not None:
        lines += output.wrapped(f"{indent}→ {check.hint}", indent="  ")
    return "\n".join(lines)


def _told(location: Location, rescue: SalvagedLog) -> list[str]:
    """Return lines about the rescued and lost events, and how to replace the old log."""
    verdict = "whole" if rescue.whole else "NOT whole"
    saved = f"{rescue.position} events saved in {rescue.folder}"
    lines = [f"{verdict}: {saved}, head {rescue.head[:16]}"]
    lines += [f"  {x.first}-{x.last}  {LOSS[x.state]}" for x in rescue.ranges]
    lines += [rescue.problem] if rescue.problem else []
    if rescue.unread_pages:
        lines.append(f"pages that the disk did not give: {rescue.unread_pages}; check it")
    if rescue.edits_left:
        lines.append(f"{rescue.edits_left} kept edits could not be copied")
    old, new = quoted(str(location.folder)), quoted(rescue.folder)
    lines += [
        f"look at it:  SPRINTLOG_DIR={new} sprintlog verify",
        "to use it, end every sprintlog process, then:",
        f"  mv {old} {old}.damaged && mv {new} {old}",
        "  sprintlog rebuild && sprintlog verify",
    ]
    return lines
