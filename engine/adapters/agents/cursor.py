"""Cursor: its stream has the messages of Claude Code, but calls of tools are its own.

By its documentation; no output of the program itself was looked at.
"""

from .items import Called, FileChanged, Item, Items, Returned
from .tools import command_of, path_of
from .values import Data, count, mapping, text

_EDITS = {"delete", "edit", "write"}


def read(message: Data) -> Items | None:
    """Return what a call of a tool says; None for all other lines."""
    if message.get("type") != "tool_call" or "tool_call" not in message:
        return None
    key, call = text(message.get("call_id")) or None, mapping(message.get("tool_call"))
    name, about = next(((n, x) for n, x in call.items() if isinstance(x, dict)), ("", {}))
    tool = text(about.get("name")) or name.removesuffix("ToolCall")
    given = mapping(about.get("args"))
    items: list[Item] = [Called(key, tool, command_of(given))]
    if message.get("subtype") != "completed":
        return tuple(items)
    result = mapping(about.get("result"))
    done = mapping(result.get("success"))
    code = done.get("exitCode")
    exit_code = code if type(code) is int else None
    ok = "success" in result and exit_code in (None, 0) if result else None
    items.append(Returned(key, ok, exit_code, count(done.get("executionTime"))))
    path = path_of(given)
    if ok and path and tool in _EDITS:
        counts = count(done.get("linesAdded")), count(done.get("linesRemoved"))
        if tool == "write" and counts == (None, None):
            counts = count(done.get("linesCreated")), None
        items.append(
            FileChanged(key, path, "deleted" if tool == "delete" else None, *counts)
        )
    return tuple(items)
