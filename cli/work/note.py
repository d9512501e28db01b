"""The `sprintlog note` command: add a remark to the log, or send a note to the agent."""

from typing import Any

from sprintlog.engine.service.lost_runs import GONE, seen_from_here
from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.engine.sprint.state.sprint import Sprint

from .. import output, typed
from ..context import find_log, with_recording
from ..record import record


@typed.command("note")
@typed.argument("text")
@typed.option("--phase", metavar="ADDRESS", help="The subject of the note. [the sprint]")
@typed.flag("--to-agent", help="Deliver the note to the agent with its next prompt.")
@typed.flag("--now", help="With --to-agent: end the agent's current run first.")
@with_recording
def command(text: str, phase: str | None, to_agent: bool, now: bool, **given: Any) -> None:
    """Add a note for readers of the log; the state does not change.

    With --to-agent, the note is for the working agent: `run` delivers it with the next
    prompt, a hooked session with its next turn, and `next` with --prompt or --json. With
    --now, `run` ends the agent first; its work remains, and it does not count as failed.

    Examples: sprintlog note 'retried by hand, flaky network'

    sprintlog note --to-agent --now 'Stop: the API is frozen. Use v2.'
    """
    sprint = record("note", given, AddNote(text, phase, to_agent, now))
    if to_agent:
        output.note(_delivery(sprint, ends_run=now))


def _delivery(sprint: Sprint, *, ends_run: bool) -> str:
    """Return how a new note will be delivered."""
    run = sprint.knowledge.loops.open
    if run is not None and seen_from_here(find_log().folder, sprint.id, run) != GONE:
        how = "ends its agent, then delivers it" if ends_run else "delivers it"
        return (
            f"`sprintlog run` (process {run.pid} on {run.host}) {how} with the next prompt"
        )
    said = "no `sprintlog run` is active, so nothing is ended; " if ends_run else ""
    return f"{said}the next prompt of `run`, a hooked session or `next` delivers it"
