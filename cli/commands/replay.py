"""`sprintlog replay`: a sprint's history, with what changed at each event."""

from typing import Any

import click

from sprintlog.projections.timeline import steps

from ..output import print_json, print_text
from ..wiring import open_workspace, with_json, with_point, with_sprint

VALUE_CHARS_MAX = 60
CHANGES_MAX = 12
DERIVED = ("/last-activity", "/stats/elapsed")


@click.command("replay", epilog="Example: sprintlog replay --at version:10")
@with_point
@with_sprint
@with_json
def command(at: str | None, sprint_id: str | None, as_json: bool) -> None:
    """Fold a sprint's events one by one and show what each of them changed.

    With --json one line for each event: its type, time, actor, and its changes to
    PROGRESS.yaml as JSON Patch.
    """
    with open_workspace() as workspace:
        name = workspace.choose(sprint_id)
        last = workspace.sprint(name, at=at).version
        for step in steps(workspace, name, last):
            if as_json:
                print_json(step)
            else:
                _print(step)


def _print(step: dict[str, Any]) -> None:
    print_text(f"{step['version']:>4}  {step['at']}  {step['actor']}  {step['type']}")
    shown = [c for c in step["changes"] if c["path"] not in DERIVED and c["op"] != "move"]
    for change in shown[:CHANGES_MAX]:
        value = "" if change["op"] == "remove" else f" = {change['value']}"
        if len(value) > VALUE_CHARS_MAX:
            value = value[: VALUE_CHARS_MAX - 1] + "…"
        sign = {"add": "+", "remove": "-", "replace": "~"}[change["op"]]
        print_text(f"        {sign} {change['path'][1:]}{value}")
    if len(shown) > CHANGES_MAX:
        print_text(f"        … and {len(shown) - CHANGES_MAX} more")
