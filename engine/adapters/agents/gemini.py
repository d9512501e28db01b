"""Gemini CLI: its output as one object or as lines, and the transcript of a session.

A transcript is a header, messages and patches; a message that grows is written again under
the same id. Older versions store the session as one document with a list of messages.
"""

from sprintlog.usage import Usage, known_sum

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
    """Return the items of a line; None if it is not one of a session."""
    if {"sessionId", "projectHash"} <= message.keys():
        within = map(read_session, objects(message.get("messages")))
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
    # A failed command counts as a success; its exit code is only in the text.
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


def read(message: Data) -> out.Items | None:
    """Return the items of an object or a line; None if it is not one of Gemini CLI's."""
    kind = message.get("type")
    if kind is None:
        return _whole(message)
    if kind == "init" and text(message.get("session_id")):
        model = text(message.get("model")) or None
        return (out.Session(text(message.get("session_id")), model=model),)
    if kind == "message" and isinstance(message.get("content"), str) and "role" in message:
        said = text(message.get("content"))
        if message.get("role") != "assistant" or not said:
            return (out.Prompted(said),) if said else ()
        return (out.Said(said, goes_on=message.get("delta") is True),)
    if kind == "tool_use" and "tool_id" in message:
        given = mapping(message.get("parameters"))
        key, at = (
            text(message.get("tool_id")) or None,
            text(message.get("timestamp")) or None,
        )
        tool, command = text(message.get("tool_name")), command_of(given)
        return (out.Called(key, tool, command, at=at, given=given),)
    if kind == "tool_result" and "tool_id" in message:
        return _returned(message)
    if kind == "error" and "severity" in message:
        error = text(message.get("message"))
        is_fatal = message.get("severity") == "error"
        return (out.AgentEnded(failed=True, error=error or None),) if is_fatal else ()
    if kind == "result" and {"stats", "error", "timestamp"} & message.keys():
        return _result(message) if text(message.get("status")) else None
    return None


def _returned(message: Data) -> out.Items:
    key, at = text(message.get("tool_id")) or None, text(message.get("timestamp")) or None
    # A failed command counts as a success; its exit code is only in the text.
    code = exit_code_in(text(message.get("output")))
    return (
        out.Returned(key, message.get("status") == "success" and not code, code, at=at),
    )


def _whole(message: Data) -> out.Items | None:
    if not {"stats", "session_id"} & message.keys():
        return None
    error, session = message.get("error"), text(message.get("session_id"))
    named = (out.Session(session),) if session else ()
    if isinstance(error, dict):
        why, status = text(error.get("message")) or None, count(error.get("code"))
        return (*named, out.AgentEnded(failed=True, error=why, status=status))
    if "response" not in message:
        return None
    by_model = mapping(mapping(message.get("stats")).get("models"))
    models, names = objects(list(by_model.values())), [text(name) for name in by_model]
    used = known_sum(_of_model(mapping(model.get("tokens"))) for model in models)
    calls = count(mapping(mapping(message.get("stats")).get("tools")).get("totalCalls"))
    return (
        *named,
        out.Used(used, out.FigureSpan.SESSION, session),
        *(out.Used(Usage(), out.FigureSpan.CALL, model=name) for name in names),
        *((out.CallsCounted(calls),) if calls is not None else ()),
        out.AgentEnded(text(message.get("response"))),
    )


def _result(message: Data) -> out.Items:
    stats = mapping(message.get("stats"))
    given, written = count(stats.get("input_tokens")), count(stats.get("output_tokens"))
    cached, total = count(stats.get("cached")), count(stats.get("total_tokens"))
    used = Usage(
        input_tokens=less(given, cached),
        # The remaining tokens are those of thoughts, which the model wrote as well.
        output_tokens=written if None in (given, total) else less(total, given),
        cache_read_tokens=cached,
        duration_ms=count(stats.get("duration_ms")),
    )
    if message.get("status") == "success":
        return (out.Used(used, out.FigureSpan.SESSION), out.AgentEnded())
    error = mapping(message.get("error"))
    why, status = text(error.get("message")) or None, count(error.get("code"))
    ended = out.AgentEnded(failed=True, error=why, status=status)
    return (out.Used(used, out.FigureSpan.SESSION), ended)


def _of_model(tokens: Data) -> Usage:
    cached, given = count(tokens.get("cached")), count(tokens.get("input"))
    if given is None:
        given = less(count(tokens.get("prompt")), cached)
    return Usage(
        input_tokens=given,
        output_tokens=added(count(tokens.get(name)) for name in ("candidates", "thoughts")),
        cache_read_tokens=cached,
    )
