"""Codex: the events printed by `codex exec --json`, and the transcripts of threads.

A transcript is named `rollout-….jsonl`. Until mid-2025, its lines contained only the
payloads, without times.
"""

import re

from sprintlog.usage import Usage

from . import items as out
from . import values as v

_TOKENS = (
    *("input_tokens", "output_tokens"),
    *("cached_input_tokens", "cache_write_input_tokens"),
)
_FAMILIES = ("item.", "thread.", "turn.")
_NO_TOOLS = {"agent_message", "error", "reasoning", "todo_list"}
"""Items that are not tool calls; items of the type `error` are warnings."""


def read(message: v.Data) -> out.Items | None:
    """Return the items in a line; None if it is not a Codex line."""
    if (kind := v.text(message.get("type"))) == "error" and v.text(message.get("message")):
        # Also printed for a lost connection that is retried; the last event is decisive.
        return (out.failed(v.text(message.get("message"))),)
    if kind == "agent-turn-complete" and v.text(message.get("thread-id")):
        return _notified(message)
    if not kind.startswith(_FAMILIES):
        return None
    if kind == "thread.started":
        return (out.Session(v.text(message.get("thread_id"))),)
    if kind == "turn.completed":
        # Despite its name, it covers the thread so far.
        used = usage_of(v.inner(message, "usage"))
        return (out.Used(used, out.FigureSpan.SESSION), out.AgentEnded())
    if kind == "turn.failed":
        return (out.failed(v.word(v.inner(message, "error"), "message")),)
    return _item(v.inner(message, "item"), is_whole=kind == "item.completed")


def _notified(message: v.Data) -> out.Items:
    """Return the items in the JSON that Codex passes to its `notify` command."""
    return (
        out.Session(v.text(message.get("thread-id"))),
        *(out.Prompted(one) for one in v.texts(message.get("input-messages"))),
        out.AgentEnded(v.word(message, "last-assistant-message")),
    )


def _item(item: v.Data, *, is_whole: bool) -> out.Items:
    kind = v.text(item.get("type"))
    if kind == "agent_message" and is_whole and v.text(item.get("text")):
        return (out.Said(v.text(item.get("text"))),)
    if not kind or kind in _NO_TOOLS:
        return ()
    key = v.word(item, "id")
    call = out.Called(key, v.text(item.get("tool")) or kind, v.command_of(item))
    if not is_whole:
        return (call,)
    return (
        call,
        out.Returned(key, _is_completed(item), v.integer(item.get("exit_code"))),
        *(
            out.FileChanged(key, path, v.kind_of(change.get("kind")))
            for change in v.objects(item.get("changes"))
            if (path := v.text(change.get("path")))
        ),
    )


def _is_completed(item: v.Data) -> bool | None:
    return item.get("status") == "completed" if v.text(item.get("status")) else None


def usage_of(usage: v.Data) -> Usage:
    """Return the token counts reported by Codex, whose input includes cached tokens."""
    given, written, cached, kept = v.counts(usage, *_TOKENS)
    return Usage(v.less(given, cached), written, cached, kept)


_LINES = {
    *("compacted", "event_msg", "response_item", "session_meta"),
    *("token_usage_record", "turn_context", "world_state"),
}
_CALLS = {"custom_tool_call", "function_call", "local_shell_call"}
_ANSWERS = {"custom_tool_call_output", "function_call_output"}
_ITSELF = re.compile(r"^<\w+>")
"""The tag with which Codex marks its own additions to the prompt."""


def read_rollout(message: v.Data) -> out.Items | None:
    """Return the items in a line; None if it is not a rollout line."""
    kind = v.text(message.get("type"))
    if kind not in _LINES or not isinstance(message.get("payload"), dict):
        return _bare(message, kind)
    payload, at = v.inner(message, "payload"), v.word(message, "timestamp")
    if kind == "session_meta":
        return (_session(payload, forked_at=at if payload.get("forked_from_id") else None),)
    if kind == "turn_context":
        turn, model = v.text(payload.get("turn_id")), v.word(payload, "model")
        return (out.Used(Usage(), out.FigureSpan.TURN, turn, model=model),)
    if kind == "response_item":
        return _response(payload, at)
    return _event(payload, at) if kind == "event_msg" else ()


def _session(payload: v.Data, *, forked_at: str | None = None) -> out.Session:
    session, version = v.text(payload.get("id")), v.word(payload, "cli_version")
    commit = v.word(v.inner(payload, "git"), "commit_hash")
    return out.Session(session, version, commit=commit, forked_at=forked_at)


def _bare(message: v.Data, kind: str) -> out.Items | None:
    if not kind and {"id", "timestamp", "instructions"} <= message.keys():
        return (_session(message),)
    kinds = {v.text(one.get("type")) for one in v.objects(message.get("content"))}
    is_message = kind == "message" and not kinds.isdisjoint(("input_text", "output_text"))
    if is_message or (kind in _CALLS | _ANSWERS and "call_id" in message):
        items = _response(message, None)
        # An answer without a call is the only marker of a turn's end.
        is_answer = any(isinstance(item, out.Said) for item in items)
        return (*items, out.AgentEnded()) if is_answer else items
    is_known = "summary" in message if kind == "reasoning" else "record_type" in message
    return () if is_known else None


def _response(payload: v.Data, at: str | None) -> out.Items:
    kind, key = v.text(payload.get("type")), v.word(payload, "call_id")
    if kind in _CALLS:
        given = v.mapping(v.parse(v.text(payload.get("arguments")).encode()))
        given = given or v.inner(payload, "action")
        given = given or {"patch": v.text(payload.get("input"))}
        return (v.called(key, v.text(payload.get("name")) or kind, given, at=at),)
    if kind in _ANSWERS:
        output = v.text(payload.get("output"))
        about = v.mapping(v.mapping(v.parse(output.encode())).get("metadata"))
        code = v.integer(about.get("exit_code"))
        code = v.exit_code_in(output) if code is None else code
        # An unknown tool is reported only in the text.
        ok = False if output.startswith("unsupported ") else None
        return (out.Returned(key, ok if code is None else code == 0, code, at=at),)
    if kind != "message":
        return ()
    said = "".join(v.text(one.get("text")) for one in v.objects(payload.get("content")))
    if payload.get("role") == "assistant" and said:
        return (out.Said(said),)
    is_prompt = payload.get("role") == "user" and said and not _ITSELF.match(said)
    return (out.Prompted(said, at),) if is_prompt else ()


def _event(payload: v.Data, at: str | None) -> out.Items:
    if (kind := v.text(payload.get("type"))) == "item_completed":
        return _rollout_item(v.inner(payload, "item"), payload, at)
    if kind == "token_count":
        return _counted(v.inner(payload, "info"))
    if kind == "task_complete":
        took = Usage(duration_ms=v.count(payload.get("duration_ms")))
        said = payload.get("last_agent_message")
        ended = out.AgentEnded(v.text(said) if isinstance(said, str) else None)
        return (out.Used(took, out.FigureSpan.TURN, v.word(payload, "turn_id")), ended)
    if kind == "turn_aborted":
        if (reason := v.text(payload.get("reason"))) == "interrupted":
            return (out.STOPPED_BY_USER,)
        return (out.failed(reason),)
    return (out.failed(v.word(payload, "message")),) if kind == "error" else ()


def _counted(info: v.Data) -> out.Items:
    """Return the last model call, identified by the thread's total after that call."""
    total, last = v.inner(info, "total_token_usage"), info.get("last_token_usage")
    if not isinstance(last, dict):
        return (out.Used(usage_of(total), out.FigureSpan.SESSION),) if total else ()
    key = "/".join(map(str, v.counts(total, "input_tokens", "output_tokens")))
    return (out.Used(usage_of(last), out.FigureSpan.CALL, key),)


def _rollout_item(item: v.Data, payload: v.Data, at: str | None) -> out.Items:
    kind, key = v.text(item.get("type")), v.word(item, "id")
    if kind == "CommandExecution":
        seconds, nanos = v.counts(v.inner(item, "duration"), "secs", "nanos")
        took = seconds * 1000 + (nanos or 0) // 1_000_000 if seconds is not None else None
        code = v.integer(item.get("exit_code"))
        return (out.Returned(key, _is_completed(item), code, took, at),)
    if kind != "FileChange":
        return ()
    took = v.between(*v.counts(payload, "started_at_ms", "completed_at_ms"))
    ok = item.get("status") == "completed"
    items: list[out.Item] = [out.Returned(key, ok, None, took, at)]
    for path, one in v.inner(item, "changes").items():
        change = v.mapping(one)
        what = v.kind_of(change.get("type"))
        if isinstance(change.get("unified_diff"), str):
            items.append(v.changed_by_diff(key, v.text(path), what, change["unified_diff"]))
        else:
            lines = v.line_count(v.text(change.get("content")))
            changed = (0, lines) if what == "deleted" else (lines, 0)
            items.append(out.FileChanged(key, v.text(path), what, *changed))
    return tuple(items)
