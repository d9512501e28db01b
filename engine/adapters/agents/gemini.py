"""Gemini CLI: its output as one object or as lines, and its session transcripts.

A transcript consists of a header, messages and patches; a message that has grown is written
again under the same id. Older versions store a session as one document with a list of
messages.
"""

from sprintlog.usage import Usage, known_sum

from . import items as out
from . import values as v


def read_session(message: v.Data) -> out.Items | None:
    """Return the items in a line; None if it is not part of a session."""
    if {"sessionId", "projectHash"} <= message.keys():
        within = map(read_session, v.objects(message.get("messages")))
        items = [item for found in within for item in found or ()]
        return (out.Session(v.text(message.get("sessionId"))), *items)
    if isinstance(message.get("$set"), dict):
        return ()
    kind = message.get("type")
    if (
        not v.text(message.get("id"))
        or "timestamp" not in message
        or "content" not in message
    ):
        return None
    if kind == "gemini":
        return _answer(message)
    if kind != "user":
        return () if kind in ("error", "info", "warning") else None
    content = message.get("content")
    parts = [content] if isinstance(content, str) else v.objects(content)
    said = "".join(v.text(x if isinstance(x, str) else x.get("text")) for x in parts)
    return (out.Prompted(said, v.word(message, "timestamp")),) if said else ()


def _answer(message: v.Data) -> out.Items:
    tokens = v.inner(message, "tokens")
    given, cached, *written = v.counts(tokens, "input", "cached", "output", "thoughts")
    usage = Usage(v.less(given, cached), v.added(written), cached)
    key, model = v.text(message["id"]), v.word(message, "model")
    items: list[out.Item] = [
        out.Used(usage, out.FigureSpan.CALL, key, model=model, is_unique=True)
    ]
    if v.text(message.get("content")):
        items += [out.Said(v.text(message.get("content"))), out.AgentEnded()]
    for call in v.objects(message.get("toolCalls")):
        items += _call(call)
    return tuple(items)


def _call(call: v.Data) -> list[out.Item]:
    key, given = v.word(call, "id"), v.inner(call, "args")
    output = "".join(
        v.text(v.inner(v.inner(one, "functionResponse"), "response").get("output"))
        for one in v.objects(call.get("result"))
    )
    code = v.exit_code_in(output) if v.command_of(given) else None
    # A failed command counts as a success; its exit code is only in the text.
    ok = call.get("status") == "success" and code in (None, 0)
    items: list[out.Item] = [
        v.called(key, v.text(call.get("name")), given),
        out.Returned(key, ok, code, at=v.word(call, "timestamp")),
    ]
    shown = v.inner(call, "resultDisplay")
    path = v.text(shown.get("filePath")) or v.text(shown.get("fileName"))
    if path and isinstance(shown.get("fileDiff"), str):
        is_new = shown.get("isNewFile") is True
        kind = "created" if is_new else "changed"
        items.append(v.changed_by_diff(key, path, kind, shown["fileDiff"]))
    return items


def read(message: v.Data) -> out.Items | None:
    """Return the items in an object or a line; None if it is not from Gemini CLI."""
    if (kind := message.get("type")) is None:
        return _whole(message)
    if kind == "init" and v.text(message.get("session_id")):
        return (out.Session(v.text(message["session_id"]), model=v.word(message, "model")),)
    if kind == "message" and isinstance(message.get("content"), str) and "role" in message:
        said = v.text(message.get("content"))
        if message.get("role") != "assistant" or not said:
            return (out.Prompted(said),) if said else ()
        return (out.Said(said, goes_on=message.get("delta") is True),)
    if kind == "tool_use" and "tool_id" in message:
        key, given = v.word(message, "tool_id"), v.inner(message, "parameters")
        tool = v.text(message.get("tool_name"))
        return (v.called(key, tool, given, at=v.word(message, "timestamp")),)
    if kind == "tool_result" and "tool_id" in message:
        # A failed command counts as a success; its exit code is only in the text.
        code = v.exit_code_in(v.text(message.get("output")))
        ok = message.get("status") == "success" and not code
        key, at = v.word(message, "tool_id"), v.word(message, "timestamp")
        return (out.Returned(key, ok, code, at=at),)
    if kind == "error" and "severity" in message:
        is_fatal = message.get("severity") == "error"
        return (out.failed(v.word(message, "message")),) if is_fatal else ()
    if kind == "result" and {"stats", "error", "timestamp"} & message.keys():
        return _result(message) if v.text(message.get("status")) else None
    return None


def _whole(message: v.Data) -> out.Items | None:
    if not {"stats", "session_id"} & message.keys():
        return None
    error, session = message.get("error"), v.text(message.get("session_id"))
    named = (out.Session(session),) if session else ()
    if isinstance(error, dict):
        return (*named, _failed(error))
    if "response" not in message:
        return None
    by_model = v.inner(v.inner(message, "stats"), "models")
    models, names = v.objects(list(by_model.values())), [v.text(name) for name in by_model]
    used = known_sum(_of_model(v.inner(model, "tokens")) for model in models)
    calls = v.count(v.inner(v.inner(message, "stats"), "tools").get("totalCalls"))
    return (
        *named,
        out.Used(used, out.FigureSpan.SESSION, session),
        *(out.Used(Usage(), out.FigureSpan.CALL, model=name) for name in names),
        *((out.CallsCounted(calls),) if calls is not None else ()),
        out.AgentEnded(v.text(message.get("response"))),
    )


def _result(message: v.Data) -> out.Items:
    stats = v.inner(message, "stats")
    given, written, cached, total, took = v.counts(
        stats, "input_tokens", "output_tokens", "cached", "total_tokens", "duration_ms"
    )
    # The remaining tokens are thoughts, which are also output of the model.
    written = written if None in (given, total) else v.less(total, given)
    used = Usage(v.less(given, cached), written, cached, duration_ms=took)
    is_success = message.get("status") == "success"
    ended = out.AgentEnded() if is_success else _failed(v.inner(message, "error"))
    return (out.Used(used, out.FigureSpan.SESSION), ended)


def _failed(error: v.Data) -> out.AgentEnded:
    return out.failed(v.word(error, "message"), v.count(error.get("code")))


def _of_model(tokens: v.Data) -> Usage:
    cached, given, prompt = v.counts(tokens, "cached", "input", "prompt")
    given = v.less(prompt, cached) if given is None else given
    return Usage(given, v.added(v.counts(tokens, "candidates", "thoughts")), cached)
