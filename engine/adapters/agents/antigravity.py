"""Antigravity CLI: `agy -p --output-format stream-json` prints a line for each event.

With `json`, it prints only the object from the stream's last line. Its exit status is 0
even if it fails; the field `status` states the outcome.
"""

import re

from sprintlog.usage import Usage

from . import items as out
from . import values as v

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "total_tokens")

_EVENTS = ("init", "step_update", "result")
_SUCCESS = ("SUCCESS", "OK")
_STATUS = re.compile(r"\(code (\d{3})\)")
"""The HTTP status in an error message."""


def read(message: v.Data) -> out.Items | None:
    """Return the items in a line; None if it is not an Antigravity line."""
    kind = v.text(message.get("event"))
    if not kind and {"conversation_id", "status", "response"} <= message.keys():
        return _result(message)
    if kind not in _EVENTS or not isinstance(message.get(kind), dict):
        return None
    inner = v.mapping(message[kind])
    if kind == "init":
        session = v.text(message.get("conversation_id"))
        return (out.Session(session, model=v.word(inner, "model")),)
    return _result(inner) if kind == "result" else _step(inner)


def _step(step: v.Data) -> out.Items:
    kind, said = v.text(step.get("step_type")), v.text(step.get("text_delta"))
    key = str(v.count(step.get("step_index")) or 0)
    if kind == "user_input":
        return (out.Prompted(said),) if said else ()
    if kind == "tool":
        return _tool(step, key)
    if kind != "agent_response":
        return ()
    items: list[out.Item] = [out.Said(said, goes_on=True)] if said else []
    if isinstance(step.get("usage"), dict):
        items.append(out.Used(_usage(step), out.FigureSpan.CALL, key))
    return tuple(items)


def _tool(step: v.Data, key: str) -> out.Items:
    info, state = v.inner(step, "tool_info"), v.text(step.get("state"))
    given = v.inner(info, "parameters")
    tool = v.text(step.get("tool_name")) or v.text(info.get("name"))
    command = v.text(given.get("CommandLine")) or v.command_of(given)
    called = out.Called(key, tool, command, given=given)
    if state not in ("DONE", "ERROR"):
        return (called,)
    took = _milliseconds(step)
    return (called, out.Returned(key, state == "DONE", duration_ms=took))


def _result(result: v.Data) -> out.Items:
    status, session = v.text(result.get("status")), v.text(result.get("conversation_id"))
    items: list[out.Item] = [out.Session(session)] if session else []
    turns, took = v.count(result.get("num_turns")), _milliseconds(result)
    usage = _usage(result, turns=turns, duration_ms=took)
    key = f"{session}:{turns}" if session else None
    items.append(out.Used(usage, out.FigureSpan.TURN, key))
    if status in _SUCCESS:
        return (*items, out.AgentEnded(v.text(result.get("response"))))
    error = v.text(result.get("error")) or f"the agent ended with status {status[:40]}"
    found = _STATUS.search(error)
    return (*items, out.failed(error, int(found[1]) if found else None))


def _usage(
    of: v.Data, *, turns: int | None = None, duration_ms: int | None = None
) -> Usage:
    """Return the figures for a step or a result; thinking tokens count as output."""
    given, written, cached, total = v.counts(v.inner(of, "usage"), *_TOKENS)
    if None not in (given, written) and total == (given or 0) + (written or 0):
        given = v.less(given, cached)
    return Usage(given, written, cached, turns=turns, duration_ms=duration_ms)


def _milliseconds(of: v.Data) -> int | None:
    seconds = v.amount(of.get("duration_seconds"))
    return None if seconds is None else round(seconds * 1000)
