"""The `sprintlog scan` command: search all stored data for secrets."""

import sys

from sprintlog.projections.health.leaks import leaks

from .. import typed
from ..context import HAPPENED, open_workspace, with_json
from ..output import INTEGRITY, counted, counting, hint, print_answer, visible


@typed.command("scan")
@typed.option(
    "--since", metavar="TIME", callback=HAPPENED, help="Only events since this time."
)
@with_json
def command(since: str | None, as_json: bool) -> None:
    """Search events, stored files and snapshots for known types of secrets.

    The exit status is 4 if a secret is found; each secret is printed with a command that
    erases it.

    Example: sprintlog scan --since 2026-01-30T00:00:00Z
    """
    with open_workspace() as workspace:
        found = [*leaks(workspace, since=since, progress=counting("events read"))]
    lines = [f"{one.where}  {one.rule}  {visible(one.excerpt)}" for one in found]
    lines.append(f"{counted(len(found), 'secret')} found")
    print_answer(found, lines, as_json=as_json)
    if not as_json:
        for command in dict.fromkeys(one.command for one in found):
            hint(f"`{command}`")
    if found:
        sys.exit(INTEGRITY)
