"""`sprintlog why`: why a line of a file is as it is."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from sprintlog.engine.errors import InvalidInputError
from sprintlog.projections.history import why as asking
from sprintlog.projections.history.why import LineReason, why
from sprintlog.projections.views.history import why_answer

from .. import typed
from ..context import open_workspace, with_json, with_sprint
from ..output import fitting, print_answer, wrapped
from ..screen import phrases

_PLACE = re.compile(r"(.+):(\d{1,9})", re.DOTALL | re.ASCII)
_KNOWN = {
    asking.SNAPSHOT: "snapshot",
    asking.COMMIT: "commit",
    asking.SAID: "the commit itself says so, not the log:",
    asking.BEFORE: "was there before: in",
}


@typed.command("why", epilog="Example: sprintlog why src/login.py:12")
@click.argument("place", metavar="FILE:LINE")
@with_sprint
@with_json
def command(place: str, sprint_id: str | None, as_json: bool) -> None:
    """Explain a line of a file: iteration, session, prompt, gates and approval.

    It uses the snapshots of iterations, so the line need not be committed, and follows
    renames and rollbacks. Without snapshots it uses commits made during an iteration, or
    with a trailer `Sprintlog-Iteration: NUMBER`.
    """
    if (found := _PLACE.fullmatch(place)) is None:
        raise click.UsageError("give FILE:LINE, like src/login.py:12")
    if found[1] == "iter":
        raise InvalidInputError(
            f"{place[:60]} is an iteration, not a line of a file",
            hint=f"`sprintlog report {place[:60]}` says what happened in it",
        )
    with open_workspace() as workspace:
        name = workspace.choose(sprint_id)
        answer = why(workspace, name, Path(found[1]), int(found[2]))
        print_answer(why_answer(answer), _lines(answer), as_json=as_json)


def _lines(found: LineReason) -> Iterator[str]:
    yield fitting(f"{found.path}:{found.line}  {found.text.strip()}")
    if found.iteration is None:
        if found.known_by == asking.NOW:
            yield "  changed since the last snapshot and commit: nobody recorded it yet"
        else:
            yield "  came with no iteration that the log knows, or is older than the loop"
    elif found.is_between:
        yield f"  changed after iteration {found.iteration} had ended, outside of any"
    else:
        back = ", which was taken back" if found.is_taken_back else ""
        yield from _text("iteration", f"{found.iteration}{back}{_when(found)}")
    if found.summary and not found.is_between:
        yield from _text("summary", found.summary)
    if found.phase:
        yield from _text("phase", found.phase)
    if found.prompt:
        yield from _text("prompt", " ".join(found.prompt.split())[:400])
    for run in found.runs:
        models = f" with {', '.join(run.models)}" if run.models else ""
        session = f", session {run.session}" if run.session else ""
        yield from _text("agent", f"{run.agent or 'a command'}{models}{session}")
    for check in found.gates:
        came = "passed" if check.passed else f"failed with exit code {check.exit_code}"
        yield from _text("gate", f"{check.phase}, attempt {check.attempt}: {came}")
    for one in found.approvals:
        rule = f" by the rule {one.rule}" if one.rule else ""
        yield from _text(
            "approved by", f"{one.by}{rule}: {one.why} (request {one.request})"
        )
    yield from _known(found)


def _when(found: LineReason) -> str:
    ended, started = found.ended_at, found.started_at
    if ended is not None:
        return f", ended {phrases.when(ended)}"
    return f", begun {phrases.when(started)}" if started is not None else ""


def _known(found: LineReason) -> Iterator[str]:
    origin = found.origin
    if origin is None or origin.commit is None:
        return
    was = ""
    if (origin.path, origin.line) != (found.path, found.line):
        was = f", there line {origin.line} of {origin.path}"
    older = "; it may be older" if origin.is_first else ""
    how = _KNOWN.get(found.known_by, "snapshot")
    yield from _text("known by", f"{how} {origin.commit[:12]}{was}{older}")


def _text(name: str, text: str) -> Iterator[str]:
    return iter(wrapped(f"  {name:12}  {text}", indent=" " * 16))
