"""Cursor: its stream has the messages of Claude Code, but its own tool calls and result.

By its documentation of 2026; the program itself was not run.
"""

from sprintlog.usage import Usage, known_sum

from . import items
from .values import Data, command_of, count, mapping, path_of, text, tokens_in

_EDITS = {"delete", "edit", "write"}
_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def read(message: Data) -> items.Items | None:
    """Return the items of a tool call or a result; None for all other lines."""
    kind = message.get("type")
    if kind == "result" and text(message.get("request_id")):
        return _result(message)
    if kind == "thinking" and message.get("subtype") in ("delta", "completed"):
        return ()
    if kind != "tool_call" or "tool_call" not in message:
        return None
    key, call = text(message.get("call_id")) or None, mapping(message.get("tool_call"))
    name, about = next(((n, x) for n, x in call.items() if isinstance(x, dict)), ("", {}))
    tool = text(about.get("name")) or name.removesuffix("ToolCall")
    given = mapping(about.get("args"))
    found: list[items.Item] = [items.Called(key, tool, command_of(given), given=given)]
    if message.get("subtype") != "completed":
        return tuple(found)
    result = mapping(about.get("result"))
    done = mapping(result.get("success", result.get("failure")))
    code = done.get("exitCode")
    exit_code = code if type(code) is int else None
    ok = "success" in result and exit_code in (None, 0) if result else None
    found.append(items.Returned(key, ok, exit_code, count(done.get("executionTime"))))
    path = path_of(given)
    if ok and path and tool in _EDITS:
        counts = count(done.get("linesAdded")), count(done.get("linesRemoved"))
        if tool == "write" and counts == (None, None):
            counts = count(done.get("linesCreated")), None
        found.append(
            items.FileChanged(key, path, "deleted" if tool == "delete" else None, *counts)
        )
    return tuple(found)


def _result(message: Data) -> items.Items:
    tokens = tokens_in(mapping(message.get("usage")), *_TOKENS)
    took = Usage(duration_ms=count(message.get("duration_ms")))
    failed, final = message.get("is_error") is True, text(message.get("result"))
    error = (text(message.get("error")) or final or None) if failed else None
    return (
        items.Session(text(message.get("session_id"))),
        items.Used(
            known_sum([tokens, took]),
            items.FigureSpan.TURN,
            text(message.get("request_id")),
        ),
        items.AgentEnded(final, failed, error),
    )
