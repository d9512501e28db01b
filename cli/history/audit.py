"""The `sprintlog audit` command: the decisions in a sprint."""

from collections.abc import Iterable, Sequence
from typing import Any

import click
import msgspec

from sprintlog.projections.exports.tables import Value, csv_lines, text_of
from sprintlog.projections.history.decisions import KINDS, LOSS, Decision
from sprintlog.projections.history.kept_decisions import decisions_at
from sprintlog.projections.markdown import code, code_cell, line
from sprintlog.projections.views.history import Audit

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..output import counted, print_bytes, print_json, print_text, wrapped
from ..screen import times
from ..screen.pager import paged

COLUMNS = (
    *("version", "at", "actor", "kind", "about"),
    *("said", "evidence", "followed", "in_force"),
)
"""The columns of CSV and Markdown output, in order."""


@typed.command("audit")
@typed.choice_option(
    "--kind",
    "kinds",
    of=list(KINDS),
    multiple=True,
    metavar="KIND",
    help=f"Only decisions of this kind: {', '.join(KINDS)}.",
)
@typed.flag("--markdown", help="Print Markdown.")
@typed.flag("--csv", "as_csv", help="Print CSV with a header.")
@with_reading
def command(
    kinds: tuple[str, ...], markdown: bool, as_csv: bool, reading: ReadOptions
) -> None:
    """List the decisions in a sprint: who, when, on what evidence, and with what effect.

    Decisions are gates, rollbacks, external edits, stops, skips, blocks and continuations
    by people, injections, and decisions on requests, goals and iterations.

    Examples: sprintlog audit --markdown > audit.md

    sprintlog audit --kind gate --kind skip --at iter:3
    """
    if markdown + as_csv + reading.as_json > 1:
        raise click.UsageError("--markdown, --csv and --json cannot be combined")
    with open_workspace() as workspace:
        name, at = workspace.choose(reading.sprint_id), reading.at
        sprint = workspace.sprint(name)
        version = sprint.version if at is None else workspace.version_at(name, at)
        found = decisions_at(workspace, name, version, kinds)
    if reading.as_json:
        print_json(Audit(name, version, found))
    elif as_csv:
        print_bytes(csv_lines([COLUMNS, *map(_row, found)]).encode())
    elif markdown:
        title = f"# Decisions of {code(name)}, up to version {version}"
        print_text(title, "", *markdown_table(COLUMNS, map(_row, found)))
    else:
        with paged():
            for decision in found:
                print_text(*_lines(decision))
            losses = sum(decision.kind == LOSS for decision in found)
            lost = f", {losses} loss{'es' * (losses > 1)} among them" if losses else ""
            count = counted(len(found), "decision")
            print_text(f"{name}: {count} up to version {version}{lost}")


def _row(decision: Decision) -> Sequence[Any]:
    row = msgspec.structs.asdict(decision)
    row["actor"] += " (observed)" if decision.observed else ""
    row["in_force"] = "yes" if decision.in_force else "no"
    return [row[name] for name in COLUMNS]


BEHIND = " " * 6


def _lines(decision: Decision) -> Sequence[str]:
    mark = " (observed)" if decision.observed else ""
    off = "" if decision.in_force else "  [discarded]"
    head = f"{decision.version:>4}  {times.when(decision.at)}  {decision.actor}{mark}"
    about = f" {decision.about}" if decision.about else ""
    said = f": {decision.said}" if decision.said else ""
    line = f"{head}  {decision.kind}  {decision.type}{about}{said}{off}"
    lines = wrapped(line, indent=BEHIND)
    for word, text in (("on  ", decision.evidence), ("then", decision.followed)):
        lines += wrapped(f"{BEHIND}{word}  {text}", indent=BEHIND) if text else []
    return lines


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Value]]) -> list[str]:
    """Return rows as the lines of a Markdown table, with each string formatted as code."""
    lines = [line(columns), line(["---"] * len(columns))]
    return [*lines, *(line([_cell(value) for value in row]) for row in rows)]


def _cell(value: Value) -> str:
    """Return a value as a table cell."""
    return code_cell(value) if isinstance(value, str) else text_of(value)
