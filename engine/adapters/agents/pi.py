"""Pi: `pi -p --mode json` prints a line for each event; session files have its messages.

`turn_end` and `agent_end` repeat the messages: each is read in `message_end`. By the source
of version 0.73.
"""

import re

from sprintlog.usage import Usage, known_sum

from . import items
from .values import (
    Data,
    amount,
    command_of,
    count,
    exit_code_at_end,
    mapping,
    objects,
    text,
    texts,
    tokens_in,
)

_EVENT = re.compile(
    r"(?:agent|auto_retry|compaction|message|queue|tool_execution|turn)_(?:end|start|update)"
)
_ENTRY = {"id", "parentId", "timestamp"}
"""The keys of all lines of a session file after the first one."""
_STATUS = re.compile(r"(?:Error: )?(\d{3})\b")


def read(message: Data) -> items.Items | None:
    """Return the items of a line; None if it is not one of Pi's."""
    kind, inner = text(message.get("type")), mapping(message.get("message"))
    if kind == "session" and "cwd" in message and text(message.get("id")):
        return (items.Session(text(message.get("id"))),)
    if kind in ("message", "message_end") and text(inner.get("role")):
        return _message(inner, text(message.get("timestamp")) or None)
    is_other = _EVENT.fullmatch(kind) or (kind and message.keys() >= _ENTRY)
    return () if is_other else None


def _message(message: Data, at: str | None) -> items.Items:
    role, content = message.get("role"), message.get("content")
    blocks = objects(content)
    words = "\n".join(texts([text(content), *(one.get("text") for one in blocks)]))
    if role == "user":
        return (items.Prompted(words, at),) if words else ()
    if role == "toolResult":
        failed = message.get("isError") is True
        code = exit_code_at_end(words) if failed else None
        key = text(message.get("toolCallId")) or None
        return (items.Returned(key, not failed, code, at=at),)
    if role != "assistant":
        return ()
    model = text(message.get("responseModel")) or text(message.get("model")) or None
    key, at_ms = text(message.get("responseId")), count(message.get("timestamp"))
    used = _usage(mapping(message.get("usage")))
    is_unique, key = bool(key), key or str(at_ms or "")
    found: list[items.Item] = [
        items.Used(
            used, items.FigureSpan.CALL, key or None, model=model, is_unique=is_unique
        )
    ]
    if words:
        found.append(items.Said(words))
    for call in blocks:
        if call.get("type") == "toolCall":
            key, given = text(call.get("id")), mapping(call.get("arguments"))
            tool, command = text(call.get("name")), command_of(given)
            found.append(items.Called(key or None, tool, command, at=at, given=given))
    return (*found, *_ended(message))


def _ended(message: Data) -> items.Items:
    reason, error = text(message.get("stopReason")), text(message.get("errorMessage"))
    if reason in ("", "toolUse"):
        return ()
    if reason == "stop":
        return (items.AgentEnded(),)
    found = _STATUS.match(error)
    why, status = error or f"the agent ended with {reason[:40]}", found and int(found[1])
    is_stopped = reason == "aborted"
    return (items.AgentEnded(failed=True, error=why, status=status, is_stopped=is_stopped),)


def _usage(usage: Data) -> Usage:
    """Return the figures of a message; a cost of 0 is that of a model without a price."""
    tokens = tokens_in(usage, "input", "output", "cacheRead", "cacheWrite")
    cost = amount(mapping(usage.get("cost")).get("total")) or None
    return known_sum([tokens, Usage(cost_usd=cost)])
