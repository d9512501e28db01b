"""GitHub Copilot CLI: `--output-format json` prints a line for each event.

Its last line has neither words nor tokens: the words are in its messages, and the tokens
are not printed.
"""

from ...iterations.events import Usage
from ...sprint.state.tree import Data
from .items import AgentEnded, Called, FigureSpan, Items, Said, Session, Used
from .values import count, mapping, objects, text


def read(message: Data) -> Items | None:
    """Return what a line says; None when it is none of Copilot."""
    kind = text(message.get("type"))
    if kind == "result" and {"exitCode", "sessionId"} & message.keys():
        return _result(message)
    if "." not in kind or not isinstance(message.get("data"), dict):
        return None
    data = mapping(message.get("data"))
    if message.get("ephemeral") is True or data.get("parentToolCallId") is not None:
        # Of the moment, or of an agent that it called.
        return ()
    if kind == "assistant.message":
        said, calls = text(data.get("content")), objects(data.get("toolRequests"))
        return (*((Said(said),) if said else ()), *((Called(),) if calls else ()))
    if kind == "session.error":
        return (AgentEnded(failed=True, error=text(data.get("message")) or None),)
    return (Called(),) if kind == "tool.execution_start" else ()


def _result(message: Data) -> Items:
    took = count(mapping(message.get("usage")).get("sessionDurationMs"))
    exit_code = message.get("exitCode")
    return (
        Session(text(message.get("sessionId"))),
        Used(Usage(duration_ms=took), FigureSpan.SESSION),
        AgentEnded(failed=exit_code is not None and exit_code != 0),
    )
