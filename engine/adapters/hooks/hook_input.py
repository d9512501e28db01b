"""From what a hook was handed to the event of its session: the way in for hooks."""

import re
from datetime import UTC, datetime

import msgspec

from ... import hashes
from ...sessions import events
from ...sessions.compare import likeness
from ...sessions.names import AGENTS, key_of, session_stream
from ..agents.values import Data, parse, text
from ..transcripts.hook_calls import HookPlace, call_in, digest_of, word
from . import hook_input_forms as forms

HERE = HookPlace()


class OddHookError(ValueError):
    """What a hook was handed is not what an agent says."""


class HookHeard(msgspec.Struct, frozen=True):
    """What a hook told."""

    stream: str
    """That of its session."""
    event: events.SessionEvent | None
    """What happened; None for what is known, and said better by another hook."""
    key: str = ""
    """The same for the same event, by whatever way it is heard of."""
    counts: str = ""
    """The type of events whose number belongs to the key, where nothing else tells it
    from the same before the session was resumed."""
    likeness: str = ""
    """What a call has in common with those that a transcript or stream told of, where no
    id tells it."""
    said_ms: int | None = None
    """When that was by the agent's clock, in milliseconds since 1970."""


def hear_hook(agent: str, content: bytes, place: HookPlace = HERE) -> HookHeard:
    """Return what a hook of an agent was told; raise `OddHookError` for anything else."""
    if agent not in AGENTS:
        raise OddHookError("nobody knows this agent")
    found = parse(content)
    if not isinstance(found, dict):
        raise OddHookError("it is no JSON object")
    agent, message = forms.agent_of(found, agent), forms.one_form(found)
    session = text(message.get("session_id"))
    if not session:
        raise OddHookError("it names no session")
    name = text(message.get("hook_event_name"))
    moment = forms.MOMENTS.get(name)
    if moment is None:
        shown = re.sub(r"[^A-Za-z0-9._-]", "?", (word(name) or "")[:60])
        raise OddHookError(f"nobody knows its event {shown or 'without a name'}")
    stream = session_stream(agent, session)
    if moment == forms.PASSED:
        return HookHeard(stream, None)
    event = _event(moment, message, agent, place)
    parts, counts = _told_apart(event, message)
    like = likeness(agent, event) if isinstance(event, events.ToolCalled) else ""
    said = _milliseconds(message.get("timestamp"))
    said = said if said is not None and said < _NO_TIME_MS else None
    return HookHeard(stream, event, key_of(stream, event.type, *parts), counts, like, said)


def _event(moment: str, message: Data, agent: str, place: HookPlace) -> events.SessionEvent:
    transcript = text(message.get("transcript_path"))
    transcript = place.shown(transcript) if transcript else ""
    if moment in (forms.CALLED, forms.FAILED):
        return call_in(message, agent, place, failed=moment == forms.FAILED)
    if moment == forms.STARTED:
        return events.SessionStarted(
            how=word(message.get("source")),
            model=word(message.get("model")),
            version=word(message.get("version") or message.get("cursor_version")),
            transcript=transcript or None,
        )
    if moment == forms.PROMPTED:
        prompt = message.get("prompt")
        return events.PromptGiven(*_said(prompt))
    if moment in (forms.SUBAGENT, forms.SUBAGENT_ENDED):
        kind = events.SubagentStarted if moment == forms.SUBAGENT else events.SubagentEnded
        id_ = word(message.get("agent_id") or message.get("subagent_id"))
        role = word(message.get("agent_type") or message.get("subagent_type"))
        return kind(id_ or "unnamed", role)
    if moment == forms.COMPACTED:
        return events.ContextCompacted(word(message.get("trigger")))
    if moment == forms.ENDED:
        return events.SessionEnded(word(message.get("reason")))
    failed = moment == forms.TURN_FAILED or message.get("status") in ("error", "aborted")
    waits = message.get("background_tasks")
    words = message.get("last_assistant_message", message.get("prompt_response"))
    chars, digest = _said(words)
    return events.TurnEnded(
        failed=failed,
        error=word(message.get("error") or message.get("status")) if failed else None,
        waits_for=len(waits) if isinstance(waits, list) else 0,
        chars=chars,
        sha256=digest,
        transcript=transcript or None,
    )


def _said(words: object) -> tuple[int | None, str | None]:
    """Return how long words are, and their digest."""
    if not isinstance(words, str):
        return None, None
    said = text(words)
    return len(said), hashes.sha256(said.encode()).hexdigest()


def _told_apart(
    event: events.SessionEvent, message: Data
) -> tuple[tuple[object, ...], str]:
    """Return what tells an event from all others of its type in its session."""
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
    return (digest_of(message),), ""


_NO_TIME_MS = 253_402_300_800_000
"""The year 10000."""
_TURNS = ("prompt_id", "turn_id", "generation_id")


def _milliseconds(value: object) -> int | None:
    """Return a time as milliseconds since 1970, as agents write it in two ways."""
    if type(value) is int and 0 < value < 2**53:
        return value
    try:
        time = datetime.fromisoformat(text(value))
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        return round(time.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
