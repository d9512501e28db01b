"""Pi: `pi -p --mode json` prints a line for each event; session files contain its messages.

Messages are read from `message_end`, because `turn_end` and `agent_end` repeat them. This
module is based on the source of version 0.73.
"""

import re

from sprintlog.usage import Usage, known_sum

from . import items
from . import values as v

_EVENT = re.compile(
    r"(?:agent|auto_retry|compaction|message|queue|tool_execution|turn)_(?:end|start|update)"
)
_ENTRY = {"id", "parentId", "timestamp"}
"""The keys of all lines in a session file except the first line."""
_STATUS = re.compile(r"(?:Error: )?(\d{3})\b")


def read(message: v.Data) -> items.Items | None:
    """Return the items in a line; None if it is not a Pi line."""
    kind, inner = v.text(message.get("type")), v.inner(message, "message")
    if kind == "session" and "cwd" in message and v.text(message.get("id")):
        return (items.Session(v.text(message.get("id"))),)
    if kind in ("message", "message_end") and v.text(inner.get("role")):
        return _message(inner, v.word(message, "timestamp"))
    is_other = _EVENT.fullmatch(kind) or (kind and message.keys() >= _ENTRY)
    return () if is_other else None


def _message(message: v.Data, at: str | None) -> items.Items:
    role, content = message.get("role"), message.get("content")
    blocks = v.objects(content)
    words = "\n".join(v.texts([v.text(content), *(one.get("text") for one in blocks)]))
    if role == "user":
        return (items.Prompted(words, at),) if words else ()
    if role == "toolResult":
        failed = message.get("isError") is True
        code = v.exit_code_at_end(words) if failed else None
        return (items.Returned(v.word(message, "toolCallId"), not failed, code, at=at),)
    if role != "assistant":
        return ()
    model = v.word(message, "responseModel") or v.word(message, "model")
    key, at_ms = v.text(message.get("responseId")), v.count(message.get("timestamp"))
    used = _usage(v.inner(message, "usage"))
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
            tool, given = v.text(call.get("name")), v.inner(call, "arguments")
            found.append(v.called(v.word(call, "id"), tool, given, at=at))
    return (*found, *_ended(message))


def _ended(message: v.Data) -> items.Items:
    reason, error = v.text(message.get("stopReason")), v.text(message.get("errorMessage"))
    if reason in ("", "toolUse"):
        return ()
    if reason == "stop":
        return (items.AgentEnded(),)
    found = _STATUS.match(error)
    why, status = error or f"the agent ended with {reason[:40]}", found and int(found[1])
    is_stopped = reason == "aborted"
    return (items.AgentEnded(failed=True, error=why, status=status, is_stopped=is_stopped),)


def _usage(usage: v.Data) -> Usage:
    """Return a message's figures; a cost of 0 means that the model has no price."""
    tokens = v.tokens_in(usage, "input", "output", "cacheRead", "cacheWrite")
    cost = v.amount(v.inner(usage, "cost").get("total")) or None
    return known_sum([tokens, Usage(cost_usd=cost)])
