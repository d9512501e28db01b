"""opencode: `opencode run --format json` prints a line for each part of a message.

Its plugins receive the same parts in events of a bus; a plugin that writes them to a file
produces `{"k": "event", "o": …}`.
"""

from sprintlog.usage import Usage

from . import items as out
from .values import Data, added, amount, command_of, count, mapping, path_of, text

_GOES_ON = "tool-calls"
"""Why a step ends after which there is another one."""
_EDITS = {"edit", "multiedit", "patch", "write"}


def read(message: Data) -> out.Items | None:
    """Return the items of a line; None if it is not one of opencode's."""
    if text(message.get("k")) and "o" in message:
        # The part of a tool is reported before and after it as well.
        return _event(mapping(message["o"])) if message["k"] == "event" else ()
    kind = text(message.get("type"))
    if isinstance(message.get("properties"), dict) and "." in kind:
        return _event(message)
    if not kind or not text(message.get("sessionID")):
        return None
    session = out.Session(text(message.get("sessionID")))
    if kind == "error":
        return (session, *_failed(mapping(message.get("error"))))
    return (session, *_part(mapping(message.get("part")), kind))


def _event(event: Data) -> out.Items:
    """Return the items of an event of the bus."""
    kind, of = text(event.get("type")), mapping(event.get("properties"))
    info = mapping(of.get("info"))
    if kind in ("session.created", "session.updated") and text(info.get("id")):
        model = text(mapping(info.get("model")).get("id")) or None
        return (out.Session(text(info["id"]), text(info.get("version")) or None, model),)
    if kind == "session.error":
        return _failed(mapping(of.get("error")))
    if kind == "message.updated" and info.get("role") == "assistant":
        model = text(info.get("modelID")) or None
        return (
            out.Used(
                Usage(), out.FigureSpan.TURN, text(info.get("id")) or None, model=model
            ),
        )
    if kind != "message.part.updated":
        return ()
    part = mapping(of.get("part"))
    # A text grows until it has an end; one without any time is the prompt.
    if part.get("type") == "text" and "end" not in mapping(part.get("time")):
        return ()
    return _part(part, text(part.get("type")).replace("-", "_"))


def _part(part: Data, kind: str) -> out.Items:
    if kind == "text":
        return (out.Said(text(part.get("text"))),) if text(part.get("text")) else ()
    if kind in ("tool", "tool_use"):
        return _tool(part)
    if kind != "step_finish":
        return ()
    used = out.Used(_usage(part), out.FigureSpan.CALL, text(part.get("id")) or None)
    return (used,) if part.get("reason") == _GOES_ON else (used, out.AgentEnded())


def _tool(part: Data) -> out.Items:
    state, key = mapping(part.get("state")), text(part.get("callID")) or None
    given, tool = mapping(state.get("input")), text(part.get("tool"))
    items: list[out.Item] = [out.Called(key, tool, command_of(given), given=given)]
    if state.get("status") not in ("completed", "error"):
        return tuple(items)
    about, time = mapping(state.get("metadata")), mapping(state.get("time"))
    code = about.get("exit")
    exit_code = code if type(code) is int else None
    began, ended = count(time.get("start")), count(time.get("end"))
    took = ended - began if began is not None and ended is not None else None
    ok = state.get("status") == "completed" and exit_code in (None, 0)
    items.append(out.Returned(key, ok, exit_code, took))
    path = text(about.get("filepath")) or path_of(given)
    if ok and path and tool in _EDITS:
        diff = mapping(about.get("filediff"))
        counts = count(diff.get("additions")), count(diff.get("deletions"))
        kind = "created" if about.get("exists") is False else "changed"
        items.append(out.FileChanged(key, path, kind, *counts))
    return tuple(items)


_TELLS = ("retry-after", "reset")
"""Parts of the names of headers that state the end of a limit."""


def _failed(error: Data) -> out.Items:
    about = mapping(error.get("data"))
    if error.get("name") == "MessageAbortedError":
        return (out.STOPPED_BY_USER,)
    said = text(about.get("message")) or text(error.get("name"))
    headers = mapping(about.get("responseHeaders"))
    fields = [
        f"{name}: {text(headers[name])}"
        for name in headers
        if any(word in name.lower() for word in _TELLS)
    ]
    refused = (out.Refused(fields="\n".join(fields)),) if fields else ()
    status = count(about.get("statusCode"))
    return (*refused, out.AgentEnded(failed=True, error=said or None, status=status))


def _usage(part: Data) -> Usage:
    tokens = mapping(part.get("tokens"))
    cache = mapping(tokens.get("cache"))
    return Usage(
        input_tokens=count(tokens.get("input")),
        output_tokens=added(count(tokens.get(name)) for name in ("output", "reasoning")),
        cache_read_tokens=count(cache.get("read")),
        cache_creation_tokens=count(cache.get("write")),
        cost_usd=amount(part.get("cost")),
    )
