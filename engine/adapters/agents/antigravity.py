"""Antigravity CLI: `agy -p --output-format stream-json` prints a line for each event.

With `json` it prints only the object that the stream's last line contains. Its exit status
is 0 also when it fails: `status` decides.
"""

import re

from sprintlog.usage import Usage

from . import items as out
from .values import Data, amount, command_of, count, less, mapping, text

_EVENTS = ("init", "step_update", "result")
_SUCCESS = ("SUCCESS", "OK")
_STATUS = re.compile(r"\(code (\d{3})\)")
"""How an error states the status of HTTP."""


def read(message: Data) -> out.Items | None:
    """Return the items of a line; None if it is not one of Antigravity's."""
    kind = text(message.get("event"))
    if not kind and {"conversation_id", "status", "response"} <= message.keys():
        return _result(message)
    if kind not in _EVENTS or not isinstance(message.get(kind), dict):
        return None
    inner = mapping(message[kind])
    if kind == "init":
        session, model = text(message.get("conversation_id")), text(inner.get("model"))
        return (out.Session(session, model=model or None),)
    return _result(inner) if kind == "result" else _step(inner)


def _step(step: Data) -> out.Items:
    kind, said = text(step.get("step_type")), text(step.get("text_delta"))
    key = str(count(step.get("step_index")) or 0)
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


def _tool(step: Data, key: str) -> out.Items:
    info, state = mapping(step.get("tool_info")), text(step.get("state"))
    given = mapping(info.get("parameters"))
    tool = text(step.get("tool_name")) or text(info.get("name"))
    command = text(given.get("CommandLine")) or command_of(given)
    called = out.Called(key, tool, command, given=given)
    if state not in ("DONE", "ERROR"):
        return (called,)
    took = _milliseconds(step)
    return (called, out.Returned(key, state == "DONE", duration_ms=took))


def _result(result: Data) -> out.Items:
    status, session = text(result.get("status")), text(result.get("conversation_id"))
    items: list[out.Item] = [out.Session(session)] if session else []
    turns, took = count(result.get("num_turns")), _milliseconds(result)
    usage = _usage(result, turns=turns, duration_ms=took)
    key = f"{session}:{turns}" if session else None
    items.append(out.Used(usage, out.FigureSpan.TURN, key))
    if status in _SUCCESS:
        return (*items, out.AgentEnded(text(result.get("response"))))
    error = text(result.get("error")) or f"the agent ended with status {status[:40]}"
    found = _STATUS.search(error)
    code = int(found[1]) if found else None
    return (*items, out.AgentEnded(failed=True, error=error, status=code))


def _usage(of: Data, *, turns: int | None = None, duration_ms: int | None = None) -> Usage:
    """Return the figures of a step or a result; thoughts are part of the output."""
    usage = mapping(of.get("usage"))
    given, written = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
    cached, total = count(usage.get("cache_read_tokens")), count(usage.get("total_tokens"))
    if None not in (given, written) and total == (given or 0) + (written or 0):
        given = less(given, cached)
    return Usage(
        input_tokens=given,
        output_tokens=written,
        cache_read_tokens=cached,
        turns=turns,
        duration_ms=duration_ms,
    )


def _milliseconds(of: Data) -> int | None:
    seconds = amount(of.get("duration_seconds"))
    return None if seconds is None else round(seconds * 1000)
