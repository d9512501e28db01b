"""The `sprintlog prepare` command: context for the next iteration of a PRD."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sprintlog.engine.journal.briefing import Prepared, Room, prepare
from sprintlog.engine.journal.rules import HandOverLearnings
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.projections.workspace import Workspace

from .. import typed
from ..context import with_envelope
from ..output import print_bytes, visible
from ..record import Options, recording, refresh_stream


@typed.command("prepare")
@typed.argument("prd_id", metavar="PRD")
@typed.number_option(
    "--budget",
    least=0,
    help="At most N characters: the most used learnings and the most certain patterns.",
)
@typed.flag("--peek", help="Do not count learnings as used.")
@with_envelope
def command(prd_id: str, budget: int | None, peek: bool, **given: Any) -> None:
    """Print the failure, learnings and patterns for the next iteration of a PRD.

    Each printed learning is counted as used, but only once per iteration.

    Example: sprintlog prepare auth-login --budget 4000 --json
    """
    options = Options(given)
    # Recorded ids are masked.
    prd_id = options.masked({"prd_id": prd_id})["prd_id"]
    with recording("prepare", options) as run:
        prepared = _prepare(run.workspace, prd_id, budget, as_json=options.as_json)
        if peek:
            _print(prepared, as_json=options.as_json)
            return
        handed = tuple(learning.id for learning in prepared.learnings)
        command = HandOverLearnings(handed, prd_id, prepared.iteration)
        outcome = run.handle_on_journal(command, {"prd_id": prd_id, "budget": budget})
        try:
            _print(prepared, as_json=options.as_json)
        finally:
            if outcome.events:
                refresh_stream(run.workspace, JOURNAL)


def _prepare(
    workspace: Workspace, prd_id: str, budget: int | None, *, as_json: bool
) -> Prepared:
    said = _json if as_json else _text
    room = None if budget is None else Room(budget, lambda found: len(said(found)))
    return prepare(workspace.documents.current(JOURNAL), prd_id, room=room)


def _print(prepared: Prepared, *, as_json: bool) -> None:
    said = _json(prepared) if as_json else _text(prepared)
    print_bytes(said.encode())


def _json(prepared: Prepared) -> str:
    return f"{msgspec.json.encode(prepared).decode()}\n"


def _text(prepared: Prepared) -> str:
    return "".join(f"{visible(line)}\n" for line in _lines(prepared))


def _lines(prepared: Prepared) -> Iterator[str]:
    yield f"{prepared.prd_id}: iteration {prepared.iteration}"
    if prepared.retry_count:
        yield f"retry {prepared.retry_count}: {prepared.previous_failure_reason}"
    yield from (f"  before: {title}" for title in prepared.previous_observations)
    for learning in prepared.learnings:
        where = f" ({learning.context})" if learning.context else ""
        yield f"{learning.id} {learning.content}{where}"
    for pattern in prepared.patterns:
        more = f": {pattern.description}" if pattern.description else ""
        yield f"{pattern.id} {pattern.name}{more}"
    if prepared.left_out:
        yield f"{prepared.left_out} more do not fit"
    yield from (f"warning: {warning}" for warning in prepared.warnings)
