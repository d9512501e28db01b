"""`sprintlog verify`: whether log and files still say what was recorded."""

import sys

import click

from sprintlog.projections.verifying import verify

from ..output import INTEGRITY, coloured, counted, print_json, print_styled, visible
from ..wiring import open_workspace, with_json

COLOURS = {"damage": "red", "drift": "yellow", "remark": None}


@click.command("verify", epilog="Example: sprintlog verify --json")
@with_json
def command(as_json: bool) -> None:
    """Check the hash chain, gaps, payloads, the second head and the state files.

    Exit code 4 for damage or drift; what imported documents contradict is a remark.
    """
    with open_workspace(check_head=False) as workspace:
        report = verify(workspace, progress=_progress)
    if as_json:
        print_json(
            {
                "sound": report.is_sound,
                "events": report.events,
                "sprints": report.sprints,
                "head": report.head,
                "findings": [finding._asdict() for finding in report.findings],
            }
        )
    else:
        lines = [
            f"{coloured(f.severity, COLOURS[f.severity])}  "
            f"{visible(f.where)}: {visible(f.what)}"
            for f in report.findings
        ]
        verdict = "sound" if report.is_sound else "NOT sound"
        lines.append(
            f"{verdict}: {counted(report.events, 'event')}, "
            f"{counted(report.sprints, 'sprint')}, head {report.head[:16]}"
        )
        print_styled("\n".join(lines))
    if not report.is_sound:
        sys.exit(INTEGRITY)


def _progress(count: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{count} events checked", nl=False, err=True)
