"""Conversion of an agent's hook input into an event of the agent's session.

Input from any agent is first normalized to Claude Code's format, which most agents already
use, though with different event names. Copilot also has a camel-case format that does not
name the event; opencode uses its plugin format.
"""

import re
from datetime import UTC, datetime

import msgspec

from ... import hashes
from ...masking import cut, mask
from ...sessions import events
from ...sessions.names import AGENTS, key_of, session_stream
from ...sessions.summary import likeness
from ..agents.values import Data, count, mapping, parse, text
from .hook_calls import HookPlace, call_in, digest_of, word

STARTED, PROMPTED, CALLED, FAILED, TURN = "start", "prompt", "call", "failed call", "turn"
SUBAGENT, SUBAGENT_ENDED, COMPACTED, ENDED = "subagent", "subagent end", "compact", "end"
TURN_FAILED, PASSED = "failed turn", "passed"

MOMENTS = {
    **dict.fromkeys(("SessionStart", "sessionStart"), STARTED),
    **dict.fromkeys(
        ("UserPromptSubmit", "BeforeAgent", "beforeSubmitPrompt", "userPromptSubmitted"),
        PROMPTED,
    ),
    **dict.fromkeys(("PostToolUse", "AfterTool", "postToolUse"), CALLED),
    **dict.fromkeys(("PostToolUseFailure", "postToolUseFailure"), FAILED),
    **dict.fromkeys(("SubagentStart", "subagentStart"), SUBAGENT),
    **dict.fromkeys(("SubagentStop", "subagentStop"), SUBAGENT_ENDED),
    **dict.fromkeys(("PreCompact", "preCompact"), COMPACTED),
    **dict.fromkeys(("Stop", "AfterAgent", "stop", "agentStop"), TURN),
    **dict.fromkeys(("StopFailure", "errorOccurred", "Interrupt"), TURN_FAILED),
    **dict.fromkeys(("SessionEnd", "sessionEnd"), ENDED),
    # Events before an action contain less than those after it; the rest are duplicates.
    **dict.fromkeys(
        (
            *("PreToolUse", "preToolUse", "BeforeTool", "PostToolBatch", "PostCompact"),
            *("PreCompress", "BeforeModel", "AfterModel", "BeforeToolSelection"),
            *("PermissionRequest", "permissionRequest", "PermissionDenied"),
            *("Notification", "notification", "InstructionsLoaded", "CwdChanged"),
            *("afterFileEdit", "afterShellExecution", "beforeShellExecution"),
            *("beforeReadFile", "beforeMCPExecution", "afterMCPExecution"),
            *("afterAgentResponse", "afterAgentThought"),
        ),
        PASSED,
    ),
}
"""The moments that agents' hook events mark, by event name."""
_RENAMED = {
    "sessionId": "session_id",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_result",
    "transcriptPath": "transcript_path",
    "stopReason": "stop_reason",
    "agentId": "agent_id",
    "agentName": "agent_type",
}
_BUS = {
    "session.created": "SessionStart",
    "session.idle": "Stop",
    "session.error": "StopFailure",
    "session.compacted": "PreCompact",
    "session.deleted": "SessionEnd",
}

HERE = HookPlace()
_NO_TIME_MS = 253_402_300_800_000
"""The year 10000: later timestamps are ignored."""
_OF_SUBAGENTS = {
    PROMPTED: SUBAGENT,
    **dict.fromkeys((TURN, TURN_FAILED, ENDED), SUBAGENT_ENDED),
}
_TURNS = ("prompt_id", "turn_id", "generation_id")


class OddHookError(ValueError):
    """The hook input has an unknown format."""


class HookHeard(msgspec.Struct, frozen=True):
    """The content of one hook call."""

    stream: str
    """The stream of the session."""
    event: events.SessionEvent | None
    """The event; None for a known one that another hook reports in more detail."""
    key: str = ""
    """The idempotency key, which is the same for all of the event's sources."""
    counts: str = ""
    """The type of events whose count belongs to the key, if nothing else distinguishes
    the event from an identical one before the session was resumed."""
    likeness: str = ""
    """The property that identifies the event in a transcript or stream if it has no id."""
    said_ms: int | None = None
    """The time according to the agent, in milliseconds since 1970."""


def one_form(message: Data) -> Data:
    """Return hook input with the field names that most agents use."""
    if text(message.get("k")):
        return _of_plugin(message)
    if "sessionId" not in message:
        if "session_id" not in message and "conversation_id" in message:
            return {**message, "session_id": message["conversation_id"]}
        return message
    same = {_RENAMED.get(name, name): value for name, value in message.items()}
    return {**same, "hook_event_name": _unnamed(message)}


def agent_of(message: Data, told: str) -> str:
    """Return the agent that ran the hook; some agents run other agents' hooks."""
    if text(message.get("k")):
        return "opencode"
    if "sessionId" in message or "tool_result" in message or "initial_prompt" in message:
        return "copilot"
    if "conversation_id" in message and "session_id" not in message:
        return "cursor"
    event, is_dated = text(message.get("hook_event_name")), "timestamp" in message
    if is_dated and event in ("BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool"):
        return "gemini"
    if is_dated and told == "claude":
        # Claude Code states no time; Copilot runs Claude's hooks in trusted folders.
        return "copilot"
    return "codex" if "turn_id" in message and "model" in message else told


def _unnamed(message: Data) -> str:
    """Infer the event from the fields of Copilot input that does not name it."""
    if text(message.get("hookName")):
        return text(message["hookName"])
    if "toolName" in message:
        if "toolResult" in message:
            return "postToolUse"
        return "postToolUseFailure" if "error" in message else "preToolUse"
    for name, event in (
        ("initialPrompt", "sessionStart"),
        ("source", "sessionStart"),
        ("prompt", "userPromptSubmitted"),
        ("stopReason", "agentStop"),
        ("error", "errorOccurred"),
        ("reason", "sessionEnd"),
        ("trigger", "preCompact"),
    ):
        if name in message:
            return event
    return ""


def _of_plugin(message: Data) -> Data:
    """Return the input from opencode's plugin: `k` is the kind, and `t` is the time."""
    kind, said = text(message.get("k")), mapping(message.get("o"))
    time = {"timestamp": message.get("t")}
    if kind == "after":
        given, gave = mapping(said.get("i")), mapping(said.get("o"))
        return {
            "hook_event_name": "PostToolUse",
            "session_id": given.get("sessionID"),
            "tool_name": given.get("tool"),
            "tool_input": given.get("args"),
            "tool_use_id": given.get("callID"),
            "tool_response": gave,
            **time,
        }
    if kind == "chat":
        session = mapping(said.get("i")).get("sessionID")
        return {"hook_event_name": "UserPromptSubmit", "session_id": session, **time}
    if kind != "event":
        return {"hook_event_name": "PreToolUse", "session_id": "-"}
    of = mapping(said.get("properties"))
    info = mapping(of.get("info"))
    found = _BUS.get(text(said.get("type")), "PreToolUse")
    return {
        "hook_event_name": found,
        "session_id": text(of.get("sessionID")) or text(info.get("id")) or "-",
        "source": "startup",
        "version": info.get("version"),
        "error": text(mapping(of.get("error")).get("name")),
        **({"timestamp": count(message.get("t"))} if found != "PreToolUse" else {}),
    }


def hear_hook(agent: str, content: bytes, place: HookPlace = HERE) -> HookHeard:
    """Return an agent's hook input, decoded; raise `OddHookError` if it is invalid."""
    if agent not in AGENTS:
        raise OddHookError("unknown agent")
    if len(content) > hashes.LITTLE_BYTES:
        hashes.hash_much()
    found = parse(content)
    if not isinstance(found, dict):
        raise OddHookError("not a JSON object")
    agent, message = agent_of(found, agent), one_form(found)
    if not (session := text(message.get("session_id"))):
        raise OddHookError("it names no session")
    name = text(message.get("hook_event_name"))
    if (moment := MOMENTS.get(name)) is None:
        shown = re.sub(r"[^A-Za-z0-9._-]", "?", (word(name) or "")[:60])
        raise OddHookError(f"unknown event {shown or 'without a name'}")
    if parent := text(message.get("parentAgentId")):
        # A subagent of Copilot reports its work as another session.
        session, moment = parent, _OF_SUBAGENTS.get(moment, moment)
    stream = session_stream(agent, session)
    if moment == PASSED:
        return HookHeard(stream, None)
    event = event_in(moment, message, agent, place)
    parts, counts = _told_apart(event, message)
    like = likeness(agent, event)
    said = _milliseconds(message.get("timestamp"))
    said = said if said is not None and said < _NO_TIME_MS else None
    return HookHeard(stream, event, key_of(stream, event.type, *parts), counts, like, said)


def event_in(
    moment: str, message: Data, agent: str, place: HookPlace
) -> events.SessionEvent:
    """Return the event in a hook message in the common format."""
    transcript = text(message.get("transcript_path"))
    transcript = place.shown(transcript) if transcript else ""
    turn = next((word(message[n]) for n in _TURNS if message.get(n)), None)
    if moment in (CALLED, FAILED):
        call = call_in(message, agent, place, failed=moment == FAILED)
        return msgspec.structs.replace(call, turn=turn)
    if moment == STARTED:
        return events.SessionStarted(
            how=word(message.get("source")),
            model=word(message.get("model")),
            version=word(message.get("version") or message.get("cursor_version")),
            transcript=transcript or None,
        )
    if moment == PROMPTED:
        return events.PromptGiven(
            *_said(prompt := message.get("prompt")), _kind(prompt), _text(prompt), turn
        )
    if moment in (SUBAGENT, SUBAGENT_ENDED):
        kind = events.SubagentStarted if moment == SUBAGENT else events.SubagentEnded
        id_ = word(message.get("agent_id") or message.get("subagent_id"))
        role = word(message.get("agent_type") or message.get("subagent_type"))
        return kind(id_ or "unnamed", role)
    if moment == COMPACTED:
        return events.ContextCompacted(word(message.get("trigger")))
    if moment == ENDED:
        return events.SessionEnded(word(message.get("reason")))
    failed = moment == TURN_FAILED or message.get("status") in ("error", "aborted")
    waits = message.get("background_tasks")
    words = message.get("last_assistant_message", message.get("prompt_response"))
    chars, digest = _said(words)
    return events.TurnEnded(
        failed=failed,
        error=word(message.get("error") or message.get("status")) if failed else None,
        waits_for=len(waits) if isinstance(waits, list) else 0,
        chars=chars,
        sha256=digest,
        text=_text(words),
        turn=turn,
        is_again=message.get("stop_hook_active") is True,
        transcript=transcript or None,
    )


def _said(words: object) -> tuple[int | None, str | None]:
    """Return a string's length and digest; None for any other value."""
    if not isinstance(words, str):
        return None, None
    said = text(words)
    return len(said), hashes.sha256(said.encode()).hexdigest()


def _text(words: object) -> str | None:
    """Return the recorded part of a message, with secrets masked; None without a text."""
    if not isinstance(words, str):
        return None
    said, most = text(words), events.TEXT_CHARS_MAX
    if len(said) > 2 * most:
        said = f"{cut(said[: 4 * most], most)}\n…\n{mask(said[-4 * most :])[-most:]}"
    return mask(said)


def _kind(prompt: object) -> str | None:
    """Return the command at the start of a prompt, or `task-notification`, or None."""
    said = text(prompt)[: events.NAME_CHARS_MAX].lstrip()
    if said.startswith(f"<{events.TASK_NOTIFICATION}>"):
        return events.TASK_NOTIFICATION
    found = re.match(r"/[a-z][a-z0-9:_-]{0,40}(?=\s|$)", said)
    return word(found[0]) if found else None


def _told_apart(
    event: events.SessionEvent, message: Data
) -> tuple[tuple[object, ...], str]:
    """Return the values that distinguish an event from similar events in a session."""
    at = _milliseconds(message.get("timestamp"))
    if isinstance(event, events.ToolCalled):
        if event.call:
            return (event.call,), ""
        return (event.input_sha256, at if at is not None else digest_of(message)), ""
    if (
        isinstance(event, events.SubagentStarted | events.SubagentEnded)
        and event.subagent != "unnamed"
    ):
        return (event.subagent,), ""
    if at is not None:
        return (at,), ""
    turn = next((text(message[n]) for n in _TURNS if text(message.get(n))), "")
    if isinstance(event, events.SessionStarted):
        is_resumed = event.how not in (None, "startup", "new")
        return (event.how,), events.PromptGiven.type if is_resumed else ""
    if isinstance(event, events.SessionEnded):
        return ((turn,), "") if turn else ((event.reason,), events.SessionStarted.type)
    if isinstance(event, events.PromptGiven) and turn:
        return (turn, event.sha256), ""
    # An agent that has to go on may answer with the same words after more calls.
    counts = events.ToolCalled.type if isinstance(event, events.TurnEnded) else ""
    return (digest_of(message),), counts


def _milliseconds(value: object) -> int | None:
    """Return a time, given in ISO 8601 or as a number, in milliseconds since 1970."""
    if type(value) is int and 0 < value < 2**53:
        return value
    try:
        time = datetime.fromisoformat(text(value))
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        return round(time.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
