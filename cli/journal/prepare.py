"""The `sprintlog prepare` command: context for the next iteration of a PRD."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sprintlog.engine.journal.briefing import Prepared, Room, prepare
from sprintlog.engine.journal.rules import HandOverLearnings
from sprintlog.engine.journal.state import JOURNAL

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
    said = _json if options.as_json else _text
    room = None if budget is None else Room(budget, lambda found: len(said(found)))
    # Recorded ids are masked.
    prd_id = options.masked({"prd_id": prd_id})["prd_id"]
    with recording("prepare", options) as run:
        prepared = prepare(run.workspace.documents.current(JOURNAL), prd_id, room=room)
        if peek:
            print_bytes(said(prepared).encode())
            return
        handed = tuple(learning.id for learning in prepared.learnings)
        command = HandOverLearnings(handed, prd_id, prepared.iteration)
        outcome = run.handle_on_journal(command, {"prd_id": prd_id, "budget": budget})
        try:
            print_bytes(said(prepared).encode())
        finally:
            if outcome.events:
                refresh_stream(run.workspace, JOURNAL)


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
