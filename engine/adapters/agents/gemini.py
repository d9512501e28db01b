"""Gemini CLI: one object with `--output-format json`, or with `stream-json` many lines."""

from ...usage import Usage
from . import items as out
from .values import (
    Data,
    added,
    command_of,
    count,
    exit_code_in,
    less,
    mapping,
    objects,
    text,
    together,
)


def read(message: Data) -> out.Items | None:
    """Return what an object or a line says; None when it is none of Gemini CLI."""
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
    # A command that fails is called a success; its exit code stands in the words alone.
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
    used = together(_of_model(mapping(model.get("tokens"))) for model in models)
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
        # What is neither prompt nor answer are thoughts, which the model wrote, too.
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
