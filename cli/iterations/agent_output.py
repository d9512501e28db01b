"""The agent output for `iteration end --from`."""

from collections.abc import Mapping
from typing import Any

from sprintlog.engine.adapters.agents.items import Items
from sprintlog.engine.adapters.agents.output import DOCUMENT_BYTES_MAX, OutputReader, Read
from sprintlog.engine.adapters.processes.output import Output
from sprintlog.engine.extensions import loaded, named
from sprintlog.engine.service.agent_sessions.ran import SAY_TOTALS, alone, printed
from sprintlog.engine.service.learnings import keep_learnings
from sprintlog.engine.sprint.answers.items import SaidItems
from sprintlog.engine.sprint.answers.verdict import judge, said_beside
from sprintlog.engine.sprint.events import AgentRan

from ..context import open_workspace
from ..output import counted, warn
from ..record import Options
from .options import is_extension, pieces, source_name


def recorded_run(
    source: str, agent: str | None, given: Mapping[str, Any]
) -> tuple[AgentRan, str | None, SaidItems | None]:
    """Return an agent's run, its last message, and the items that it reported.

    Usage already counted in earlier runs of the same session is subtracted. Learnings are
    recorded in the journal if it is open. Print a warning about unrecognized output; raise
    `InvalidInputError` if the source cannot be read.
    """
    read = _decoder_of(agent) if agent is not None and is_extension(agent) else None
    hearing = OutputReader(agent=agent, read=read, document_max=DOCUMENT_BYTES_MAX)
    output = Output()
    for piece in pieces(source):
        hearing.feed(piece)
        output.feed(piece)
    answer, activity = hearing.heard()
    verdict = judge(answer, exit_code=0)
    ran = printed(output, activity, verdict)
    summary = None if ran.agent is None else verdict.summary or verdict.error
    if problem := _problem(source_name(source), ran, is_cut=answer.is_cut):
        warn(problem)
    said = said_beside(answer.text)
    if ran.agent in SAY_TOTALS:
        with open_workspace() as workspace:
            ran = alone(workspace, ran)
    if said is not None and said.learnings:
        options = Options(given)
        with open_workspace() as workspace:
            sprint_id = workspace.choose(options.sprint_id)
            said = keep_learnings(
                workspace, sprint_id, said, actor=options.actor, masks=options.masks
            )
    return ran, summary, said


def _decoder_of(agent: str) -> Read:
    """Return the message decoder of an extension's agent; errors name the extension."""
    extension, read = loaded("agent", agent)

    def decode(message: Any) -> Items | None:
        with named(extension):
            items = read(message)
            return None if items is None else tuple(items)

    return decode


def _problem(name: str, ran: AgentRan, *, is_cut: bool) -> str | None:
    if not ran.output_bytes:
        return f"{name} is empty: the agent's work is unknown"
    lines = counted(ran.lines, "line")
    if ran.agent is None:
        return f"{name}: {lines} from an unknown agent, kept as plain text"
    unknown = f"{ran.unknown_lines} of {lines} not understood" if ran.unknown_lines else ""
    cut = "ends in the middle of the work" if is_cut else ""
    problems = ", ".join(filter(None, (unknown, cut)))
    return f"{name}: {problems}" if problems else None
