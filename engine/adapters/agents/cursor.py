"""Cursor prints Claude Code messages, but uses its own format for tool calls and results.

This module is based on Cursor's 2026 documentation and was not tested with the program.
"""

from sprintlog.usage import Usage, known_sum

from . import items
from . import values as v

_EDITS = {"delete", "edit", "write"}
_TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")


def read(message: v.Data) -> items.Items | None:
    """Return the items in a tool call or a result; None for any other line."""
    if (kind := message.get("type")) == "result" and v.text(message.get("request_id")):
        return _result(message)
    if kind == "thinking" and message.get("subtype") in ("delta", "completed"):
        return ()
    if kind != "tool_call" or "tool_call" not in message:
        return None
    key, call = v.word(message, "call_id"), v.inner(message, "tool_call")
    name, about = next(((n, x) for n, x in call.items() if isinstance(x, dict)), ("", {}))
    tool = v.text(about.get("name")) or name.removesuffix("ToolCall")
    given = v.inner(about, "args")
    found: list[items.Item] = [v.called(key, tool, given)]
    if message.get("subtype") != "completed":
        return tuple(found)
    result = v.inner(about, "result")
    done = v.mapping(result.get("success", result.get("failure")))
    exit_code = v.integer(done.get("exitCode"))
    ok = "success" in result and exit_code in (None, 0) if result else None
    found.append(items.Returned(key, ok, exit_code, v.count(done.get("executionTime"))))
    path = v.path_of(given)
    if ok and path and tool in _EDITS:
        lines = v.counts(done, "linesAdded", "linesRemoved")
        if tool == "write" and lines == [None, None]:
            lines = [v.count(done.get("linesCreated")), None]
        kind = "deleted" if tool == "delete" else None
        found.append(items.FileChanged(key, path, kind, *lines))
    return tuple(found)


def _result(message: v.Data) -> items.Items:
    tokens = v.tokens_in(v.inner(message, "usage"), *_TOKENS)
    took = Usage(duration_ms=v.count(message.get("duration_ms")))
    key = v.text(message["request_id"])
    failed, final = message.get("is_error") is True, v.text(message.get("result"))
    error = (v.text(message.get("error")) or final or None) if failed else None
    return (
        items.Session(v.text(message.get("session_id"))),
        items.Used(known_sum([tokens, took]), items.FigureSpan.TURN, key),
        items.AgentEnded(final, failed, error),
    )
