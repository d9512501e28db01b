"""`sprintlog rebuild`: the state files anew from the log."""

import sys

import click

from sprintlog.projections.refreshing import Refresher

from ..output import INTEGRITY, print_json, print_text, warn
from ..wiring import open_workspace, with_json, with_sprint

FINE = ("same", "written", "imported", "elsewhere")


@click.command("rebuild", epilog="Example: sprintlog rebuild --check")
@click.option("--check", is_flag=True, help="Only compare; exit 4 when a file differs.")
@with_sprint
@with_json
def command(check: bool, sprint_id: str | None, as_json: bool) -> None:
    """Compute the state of every sprint from the whole log and write its file anew.

    Files that somebody else edited are kept in the log's folder first.
    """
    differs = False
    with open_workspace() as workspace:
        names = [workspace.choose(sprint_id)] if sprint_id else list(workspace.sprints())
        refresher = Refresher(workspace)
        for name in names:
            refreshed = (
                refresher.check(workspace.reader.from_nothing(name))
                if check
                else refresher.rebuild(name)
            )
            differs = differs or refreshed.state not in FINE
            if refreshed.problem:
                warn(refreshed.problem)
            if as_json:
                print_json({"sprint": name, **refreshed._asdict()})
            else:
                file = refreshed.path or "no file in this work tree"
                print_text(f"{name}: {file} {refreshed.state}  {refreshed.digest[:16]}")
        if not names and not as_json:
            print_text("there is no sprint in this log yet")
    if differs and check:
        if not as_json:
            warn("`sprintlog rebuild` writes the files anew")
        sys.exit(INTEGRITY)
