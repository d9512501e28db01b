"""Antigravity CLI: `agy -p --output-format stream-json` prints a line for each event.

With `json`, it prints only the object from the stream's last line. Its exit status is 0
even if it fails; the field `status` states the outcome. The format of transcripts is known
from descriptions by third parties.
"""

import re
from collections import deque

from sprintlog.usage import Usage

from . import items as out
from . import values as v

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "total_tokens")

_EVENTS = ("init", "step_update", "result")
_SUCCESS = ("SUCCESS", "OK")
_STATUS = re.compile(r"\(code (\d{3})\)")
"""The HTTP status in an error message."""
_REQUEST = re.compile(r"(?s)<USER_REQUEST>\s*(.*?)\s*</USER_REQUEST>")
"""The user's words in a prompt, which also contains settings."""


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
    return (called, out.Returned(key, state == "DONE", duration_ms=_milliseconds(step)))


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


class TranscriptSteps:
    """Reads the lines of a transcript, which name neither the session nor the calls.

    Each result of a tool is a separate step, in the order of the calls.
    """

    def __init__(self) -> None:
        self._open = deque[str]()

    def __call__(self, message: v.Data) -> out.Items | None:
        """Return the items in a line; None if it is not a step."""
        kind, index = v.text(message.get("type")), v.count(message.get("step_index"))
        at, said = v.word(message, "created_at"), v.text(message.get("content"))
        if not kind or index is None:
            return None
        if kind == "USER_INPUT":
            found = _REQUEST.search(said)
            return (out.Prompted(found[1] if found else said, at),) if said else ()
        if kind != "PLANNER_RESPONSE":
            is_result = message.get("source") == "MODEL" and self._open
            ok = message.get("status") != "ERROR"
            return (out.Returned(self._open.popleft(), ok, at=at),) if is_result else ()
        items: list[out.Item] = [out.Said(said)] if said else []
        calls = v.objects(message.get("tool_calls"))
        for number, call in enumerate(calls):
            key, tool = f"{index}.{number}", v.text(call.get("name"))
            given = {k: _unquoted(x) for k, x in v.inner(call, "args").items()}
            given["command"] = given.pop("CommandLine", None)
            items.append(v.called(key, tool, given, at=at))
            if path := v.text(given.get("TargetFile")):
                items.append(out.FileChanged(key, path, "changed"))
            self._open.append(key)
        return (*items, out.AgentEnded()) if said and not calls else tuple(items)


def _unquoted(value: object) -> object:
    """Return an argument, which some versions write as JSON in a string."""
    said = v.text(value)
    return v.text(v.parse(said.encode())) or said if said.startswith('"') else value
