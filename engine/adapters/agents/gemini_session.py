"""The transcript that Gemini CLI keeps of a session: a header, messages and patches.

A message is written again under the same id when it grows. Older versions keep the
session as one document with a list of its messages.
"""

from ...usage import Usage
from . import items as out
from .values import (
    Data,
    added,
    changed_by_diff,
    command_of,
    count,
    exit_code_in,
    less,
    mapping,
    objects,
    text,
)


def read_session(message: Data) -> out.Items | None:
    """Return what a line says; None when it is none of a session."""
    if {"sessionId", "projectHash"} <= message.keys():
        within = map(read, objects(message.get("messages")))
        items = [item for found in within for item in found or ()]
        return (out.Session(text(message.get("sessionId"))), *items)
    if isinstance(message.get("$set"), dict):
        return ()
    kind = message.get("type")
    if (
        not text(message.get("id"))
        or "timestamp" not in message
        or "content" not in message
    ):
        return None
    if kind == "gemini":
        return _answer(message)
    if kind != "user":
        return () if kind in ("error", "info", "warning") else None
    content = message.get("content")
    parts = [content] if isinstance(content, str) else objects(content)
    said = "".join(text(x if isinstance(x, str) else x.get("text")) for x in parts)
    return (out.Prompted(said, text(message.get("timestamp")) or None),) if said else ()


def _answer(message: Data) -> out.Items:
    tokens = mapping(message.get("tokens"))
    cached = count(tokens.get("cached"))
    usage = Usage(
        input_tokens=less(count(tokens.get("input")), cached),
        output_tokens=added(count(tokens.get(name)) for name in ("output", "thoughts")),
        cache_read_tokens=cached,
    )
    model = text(message.get("model")) or None
    key = text(message["id"])
    items: list[out.Item] = [
        out.Used(usage, out.FigureSpan.CALL, key, model=model, is_unique=True)
    ]
    if text(message.get("content")):
        items += [out.Said(text(message.get("content"))), out.AgentEnded()]
    for call in objects(message.get("toolCalls")):
        items += _call(call)
    return tuple(items)


def _call(call: Data) -> list[out.Item]:
    key, given = text(call.get("id")) or None, mapping(call.get("args"))
    at = text(call.get("timestamp")) or None
    output = "".join(
        text(mapping(mapping(one.get("functionResponse")).get("response")).get("output"))
        for one in objects(call.get("result"))
    )
    code = exit_code_in(output) if command_of(given) else None
    # A command that fails is called a success; its exit code stands in the words alone.
    ok = call.get("status") == "success" and code in (None, 0)
    items: list[out.Item] = [
        out.Called(key, text(call.get("name")), command_of(given), given=given)
    ]
    items.append(out.Returned(key, ok, code, at=at))
    shown = mapping(call.get("resultDisplay"))
    path = text(shown.get("filePath")) or text(shown.get("fileName"))
    if path and isinstance(shown.get("fileDiff"), str):
        is_new = shown.get("isNewFile") is True
        kind = "created" if is_new else "changed"
        items.append(changed_by_diff(key, path, kind, shown["fileDiff"]))
    return items
