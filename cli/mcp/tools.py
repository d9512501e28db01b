"""The available tools, and the function that calls them."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from sprintlog.errors import NotFoundError, SprintlogError
from sprintlog.formatting import mask_all
from sprintlog.servers import error_answer
from sprintlog.workspaces import Workspace

from . import answers, arguments, reports
from .caller import Caller
from .pages import ANSWER_BYTES_MAX, plain

_PHASE = "such as build/step-1; by default the current one"
_KEY = "repeating a call with the same key records nothing"


class Tool(NamedTuple):
    """A tool that an agent can call."""

    name: str
    says: str
    """The purpose of the tool, as shown to the agent."""
    takes: type[msgspec.Struct]
    act: Callable[[Workspace, Any, Caller], str]
    fields: Mapping[str, str] = {}
    """Descriptions of the arguments whose names are not self-explanatory."""
    writes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The schema of the tool's arguments."""
        return arguments.schema_of(self.takes, self.fields)


class Answered(NamedTuple):
    """The answer to a call."""

    text: str
    is_error: bool = False


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "status",
            "Where the sprint stands: phases, goal, what a person is needed for.",
            arguments.AskPage,
            answers.status,
            {
                "sprint": "its id; needed where several are unfinished",
                "cursor": "of the answer before, for what follows",
            },
        ),
        Tool(
            "next",
            "The next action, with its prompt. Records nothing.",
            arguments.AskPage,
            answers.next_,
        ),
        Tool(
            "report",
            "Say that you begin the current work, and how it ended. "
            "It does not pass a gate; `continue` ends an iteration towards a goal.",
            arguments.WorkReport,
            reports.report,
            {
                "summary": "the result, or the reason of a failure",
                "phase": _PHASE,
                "details": "details for a person who decides",
                "key": _KEY,
            },
            writes=True,
        ),
        Tool(
            "learn",
            "Keep what later runs should know about this codebase.",
            arguments.Learn,
            reports.learn,
            {
                "kind": "note: sent to the working agent, with its next prompt",
                "files": "where it applies",
            },
            writes=True,
        ),
        Tool(
            "request",
            "Ask for a person's decision: a bug you found, work outside of your task.",
            arguments.Request,
            reports.request,
            writes=True,
        ),
        Tool(
            "history",
            "The past: log (newest first), blame (who set `field`), diff (the plan "
            "between `from` and `to`), best (iteration), decisions.",
            arguments.AskHistory,
            answers.history,
            {
                "field": "like phases/build/status",
                "from": "a point: version:N, iter:N, best, start, a time",
                "to": "a point; without it now",
                "at": "as of a point",
            },
        ),
        Tool(
            "query",
            "One SELECT about the record. Tables: v_events, v_sprints, v_phases, "
            "v_iterations, v_decisions …; "
            "`SELECT name, sql FROM sqlite_schema` lists them.",
            arguments.AskQuery,
            answers.query,
        ),
    )
}
"""The tools by name. Agents do not judge their own work, so no tool runs gates, rolls back
or changes rules."""


def offered(*, reads_only: bool) -> list[Tool]:
    """Return the available tools."""
    return [tool for tool in TOOLS.values() if not (reads_only and tool.writes)]


def call(name: str, given: Any, caller: Caller) -> Answered:
    """Return the answer to a call; refusals and errors are answers as well.

    As with commands, the log is opened for each call: the log may be created, moved or
    repaired between calls, and other processes never have to wait.
    """
    try:
        known = {tool.name: tool for tool in offered(reads_only=caller.served.reads_only)}
        if (tool := known.get(name)) is None:
            listed = ", ".join(known)
            raise NotFoundError(f"there is no tool {name[:40]!r}; available: {listed}")
        read = arguments.read(given, tool.takes)
        read = mask_all(read) if tool.writes else read
        with caller.served.open() as workspace:
            return Answered(tool.act(workspace, read, caller))
    except SprintlogError as error:
        return Answered(refusal(error), is_error=True)
    except (OSError, ValueError, RecursionError) as error:
        said = SprintlogError(f"{type(error).__name__}: {error}")
        return Answered(refusal(said), is_error=True)


def refusal(error: SprintlogError) -> str:
    """Return an error for a model: the text printed on a terminal, with secrets masked."""
    said = error_answer(error)
    lines = [f"error: {said['message']}"]
    lines += [f"difference: {one}" for one in said.get("differences", ())[:5]]
    if said["hint"]:
        lines.append(f"hint: {said['hint']}")
    text = "\n".join(plain(" ".join(line.split())) for line in lines)
    content = text.encode(errors="backslashreplace")
    return content[: ANSWER_BYTES_MAX - 3].decode(errors="ignore")
