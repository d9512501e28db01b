"""Claude Code, and other commands that print Claude Code messages.

`--output-format json` prints the result, or a list of all messages; `stream-json` prints
one message per line. A run may have several results, one per turn. A transcript on disk
contains the same messages under other names, but no result.
"""

import re

from msgspec.structs import replace

from sprintlog.usage import Usage, known_sum

from . import items as out
from . import values as v

_RESULT_KEYS = {
    *("duration_ms", "is_error", "modelUsage", "num_turns", "result", "subtype"),
    *("total_cost_usd", "usage"),
}
_OF_MODEL = (
    *("inputTokens", "outputTokens"),
    *("cacheReadInputTokens", "cacheCreationInputTokens"),
)
_REMARK = "[ede_diagnostic]"
_CONTEXT = re.compile(r"\[[0-9]+[a-z]\]$")
"""The context size behind a model's name, such as `[1m]`."""
_NO_MODEL = "<synthetic>"
"""The model of messages that the program itself creates, such as error messages."""
_ENDS = {"end_turn", "stop_sequence"}
"""The reasons for which a model stops when it has finished."""
_INTERRUPTED = "[Request interrupted by user"
"""The start of the message that records an interruption by the user."""


def read(message: v.Data) -> out.Items | None:
    """Return the items in a message; None if it is not a Claude Code message."""
    if (kind := message.get("type")) == "result" and not _RESULT_KEYS.isdisjoint(message):
        return _result(message)
    if kind == "progress" and isinstance(v.inner(message, "data").get("message"), dict):
        return _progress(message)
    is_kept = bool(v.text(message.get("sessionId")))
    if is_kept and isinstance(message.get("forkedFrom"), dict):
        # A copy of a line of the session that this one was forked from.
        return ()
    session = _session(message)
    if kind == "assistant" and isinstance(message.get("message"), dict):
        return (*session, *_assistant(message, is_kept=is_kept))
    if kind == "user" and isinstance(message.get("message"), dict):
        return (*session, *_user(message))
    if kind == "rate_limit_event":
        return (*session, *_limited(v.inner(message, "rate_limit_info")))
    if "message" in message and not isinstance(message["message"], dict):
        return None
    if v.text(kind) and (v.text(message.get("session_id")) or is_kept):
        # A note from the program.
        took = v.count(message.get("durationMs"))
        if took is None or message.get("subtype") != "turn_duration":
            return session
        key = v.word(message, "uuid")
        turn = out.Used(Usage(duration_ms=took), out.FigureSpan.TURN, key, is_unique=True)
        return (*_named_session(message), turn)
    return None


def _progress(message: v.Data) -> out.Items:
    """Return the items in a progress message, which repeats a message from a subagent."""
    data = v.inner(message, "data")
    named = {name: message.get(name) for name in ("sessionId", "version")}
    by = {"isSidechain": True, "agentId": data.get("agentId")}
    return read({**v.inner(data, "message"), **named, **by}) or ()


def _limited(info: v.Data) -> out.Items:
    """Return a refusal if a usage limit has been reached; ignore warnings."""
    if v.text(info.get("status")) != "rejected":
        return ()
    until = v.count(info.get("resetsAt"))
    return (out.Refused("rate_limit", f"resetsAt: {until}" if until is not None else ""),)


def _session(message: v.Data) -> out.Items:
    """Return the session named by a transcript line or by the first line of a stream."""
    if v.text(message.get("sessionId")) and message.get("type") in ("assistant", "user"):
        return _named_session(message)
    if message.get("subtype") != "init":
        return ()
    version, model = v.word(message, "claude_code_version"), _named(message.get("model"))
    return (out.Session(v.text(message.get("session_id")), version, model),)


def _named_session(message: v.Data) -> out.Items:
    return (out.Session(v.text(message["sessionId"]), v.word(message, "version")),)


def _result(message: v.Data) -> out.Items:
    subtype, final = v.text(message.get("subtype")), message.get("result")
    error = None
    failed = message.get("is_error") is True or subtype.startswith("error")
    if failed:
        error = v.text(final).strip() or _reason(message) or subtype
    turns, took, part, status = v.counts(
        message, "num_turns", "duration_ms", "result_index", "api_error_status"
    )
    turn = Usage(turns=turns, duration_ms=took)
    cost = v.amount(message.get("total_cost_usd", message.get("cost_usd")))
    named, session = v.inner(message, "modelUsage"), v.text(message.get("session_id"))
    models = v.objects(list(named.values()))
    total = known_sum(v.tokens(model, *_OF_MODEL) for model in models)
    if not models:
        # Only for the turn, and without subagents; older versions state nothing else.
        turn = known_sum([turn, v.tokens(v.inner(message, "usage"), *v.TOKENS)])
    key = v.word(message, "uuid") if part is None else session
    final_words = v.text(final) if isinstance(final, str) else None
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


def _reason(message: v.Data) -> str:
    """Return the reason why a run without an answer failed; omit internal diagnostics."""
    errors = [one for one in v.texts(message.get("errors")) if not one.startswith(_REMARK)]
    if errors:
        return "; ".join(errors)
    ended = (v.text(message.get(name)) for name in ("subtype", "terminal_reason"))
    return ": ".join(filter(None, ended))


def _assistant(message: v.Data, *, is_kept: bool) -> out.Items:
    inner = v.inner(message, "message")
    usage = v.inner(inner, "usage")
    stopped = v.text(inner.get("stop_reason"))
    # The number of output tokens is a placeholder until the answer is complete.
    model = _named(inner.get("model"))
    used = v.tokens(usage if stopped else {**usage, "output_tokens": None}, *v.TOKENS)
    key, by = v.word(inner, "id"), _subagent(message)
    if is_kept and by is None and model is not None:
        used = replace(used, turns=1)
    items: list[out.Item] = [
        out.Used(used, out.FigureSpan.CALL, key, model=model, by=by, is_unique=True)
    ]
    items += _content(inner.get("content"), by=by, at=v.word(message, "timestamp"))
    if by is None and (refused := v.text(message.get("error"))):
        items.append(out.Refused(refused))
    # A transcript has no other end marker; a stream's result follows.
    if is_kept and by is None and stopped in _ENDS:
        items.append(out.AgentEnded())
    return tuple(items)


def _subagent(message: v.Data) -> str | None:
    """Return the subagent that a message belongs to; None for the main agent."""
    if called_by := v.text(message.get("parent_tool_use_id")):
        return called_by
    is_side = message.get("isSidechain") is True
    return (v.text(message.get("agentId")) or "subagent") if is_side else None


def _content(content: object, *, by: str | None, at: str | None) -> list[out.Item]:
    if isinstance(content, str):
        return [out.Said(v.text(content))] if v.text(content) and by is None else []
    items: list[out.Item] = []
    for block in v.objects(content):
        if block.get("type") == "text" and v.text(block.get("text")):
            if by is None:
                items.append(out.Said(v.text(block.get("text"))))
        elif block.get("type") == "tool_use":
            key, tool = v.word(block, "id"), v.text(block.get("name"))
            items.append(v.called(key, tool, v.inner(block, "input"), by=by, at=at))
    return items


def _user(message: v.Data) -> out.Items:
    """Return the user's prompt or the tool results in a message."""
    content = v.inner(message, "message").get("content")
    at = v.word(message, "timestamp")
    if isinstance(content, str):
        if _subagent(message) is None and content.startswith(_INTERRUPTED):
            return (out.STOPPED_BY_USER,)
        # The program itself writes the others, such as the feedback of hooks.
        is_users = message.get("isMeta") is not True and _subagent(message) is None
        is_prompt = is_users and bool(content.strip())
        return (out.Prompted(v.text(content), at),) if is_prompt else ()
    items: list[out.Item] = []
    for block in v.objects(content):
        is_own = block.get("type") == "text" and _subagent(message) is None
        if is_own and v.text(block.get("text")).startswith(_INTERRUPTED):
            items.append(out.STOPPED_BY_USER)
        if block.get("type") == "tool_result":
            key, failed = v.word(block, "tool_use_id"), block.get("is_error") is True
            output = "\n".join(_words(block.get("content")))
            code = v.exit_code_in(output) if failed else None
            items.append(out.Returned(key, not failed, code, at=at))
            result = message.get("toolUseResult", message.get("tool_use_result"))
            items += v.changed_by_patch(key, v.mapping(result))
    return tuple(items)


def _words(content: object) -> list[str]:
    if isinstance(content, str):
        return [v.text(content)]
    return [v.text(block.get("text")) for block in v.objects(content)]


def _canonical(name: str, about: object) -> str | None:
    return _named(v.mapping(about).get("canonicalModel")) or _named(name)


def _named(name: object) -> str | None:
    """Return a model's name without its context size."""
    found = _CONTEXT.sub("", v.text(name))
    return None if found == _NO_MODEL else found or None
