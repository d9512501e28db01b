"""`iteration end --from`: what an agent printed, read from a file or standard input."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.sprint.answers.items import SaidItems
from sprintlog.engine.sprint.events import AgentRan
from sprintlog.engine.sprint.state.words import AGENTS

from ...cli import typed
from ..context import open_workspace
from ..output import counted, warn
from ..record import Options

if TYPE_CHECKING:
    from sprintlog.engine.adapters.agents.items import Items
    from sprintlog.engine.adapters.agents.output import Read

STANDARD_INPUT = "-"
PIECE_BYTES = 1024 * 1024


class PrintedRun(NamedTuple):
    """What an agent printed: what is recorded of it, its last words, what was not clear."""

    ran: AgentRan
    summary: str | None
    problem: str | None
    said: SaidItems | None
    """What the agent said beside that."""


class AgentName(typed.Choice):
    """An agent whose output is understood, here or by an extension."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name; raise `UnknownWordError` for one that nobody understands."""
        if value not in self.choices and is_extension(value):
            # Imported here: it is asked for by a name that is none of ours.
            from sprintlog.engine.extensions import installed

            if any(one.name == value for one in installed("agent")):
                return str(value)
        return super().convert(value, param, ctx)


def is_extension(name: object) -> bool:
    """Tell whether a name can be that of an agent which an extension brings."""
    return isinstance(name, str) and name not in AGENTS and "-" in name


with_output = typed.several(
    typed.option(
        "--from",
        "source",
        metavar="FILE",
        help="The agent's output or transcript; - is standard input.",
    ),
    typed.option(
        "--agent",
        type=AgentName(AGENTS),
        help="The agent. [detected from the output]",
    ),
)
"""The options that name an agent's output; they arrive as `source` and `agent`."""


def pass_over(source: str | None, **given: Any) -> None:
    """Read standard input to its end: whoever writes it is not cut off."""
    if source == STANDARD_INPUT:
        for _ in _pieces(source):
            pass


def hear(source: str, agent: str | None) -> PrintedRun:
    """Return what an agent printed; a bounded part of it is held at a time.

    Raise `InvalidInputError` where it cannot be read.
    """
    # Imported here: few iterations are ended by what an agent printed.
    from sprintlog.engine.adapters.agents.output import DOCUMENT_BYTES_MAX, Hearing
    from sprintlog.engine.adapters.processes.output import Output
    from sprintlog.engine.service.agent_sessions.ran import printed
    from sprintlog.engine.sprint.answers.verdict import judge, said_beside

    read = _decoder_of(agent) if agent is not None and is_extension(agent) else None
    hearing = Hearing(agent=agent, read=read, document_max=DOCUMENT_BYTES_MAX)
    output = Output()
    for piece in _pieces(source):
        hearing.feed(piece)
        output.feed(piece)
    answer, activity = hearing.heard()
    verdict = judge(answer, exit_code=0)
    ran = printed(output, activity, verdict)
    is_agents = ran.agent is not None
    summary = verdict.summary or verdict.error if is_agents else None
    problem = _problem(_name(source), ran, is_cut=answer.is_cut)
    return PrintedRun(ran, summary, problem, said_beside(answer.text))


def _decoder_of(agent: str) -> "Read":
    """Return what decodes the messages of an extension's agent; what fails is named."""
    from sprintlog.engine.extensions import loaded, named

    extension, read = loaded("agent", agent)

    def decode(message: Any) -> "Items | None":
        with named(extension):
            items = read(message)
            return None if items is None else tuple(items)

    return decode


def ran_alone(heard: PrintedRun) -> AgentRan:
    """Return the run with what it took beyond earlier runs of the same session."""
    # Imported here: few iterations are ended by what an agent printed.
    from sprintlog.engine.service.session_totals import SAY_TOTALS, alone

    if heard.ran.agent not in SAY_TOTALS:
        return heard.ran
    with open_workspace() as workspace:
        return alone(workspace, heard.ran)


def kept(heard: PrintedRun, given: Mapping[str, Any]) -> SaidItems | None:
    """Return what else an agent said, once an open journal has its learnings."""
    if heard.said is None or not heard.said.learnings:
        return heard.said
    from sprintlog.engine.service.learnings import keep_learnings

    options = Options(given)
    with open_workspace() as workspace:
        return keep_learnings(
            workspace,
            workspace.choose(options.sprint_id),
            heard.said,
            actor=options.actor,
            masks=options.masks,
        )


def tell(heard: PrintedRun) -> None:
    """Say in a line what of the output was not understood."""
    if heard.problem is not None:
        warn(heard.problem)


def _problem(name: str, ran: AgentRan, *, is_cut: bool) -> str | None:
    if not ran.output_bytes:
        return f"{name} is empty: nothing is known of what the agent did"
    lines = counted(ran.lines, "line")
    if ran.agent is None:
        return f"{name}: {lines} of no agent that is known, kept as plain words"
    problems = []
    if ran.unknown_lines:
        problems.append(f"{ran.unknown_lines} of {lines} not understood")
    if is_cut:
        problems.append("ends in the middle of the work")
    return f"{name}: {', '.join(problems)}" if problems else None


def _name(source: str) -> str:
    return "standard input" if source == STANDARD_INPUT else source


def _pieces(source: str) -> Iterator[bytes]:
    is_file = source != STANDARD_INPUT
    try:
        with open(source, "rb", buffering=0) if is_file else nullcontext() as opened:
            yield from iter(partial((opened or sys.stdin.buffer).read, PIECE_BYTES), b"")
    except FileNotFoundError as error:
        raise NotFoundError(f"{source}: there is no such file", file=source) from error
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "holds a character 0"
        raise InvalidInputError(f"cannot be read: {said}", file=_name(source)) from error
