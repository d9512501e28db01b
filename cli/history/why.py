"""The `sprintlog why` command: the origin of a line, or of a field in a state file."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.history import why as asking
from sprintlog.projections.history.why import WhyAnswer, why

from .. import context, output, typed
from ..places import PROGRESS
from ..screen import times

STATE_FILES = ("progress", "best", "journal")
_PLACE = re.compile(r"(.+):(\d{1,9})", re.DOTALL | re.ASCII)
ITERATIONS_MAX = 8
"""The maximum number of iterations named as the possible origin of a line."""
_KNOWN = {
    asking.SNAPSHOT: "snapshot",
    asking.COMMIT: "commit",
    asking.SAID: "according to the commit itself, not the log:",
    asking.BEFORE: "was there before: in",
}


@typed.command("why")
@typed.argument("places", metavar="FILE:LINE | FIELD…", nargs=-1)
@typed.flag("--all", "every", help="Explain every line of PROGRESS.yaml.")
@typed.choice_option(
    "--file", of=STATE_FILES, help="The state file that contains FIELD. [progress]"
)
@context.with_reading
def command(
    places: tuple[str, ...], every: bool, file: str | None, reading: context.ReadOptions
) -> None:
    """Explain a line of a file, or a field of a state file: who, when and why.

    For FILE:LINE, it shows the iteration, session, prompt, gates and approval that produced
    the line. It uses the snapshots of iterations, so the line need not be committed, and
    follows renames and rollbacks. Without snapshots it uses commits made during an
    iteration, or commits with a trailer `Sprintlog-Iteration: NUMBER`. A line of
    PROGRESS.yaml is explained like its field.

    For FIELD, it shows the last event that changed the field, and the previous value; for a
    rollback, also the event whose value was restored; for an agent's event, also its
    session, which `sprintlog log --session` lists. FIELD is a path such as
    phases[ID].status, phases[0].steps[1].prompt, stats.elapsed or
    operator-queue[req-1].status, or a JSON Pointer. Put keys with . [ ] : or quotes in
    brackets and double quotes: phases["a.b"].status

    Examples: sprintlog why src/login.py:12

    sprintlog why 'phases[build].status' current.phase

    sprintlog why --file journal 'learnings[learning-0001].still_valid'
    """
    if every == bool(places):
        raise click.UsageError("specify FILE:LINE, one or more FIELDs, or --all")
    found = _PLACE.fullmatch(places[0]) if len(places) == 1 and file is None else None
    is_state = found is not None and Path(found[1]).name == PROGRESS
    if found is None or is_state:
        for place in places:
            if Path(place).is_file():
                raise click.UsageError(f"specify only FILE:LINE, such as {place[:60]}:12")
        # Imported here: lines of other files do not require it.
        from .blame import print_fields, print_line

        if found is None:
            print_fields(places, file or STATE_FILES[0], reading, every=every)
            return
        if print_line(Path(found[1]), int(found[2]), reading):
            return
    if reading.at is not None:
        raise click.UsageError("--at applies to a FIELD, not to FILE:LINE")
    if found[1] == "iter":
        raise InvalidInputError(
            f"{places[0][:60]} is an iteration, not a line of a file",
            hint=f"use `sprintlog report {places[0][:60]}` to show the iteration",
        )
    with context.open_workspace() as workspace:
        name = workspace.choose(reading.sprint_id)
        answer = why(workspace, name, Path(found[1]), int(found[2]))
        output.print_answer(answer, _lines(answer), as_json=reading.as_json)


def _lines(found: WhyAnswer) -> Iterator[str]:
    yield output.fitting(f"{found.path}:{found.line}  {found.text.strip()}")
    if found.known_by == asking.NOW:
        known = "snapshot" if found.committed else "snapshot and commit"
        yield f"  changed since the last {known}: nobody recorded it yet"
    if not found.iterations:
        if found.is_between:
            after = "an earlier one" if found.iteration is None else found.iteration
            yield f"  written outside of any iteration, after {after} had ended"
        elif found.known_by != asking.NOW:
            yield "  belongs to no iteration in the log, or is older than the loop"
    else:
        back = ", which was discarded" if found.is_taken_back else ""
        names = ", ".join(found.iterations[-ITERATIONS_MAX:])
        several = "one of " if len(found.iterations) > 1 else ""
        outside = str(found.written_by).endswith("-or-outside")
        either = ", or written outside of it" if outside else ""
        yield from _text("iteration", f"{several}{names}{back}{either}{_when(found)}")
    if (commit := found.committed) is not None:
        yield from _text("commit", f"{commit.id[:12]} by {commit.author}: {commit.subject}")
    yield from _text("summary", None if found.is_between else found.summary)
    yield from _text("phase", found.phase)
    if found.prompt:
        label = "prompt" if found.phase else "goal"
        yield from _text(label, " ".join(found.prompt.split())[:400])
    for run in found.runs:
        models = f" with {', '.join(run.models)}" if run.models else ""
        session = f", session {run.session}" if run.session else ""
        yield from _text(
            "agent", f"{run.agent or run.command or 'a command'}{models}{session}"
        )
    for check in found.gates:
        came = "passed" if check.passed else f"failed with exit code {check.exit_code}"
        yield from _text("gate", f"{check.phase}, attempt {check.attempt}: {came}")
    for one in found.approvals:
        rule = f" by the rule {one.rule}" if one.rule else ""
        yield from _text(
            "approved by", f"{one.by}{rule}: {one.why} (request {one.request})"
        )
    yield from _known(found)


def _when(found: WhyAnswer) -> str:
    ended, started = found.ended_at, found.started_at
    if ended is not None:
        return f", ended {times.when(ended)}"
    return f", begun {times.when(started)}" if started is not None else ""


def _known(found: WhyAnswer) -> Iterator[str]:
    if found.commit is None:
        return
    was = ""
    if (found.path_then, found.line_then) != (found.path, found.line):
        was = f", as line {found.line_then} of {found.path_then}"
    older = "; it may be older" if found.may_be_older else ""
    how = _KNOWN.get(found.known_by, "snapshot")
    yield from _text("known by", f"{how} {found.commit[:12]}{was}{older}")


def _text(name: str, text: str | None) -> list[str]:
    return output.wrapped(f"  {name:12}  {text}", indent=" " * 16) if text else []
