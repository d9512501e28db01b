"""opencode: `opencode run --format json` prints a line for each part of a message.

Its plugins receive the same parts in bus events; a plugin that writes the events to a file
writes `{"k": "event", "o": …}`.
"""

from sprintlog.usage import Usage

from . import items as out
from . import values as v

_GOES_ON = "tool-calls"
"""The reason for which a step ends that is followed by another step."""
_EDITS = {"edit", "multiedit", "patch", "write"}


def read(message: v.Data) -> out.Items | None:
    """Return the items in a line; None if it is not an opencode line."""
    if v.text(message.get("k")) and "o" in message:
        # A tool's part is reported both before and after the call.
        return _event(v.mapping(message["o"])) if message["k"] == "event" else ()
    kind = v.text(message.get("type"))
    if isinstance(message.get("properties"), dict) and "." in kind:
        return _event(message)
    if not kind or not v.text(message.get("sessionID")):
        return None
    session = out.Session(v.text(message.get("sessionID")))
    if kind == "error":
        return (session, *_failed(v.inner(message, "error")))
    return (session, *_part(v.inner(message, "part"), kind))


def _event(event: v.Data) -> out.Items:
    """Return the items in a bus event."""
    kind, of = v.text(event.get("type")), v.inner(event, "properties")
    info = v.inner(of, "info")
    if kind in ("session.created", "session.updated") and v.text(info.get("id")):
        model = v.word(v.inner(info, "model"), "id")
        return (out.Session(v.text(info["id"]), v.word(info, "version"), model),)
    if kind == "session.error":
        return _failed(v.inner(of, "error"))
    if kind == "message.updated" and info.get("role") == "assistant":
        key, model = v.word(info, "id"), v.word(info, "modelID")
        return (out.Used(Usage(), out.FigureSpan.TURN, key, model=model),)
    if kind != "message.part.updated":
        return ()
    part = v.inner(of, "part")
    # A text grows until it has an end time; a text without any time is the prompt.
    if part.get("type") == "text" and "end" not in v.inner(part, "time"):
        return ()
    return _part(part, v.text(part.get("type")).replace("-", "_"))


def _part(part: v.Data, kind: str) -> out.Items:
    if kind == "text":
        return (out.Said(v.text(part.get("text"))),) if v.text(part.get("text")) else ()
    if kind in ("tool", "tool_use"):
        return _tool(part)
    if kind != "step_finish":
        return ()
    used = out.Used(_usage(part), out.FigureSpan.CALL, v.word(part, "id"))
    return (used,) if part.get("reason") == _GOES_ON else (used, out.AgentEnded())


def _tool(part: v.Data) -> out.Items:
    state, key = v.inner(part, "state"), v.word(part, "callID")
    given, tool = v.inner(state, "input"), v.text(part.get("tool"))
    items: list[out.Item] = [v.called(key, tool, given)]
    if state.get("status") not in ("completed", "error"):
        return tuple(items)
    about = v.inner(state, "metadata")
    exit_code = v.integer(about.get("exit"))
    took = v.between(*v.counts(v.inner(state, "time"), "start", "end"))
    ok = state.get("status") == "completed" and exit_code in (None, 0)
    items.append(out.Returned(key, ok, exit_code, took))
    path = v.text(about.get("filepath")) or v.path_of(given)
    if ok and path and tool in _EDITS:
        lines = v.counts(v.inner(about, "filediff"), "additions", "deletions")
        kind = "created" if about.get("exists") is False else "changed"
        items.append(out.FileChanged(key, path, kind, *lines))
    return tuple(items)


_TELLS = ("retry-after", "reset")
"""Substrings in the names of headers that state the end of a limit."""


def _failed(error: v.Data) -> out.Items:
    about = v.inner(error, "data")
    if error.get("name") == "MessageAbortedError":
        return (out.STOPPED_BY_USER,)
    said = v.text(about.get("message")) or v.text(error.get("name"))
    headers = v.inner(about, "responseHeaders")
    fields = [
        f"{name}: {v.text(headers[name])}"
        for name in headers
        if any(word in name.lower() for word in _TELLS)
    ]
    refused = (out.Refused(fields="\n".join(fields)),) if fields else ()
    return (*refused, out.failed(said, v.count(about.get("statusCode"))))


def _usage(part: v.Data) -> Usage:
    tokens = v.inner(part, "tokens")
    given, *written = v.counts(tokens, "input", "output", "reasoning")
    cached, kept = v.counts(v.inner(tokens, "cache"), "read", "write")
    return Usage(given, v.added(written), cached, kept, v.amount(part.get("cost")))
