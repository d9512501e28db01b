"""Claude Code, and the command lines that print its messages.

`--output-format json` prints the result, or a list of all messages; `stream-json` prints
one message per line. A run may have several results, each of one turn. A transcript on disk
has the same messages under other names, and no result.
"""

import re

from sprintlog.usage import Usage, known_sum

from . import items as out
from .values import (
    Data,
    amount,
    changed_by_patch,
    command_of,
    count,
    exit_code_in,
    mapping,
    objects,
    text,
    texts,
)

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


_REMARK = "[ede_diagnostic]"
_CONTEXT = re.compile(r"\[[0-9]+[a-z]\]$")
"""`[1m]` behind a model's name: so many tokens it may hold."""
_NO_MODEL = "<synthetic>"
"""Of messages that the program itself makes, such as those on errors."""
_ENDS = {"end_turn", "stop_sequence"}
"""Why the model stops when it has nothing more to do."""
_INTERRUPTED = "[Request interrupted by user"
"""How the program records that its user stopped the agent."""


def read(message: Data) -> out.Items | None:
    """Return the items of a message; None if it is not a message of Claude Code."""
    kind = message.get("type")
    if kind == "result" and not _RESULT_KEYS.isdisjoint(message):
        return _result(message)
    if kind == "progress" and isinstance(mapping(message.get("data")).get("message"), dict):
        return _progress(message)
    is_kept = bool(text(message.get("sessionId")))
    if is_kept and isinstance(message.get("forkedFrom"), dict):
        # A copy of a line of the session that this one was forked from.
        return ()
    session = _session(message)
    if kind == "assistant" and isinstance(message.get("message"), dict):
        return (*session, *_assistant(message, is_kept=is_kept))
    if kind == "user" and isinstance(message.get("message"), dict):
        return (*session, *_user(message))
    if kind == "rate_limit_event":
        return (*session, *_limited(mapping(message.get("rate_limit_info"))))
    if "message" in message and not isinstance(message["message"], dict):
        return None
    if text(kind) and (text(message.get("session_id")) or is_kept):
        # A remark of the program.
        took = count(message.get("durationMs"))
        if took is None or message.get("subtype") != "turn_duration":
            return session
        key = text(message.get("uuid")) or None
        turn = out.Used(Usage(duration_ms=took), out.FigureSpan.TURN, key, is_unique=True)
        return (*_named_session(message), turn)
    return None


def _progress(message: Data) -> out.Items:
    """Return the items of a subagent's message that is repeated while it works."""
    data = mapping(message.get("data"))
    named = {name: message.get(name) for name in ("sessionId", "version")}
    by = {"isSidechain": True, "agentId": data.get("agentId")}
    return read({**mapping(data.get("message")), **named, **by}) or ()


def _limited(info: Data) -> out.Items:
    """Return that a limit is reached; one that only comes near keeps nobody from work."""
    if text(info.get("status")) != "rejected":
        return ()
    until = count(info.get("resetsAt"))
    return (out.Refused("rate_limit", f"resetsAt: {until}" if until is not None else ""),)


def _session(message: Data) -> out.Items:
    """Return which session a line of a transcript, or the first one of a stream, is of."""
    if text(message.get("sessionId")) and message.get("type") in ("assistant", "user"):
        return _named_session(message)
    if message.get("subtype") != "init":
        return ()
    version = text(message.get("claude_code_version")) or None
    model = _named(message.get("model"))
    return (out.Session(text(message.get("session_id")), version, model),)


def _named_session(message: Data) -> out.Items:
    return (out.Session(text(message["sessionId"]), text(message.get("version")) or None),)


def _result(message: Data) -> out.Items:
    subtype, final = text(message.get("subtype")), message.get("result")
    error = None
    failed = message.get("is_error") is True or subtype.startswith("error")
    if failed:
        error = text(final).strip() or _reason(message) or subtype
    turn = Usage(
        turns=count(message.get("num_turns")), duration_ms=count(message.get("duration_ms"))
    )
    cost = amount(message.get("total_cost_usd", message.get("cost_usd")))
    models = objects(list(mapping(message.get("modelUsage")).values()))
    session = text(message.get("session_id"))
    if models:
        total = known_sum(_of_model(model) for model in models)
    else:
        # Of the turn alone, and without subagents; older versions say no more.
        total, turn = (Usage(), known_sum([turn, _of_usage(mapping(message.get("usage")))]))
    part = count(message.get("result_index"))
    key = text(message.get("uuid")) or None if part is None else session
    status = count(message.get("api_error_status"))
    final_words = text(final) if isinstance(final, str) else None
    named = mapping(message.get("modelUsage"))
    return (
        *((out.Session(session),) if session else ()),
        *(
            out.Used(Usage(), out.FigureSpan.CALL, model=_canonical(name, named[name]))
            for name in named
        ),
        out.Used(turn, out.FigureSpan.TURN, key, part),
        out.Used(known_sum([total, Usage(cost_usd=cost)]), out.FigureSpan.SESSION, session),
        out.AgentEnded(final_words, failed, error or None, status if failed else None),
    )


def _reason(message: Data) -> str:
    """Return why a run failed that has no last words, without remarks for its makers."""
    errors = [one for one in texts(message.get("errors")) if not one.startswith(_REMARK)]
    if errors:
        return "; ".join(errors)
    ended = (text(message.get(name)) for name in ("subtype", "terminal_reason"))
    return ": ".join(filter(None, ended))


def _assistant(message: Data, *, is_kept: bool) -> out.Items:
    inner = mapping(message.get("message"))
    usage = mapping(inner.get("usage"))
    stopped = text(inner.get("stop_reason"))
    # Before the answer is complete the number of its tokens is a placeholder.
    used = _of_usage(usage if stopped else {**usage, "output_tokens": None})
    model = _named(inner.get("model"))
    key = text(inner.get("id")) or None
    by = _subagent(message)
    items: list[out.Item] = [
        out.Used(used, out.FigureSpan.CALL, key, model=model, by=by, is_unique=True)
    ]
    items += _content(
        inner.get("content"), by=by, at=text(message.get("timestamp")) or None
    )
    if by is None and (refused := text(message.get("error"))):
        items.append(out.Refused(refused))
    # A transcript has no other word for its end; a stream's result comes after.
    if is_kept and by is None and stopped in _ENDS:
        items.append(out.AgentEnded())
    return tuple(items)


def _subagent(message: Data) -> str | None:
    """Return which subagent a message is of; None for the agent itself."""
    called_by = text(message.get("parent_tool_use_id"))
    is_side = message.get("isSidechain") is True
    return called_by or ((text(message.get("agentId")) or "subagent") if is_side else None)


def _content(content: object, *, by: str | None, at: str | None) -> list[out.Item]:
    if isinstance(content, str):
        return [out.Said(text(content))] if text(content) and by is None else []
    items: list[out.Item] = []
    for block in objects(content):
        if block.get("type") == "text" and text(block.get("text")):
            if by is None:
                items.append(out.Said(text(block.get("text"))))
        elif block.get("type") == "tool_use":
            given = mapping(block.get("input"))
            key, tool = text(block.get("id")) or None, text(block.get("name"))
            items.append(out.Called(key, tool, command_of(given), by, at, given))
    return items


def _user(message: Data) -> out.Items:
    """Return the prompt in a message, or the results of calls."""
    content = mapping(message.get("message")).get("content")
    at = text(message.get("timestamp")) or None
    if isinstance(content, str):
        if _subagent(message) is None and content.startswith(_INTERRUPTED):
            return (out.STOPPED_BY_USER,)
        is_prompt = _subagent(message) is None and bool(content.strip())
        return (out.Prompted(text(content), at),) if is_prompt else ()
    items: list[out.Item] = []
    for block in objects(content):
        is_own = block.get("type") == "text" and _subagent(message) is None
        if is_own and text(block.get("text")).startswith(_INTERRUPTED):
            items.append(out.STOPPED_BY_USER)
        if block.get("type") == "tool_result":
            key = text(block.get("tool_use_id")) or None
            failed = block.get("is_error") is True
            output = "\n".join(_words(block.get("content")))
            code = exit_code_in(output) if failed else None
            items.append(out.Returned(key, not failed, code, at=at))
            result = message.get("toolUseResult", message.get("tool_use_result"))
            items += changed_by_patch(key, mapping(result))
    return tuple(items)


def _words(content: object) -> list[str]:
    if isinstance(content, str):
        return [text(content)]
    return [text(block.get("text")) for block in objects(content)]


def _canonical(name: str, about: object) -> str | None:
    return _named(mapping(about).get("canonicalModel")) or _named(name)


def _named(name: object) -> str | None:
    """Return a model's name without the size of its context."""
    found = _CONTEXT.sub("", text(name))
    return None if found == _NO_MODEL else found or None


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
