"""Codex: the events that `codex exec --json` prints, and the transcript of a thread.

The transcript is `rollout-….jsonl`. Until the summer of 2025 its lines were bare: the
payloads alone, without a time.
"""

import re

from sprintlog.usage import Usage

from . import items as out
from .values import (
    Data,
    changed_by_diff,
    command_of,
    count,
    exit_code_in,
    kind_of,
    less,
    line_count,
    mapping,
    objects,
    parse,
    text,
    texts,
)

_FAMILIES = ("item.", "thread.", "turn.")
_NO_TOOLS = {"agent_message", "error", "reasoning", "todo_list"}
"""Items that are no call of a tool; those named error are warnings."""


def read(message: Data) -> out.Items | None:
    """Return the items of a line; None if it is not one of Codex's."""
    kind = text(message.get("type"))
    if kind == "error" and text(message.get("message")):
        # Also printed for a lost connection that is retried: the last event decides.
        return (out.AgentEnded(failed=True, error=text(message.get("message"))),)
    if kind == "agent-turn-complete" and text(message.get("thread-id")):
        return _notified(message)
    if not kind.startswith(_FAMILIES):
        return None
    if kind == "thread.started":
        return (out.Session(text(message.get("thread_id"))),)
    if kind == "turn.completed":
        # Despite its name it is of the thread so far.
        used = usage_of(mapping(message.get("usage")))
        return (out.Used(used, out.FigureSpan.SESSION), out.AgentEnded())
    if kind == "turn.failed":
        error = text(mapping(message.get("error")).get("message"))
        return (out.AgentEnded(failed=True, error=error or None),)
    return _item(mapping(message.get("item")), is_whole=kind == "item.completed")


def _notified(message: Data) -> out.Items:
    """Return the items that Codex passes to the command of its setting `notify`."""
    said = text(message.get("last-assistant-message"))
    return (
        out.Session(text(message.get("thread-id"))),
        *(out.Prompted(one) for one in texts(message.get("input-messages"))),
        out.AgentEnded(said or None),
    )


def _item(item: Data, *, is_whole: bool) -> out.Items:
    kind = text(item.get("type"))
    if kind == "agent_message" and is_whole and text(item.get("text")):
        return (out.Said(text(item.get("text"))),)
    if not kind or kind in _NO_TOOLS:
        return ()
    key = text(item.get("id")) or None
    tool = text(item.get("tool")) or kind
    called = out.Called(key, tool, command_of(item))
    if not is_whole:
        return (called,)
    exit_code = item.get("exit_code")
    items: list[out.Item] = [called]
    items.append(
        out.Returned(
            key,
            ok=item.get("status") == "completed" if text(item.get("status")) else None,
            exit_code=exit_code if type(exit_code) is int else None,
        )
    )
    items += [
        out.FileChanged(key, text(change.get("path")), kind_of(change.get("kind")))
        for change in objects(item.get("changes"))
        if text(change.get("path"))
    ]
    return tuple(items)


def usage_of(usage: Data) -> Usage:
    """Return the token counts of Codex; cached tokens are included in the input."""
    cached = count(usage.get("cached_input_tokens"))
    return Usage(
        input_tokens=less(count(usage.get("input_tokens")), cached),
        output_tokens=count(usage.get("output_tokens")),
        cache_read_tokens=cached,
        cache_creation_tokens=count(usage.get("cache_write_input_tokens")),
    )


_LINES = {
    "compacted",
    "event_msg",
    "response_item",
    "session_meta",
    "token_usage_record",
    "turn_context",
    "world_state",
}
_CALLS = {"custom_tool_call", "function_call", "local_shell_call"}
_ANSWERS = {"custom_tool_call_output", "function_call_output"}
_ITSELF = re.compile(r"^<\w+>")
"""Codex marks its own additions to the prompt with a tag."""


def read_rollout(message: Data) -> out.Items | None:
    """Return the items of a line; None if it is not one of a rollout."""
    kind = text(message.get("type"))
    if kind not in _LINES or not isinstance(message.get("payload"), dict):
        return _bare(message, kind)
    payload, at = mapping(message.get("payload")), text(message.get("timestamp")) or None
    if kind == "session_meta":
        return (_session(payload, forked_at=at if payload.get("forked_from_id") else None),)
    if kind == "turn_context":
        model = text(payload.get("model")) or None
        return (
            out.Used(
                Usage(), out.FigureSpan.TURN, text(payload.get("turn_id")), model=model
            ),
        )
    if kind == "response_item":
        return _response(payload, at)
    return _event(payload, at) if kind == "event_msg" else ()


def _session(payload: Data, *, forked_at: str | None = None) -> out.Session:
    version = text(payload.get("cli_version")) or None
    commit = text(mapping(payload.get("git")).get("commit_hash")) or None
    return out.Session(
        text(payload.get("id")), version, commit=commit, forked_at=forked_at or None
    )


def _bare(message: Data, kind: str) -> out.Items | None:
    if not kind and {"id", "timestamp", "instructions"} <= message.keys():
        return (_session(message),)
    kinds = {text(one.get("type")) for one in objects(message.get("content"))}
    is_message = kind == "message" and not kinds.isdisjoint(("input_text", "output_text"))
    if is_message or (kind in _CALLS | _ANSWERS and "call_id" in message):
        items = _response(message, None)
        # It has no other mark of the end of a turn than an answer without a call.
        is_answer = any(isinstance(item, out.Said) for item in items)
        return (*items, out.AgentEnded()) if is_answer else items
    is_known = "summary" in message if kind == "reasoning" else "record_type" in message
    return () if is_known else None


def _response(payload: Data, at: str | None) -> out.Items:
    kind, key = text(payload.get("type")), text(payload.get("call_id")) or None
    if kind in _CALLS:
        given = mapping(parse(text(payload.get("arguments")).encode()))
        given = given or mapping(payload.get("action"))
        tool, command = text(payload.get("name")) or kind, command_of(given)
        given = given or {"patch": text(payload.get("input"))}
        return (out.Called(key, tool, command, at=at, given=given),)
    if kind in _ANSWERS:
        output = text(payload.get("output"))
        about = mapping(mapping(parse(output.encode())).get("metadata"))
        code = about.get("exit_code")
        code = code if type(code) is int else exit_code_in(output)
        # An unknown tool is reported only in the text.
        ok = False if output.startswith("unsupported ") else None
        return (out.Returned(key, ok if code is None else code == 0, code, at=at),)
    if kind != "message":
        return ()
    said = "".join(text(one.get("text")) for one in objects(payload.get("content")))
    if payload.get("role") == "assistant" and said:
        return (out.Said(said),)
    is_prompt = payload.get("role") == "user" and said and not _ITSELF.match(said)
    return (out.Prompted(said, at),) if is_prompt else ()


def _event(payload: Data, at: str | None) -> out.Items:
    kind = text(payload.get("type"))
    if kind == "item_completed":
        return _rollout_item(mapping(payload.get("item")), payload, at)
    if kind == "token_count":
        return _counted(mapping(payload.get("info")))
    if kind == "task_complete":
        took = Usage(duration_ms=count(payload.get("duration_ms")))
        turn = text(payload.get("turn_id")) or None
        said = payload.get("last_agent_message")
        ended = out.AgentEnded(text(said) if isinstance(said, str) else None)
        return (out.Used(took, out.FigureSpan.TURN, turn), ended)
    if kind == "turn_aborted":
        if (reason := text(payload.get("reason"))) == "interrupted":
            return (out.STOPPED_BY_USER,)
        return (out.AgentEnded(failed=True, error=reason or None),)
    if kind == "error":
        return (out.AgentEnded(failed=True, error=text(payload.get("message")) or None),)
    return ()


def _counted(info: Data) -> out.Items:
    """Return the last call of a model: the total after it identifies it in its thread."""
    total, last = mapping(info.get("total_token_usage")), info.get("last_token_usage")
    if not isinstance(last, dict):
        return (out.Used(usage_of(total), out.FigureSpan.SESSION),) if total else ()
    counts = (count(total.get(name)) for name in ("input_tokens", "output_tokens"))
    return (out.Used(usage_of(last), out.FigureSpan.CALL, "/".join(map(str, counts))),)


def _rollout_item(item: Data, payload: Data, at: str | None) -> out.Items:
    kind, key = text(item.get("type")), text(item.get("id")) or None
    if kind == "CommandExecution":
        code = item.get("exit_code")
        lasted = mapping(item.get("duration"))
        seconds, nanos = count(lasted.get("secs")), count(lasted.get("nanos"))
        took = seconds * 1000 + (nanos or 0) // 1_000_000 if seconds is not None else None
        exit_code = code if type(code) is int else None
        ok = item.get("status") == "completed" if text(item.get("status")) else None
        return (out.Returned(key, ok, exit_code, took, at),)
    if kind != "FileChange":
        return ()
    began, ended = (
        count(payload.get("started_at_ms")),
        count(payload.get("completed_at_ms")),
    )
    took = ended - began if began is not None and ended is not None else None
    items: list[out.Item] = [
        out.Returned(key, item.get("status") == "completed", None, took, at)
    ]
    for path, one in mapping(item.get("changes")).items():
        change = mapping(one)
        what = kind_of(change.get("type"))
        if isinstance(change.get("unified_diff"), str):
            items.append(changed_by_diff(key, text(path), what, change["unified_diff"]))
        else:
            lines = line_count(text(change.get("content")))
            is_gone = what == "deleted"
            counts = (0, lines) if is_gone else (lines, 0)
            items.append(out.FileChanged(key, text(path), what, *counts))
    return tuple(items)
