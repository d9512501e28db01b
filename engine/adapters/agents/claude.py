"""Claude Code, and the command lines that print its messages.

`--output-format json` prints the result, or a list of all messages; `stream-json` prints
each message on a line of its own. One run may have several results, each of one turn.
"""

from ...iterations.events import Usage
from ...sprint.state.tree import Data
from .items import AgentEnded, Called, FigureSpan, Item, Items, Said, Used
from .values import amount, count, mapping, objects, text, texts, together

_RESULT_KEYS = {
    "duration_ms",
    "is_error",
    "modelUsage",
    "num_turns",
    "result",
    "subtype",
    "total_cost_usd",
    "usage",
}


def read(message: Data) -> Items | None:
    """Return what a message says; None when it is no message of Claude Code."""
    kind = message.get("type")
    if kind == "result" and not _RESULT_KEYS.isdisjoint(message):
        return _result(message)
    if kind == "assistant" and isinstance(message.get("message"), dict):
        return _assistant(message)
    if text(kind) and text(message.get("session_id")):
        # A prompt, a tool's result, a remark of the program.
        return ()
    return None


def _result(message: Data) -> Items:
    subtype, final = text(message.get("subtype")), message.get("result")
    error = None
    failed = message.get("is_error") is True or subtype.startswith("error")
    if failed:
        error = text(final).strip() or "; ".join(texts(message.get("errors"))) or subtype
    turn = Usage(
        turns=count(message.get("num_turns")), duration_ms=count(message.get("duration_ms"))
    )
    cost = amount(message.get("total_cost_usd", message.get("cost_usd")))
    models = objects(list(mapping(message.get("modelUsage")).values()))
    session = text(message.get("session_id"))
    if models:
        total = together(_of_model(model) for model in models)
    else:
        # Of the turn alone, and without subagents; older versions say no more.
        total, turn = Usage(), together([turn, _of_usage(mapping(message.get("usage")))])
    part = count(message.get("result_index"))
    key = text(message.get("uuid")) or None if part is None else session
    return (
        Used(turn, FigureSpan.TURN, key, part),
        Used(together([total, Usage(cost_usd=cost)]), FigureSpan.SESSION, session),
        AgentEnded(text(final) if isinstance(final, str) else None, failed, error or None),
    )


def _assistant(message: Data) -> Items:
    inner = mapping(message.get("message"))
    usage = mapping(inner.get("usage"))
    # Before the answer is complete the number of its tokens is a placeholder.
    is_whole = bool(text(inner.get("stop_reason")))
    used = _of_usage(usage if is_whole else {**usage, "output_tokens": None})
    items: list[Item] = [Used(used, FigureSpan.CALL, text(inner.get("id")) or None)]
    if message.get("parent_tool_use_id") is None:
        items += _content(inner.get("content"))
    return tuple(items)


def _content(content: object) -> list[Item]:
    if isinstance(content, str):
        return [Said(text(content))] if text(content) else []
    items: list[Item] = []
    for block in objects(content):
        if block.get("type") == "text" and text(block.get("text")):
            items.append(Said(text(block.get("text"))))
        elif block.get("type") == "tool_use":
            items.append(Called())
    return items


def _of_model(model: Data) -> Usage:
    return Usage(
        input_tokens=count(model.get("inputTokens")),
        output_tokens=count(model.get("outputTokens")),
        cache_read_tokens=count(model.get("cacheReadInputTokens")),
        cache_creation_tokens=count(model.get("cacheCreationInputTokens")),
    )


def _of_usage(usage: Data) -> Usage:
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=count(usage.get("cache_read_input_tokens")),
        cache_creation_tokens=count(usage.get("cache_creation_input_tokens")),
    )
