"""An event that a hook and a transcript report is recorded once, in the order of time."""

import json
import os
import time
from datetime import datetime
from itertools import chain
from os import urandom
from pathlib import Path

import pytest

from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.adapters.hooks.transcript_calls import (
    KeptCall,
    TranscriptCalls,
    session_in,
)
from sprintlog.engine.log.stores import open_log, wall_clock
from sprintlog.engine.service.agent_sessions.hook import take_hook
from sprintlog.engine.service.agent_sessions.reconcile import take_calls
from sprintlog.engine.sessions.events import ToolCalled
from sprintlog.engine.sessions.names import session_stream

from .conftest import FIXTURES, events_of

NOW = "2026-11-22T12:00:00Z"
PROMPT, CALL, TURN = "prompt-given", "tool-called", "turn-ended"
EVENTS = {
    "claude-2.1.330-transcript": [PROMPT, *[CALL] * 6, TURN, PROMPT, TURN],
    "claude-2.1.197-transcript": [PROMPT, *[CALL] * 6, TURN],
    "claude-2.1.197-killed-transcript": [PROMPT, CALL, CALL],
    "codex-rollout": [PROMPT, *[CALL] * 4, TURN],
    "codex-rollout-file-changes": [PROMPT, *[CALL] * 2, TURN],
    "gemini-session": [PROMPT, *[CALL] * 3, TURN],
    "copilot-events": [PROMPT, *[CALL] * 3, TURN, "session-ended"],
    "droid-session": [PROMPT, CALL, CALL, TURN],
    "antigravity-transcript": [PROMPT, CALL, CALL, TURN],
}
"""The events of each transcript after the start of the session."""
BOTH = {
    "claude-2.1.330": ("claude-2.1.330-transcript", "2026-11-22T10:14:04Z"),
    "claude-2.1.197": ("claude-2.1.197-transcript", "2026-11-22T09:40:09Z"),
    "codex-0.169.0": ("codex-rollout", "2026-11-22T09:43:59Z"),
    "copilot-1.0.102": ("copilot-events", "2026-11-22T09:49:17Z"),
}
"""The hooks and the transcript of the same run, and its time."""


def lines_of(name: str) -> list[bytes]:
    """Return the lines of a recorded transcript."""
    (file,) = FIXTURES.glob(f"[at]*/{name}.jsonl")
    return file.read_bytes().splitlines(keepends=True)


def read(name: str, lines: list[bytes] | None = None) -> tuple[str, TranscriptCalls]:
    """Return the session's stream and the events of a recorded transcript."""
    agent = name.partition("-")[0]
    whole = lines_of(name)
    session = "c-1" if agent == "antigravity" else session_in(agent, whole)[0]
    stream = session_stream(agent, session)
    told = TranscriptCalls(agent, stream, HookPlace("/w/shop"))
    told.take(whole if lines is None else lines)
    return stream, told


def record(log: Path, name: str, lines: list[bytes] | None = None) -> int:
    """Record a transcript's events; return the number of new ones."""
    stream, told = read(name, lines)
    kept = [*told.events, *([told.last] if told.last else [])]
    opened = open_log(str(log / "log.db"), clock=wall_clock, entropy=urandom)
    try:
        return take_calls(opened, stream, kept, is_over=False, now=NOW).recorded
    finally:
        opened.close()


def hooks(log: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the hooks of a run, all at the given time."""
    seconds = datetime.fromisoformat(BOTH[name][1]).timestamp()
    monkeypatch.setattr(time, "time_ns", lambda: int(seconds) * 10**9)
    for line in (FIXTURES / "hooks" / f"{name}.jsonl").read_bytes().splitlines():
        take_hook(
            name.partition("-")[0],
            line,
            start=log.parent,
            folder=None,
            safe=log / "none",
            environment=os.environ,
        )
    monkeypatch.undo()


@pytest.mark.parametrize("name", EVENTS)
def test_a_transcript_has_the_events_of_its_session(name: str) -> None:
    """A transcript contains the start, prompts, calls and ends of turns, in order."""
    _, told = read(name)
    events = [
        one.call if isinstance(one, KeptCall) else one.event
        for one in chain(told.events, filter(None, [told.last]))
    ]
    assert [event.type for event in events] == ["session-started", *EVENTS[name]]


@pytest.mark.parametrize("name", ["antigravity-transcript", "droid-session"])
def test_calls_of_agents_without_hooks(name: str) -> None:
    """The calls have their commands, files and outcomes."""
    _, told = read(name)
    create, test = (kept.call for kept in told.calls.values())
    assert [(x.path, x.change) for x in create.files] == [
        ("/tree/a.txt", None if name == "droid-session" else "changed")
    ]
    assert (create.ok, test.command, test.ok) == (True, "make test", False)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("first", ["hooks", "transcript"])
def test_hooks_and_transcript_record_once(
    log: Path, name: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever comes first, each event of the session is recorded once."""
    transcript = BOTH[name][0]
    if first == "transcript":
        record(log, transcript)
    hooks(log, name, monkeypatch)
    record(log, transcript)
    types = [event.type for event in events_of(log) if event.type != CALL]
    wanted = ["session-started", *EVENTS[transcript]]
    for one in {PROMPT, TURN, "session-started"}:
        assert types.count(one) == wanted.count(one), one
    calls = [json.loads(x.payload or b"") for x in events_of(log) if x.type == CALL]
    inputs = [x["input_sha256"] for x in calls if not x.get("subagent")]
    assert len(inputs) == wanted.count(CALL) or name.startswith("codex")
    assert record(log, transcript) == 0


@pytest.mark.parametrize("name", EVENTS)
def test_a_transcript_read_line_by_line(log: Path, name: str) -> None:
    """Reading a transcript as it grows records the same events as reading it once."""
    whole = lines_of(name)
    for end in range(1, len(whole) + 1):
        record(log, name, whole[:end])
    _, told = read(name)
    open_calls = [x for x in told.calls.values() if x.call.is_unfinished]
    types = [event.type for event in events_of(log)]
    wanted = ["session-started", *EVENTS[name]][: -len(open_calls) or None]
    assert types == wanted
    assert record(log, name) == 0
    assert record(log, name, whole[:3]) == 0


@pytest.mark.parametrize("agent", ["antigravity", "claude", "codex", "copilot", "droid"])
def test_hostile_lines(log: Path, agent: str) -> None:
    """Lines of any JSON, and lines that are not JSON, record nothing."""
    odd = [b"[1]\n", b"{}\n", b"\xff\n", b'{"type":"message","message":[]}\n', b"null\n"]
    odd += [b'{"type":"user","message":{"content":7},"sessionId":"s","timestamp":8}\n']
    odd += [b'{"type":"PLANNER_RESPONSE","step_index":1,"tool_calls":[{"args":7}]}\n']
    told = TranscriptCalls(agent, session_stream(agent, "other"), HookPlace())
    told.take(odd)
    moments = [x.event.type for x in told.events if not isinstance(x, KeptCall)]
    assert moments == ["session-started"] * (agent == "antigravity")
    if agent != "antigravity":
        assert session_in(agent, odd)[0] in ("", "s")


def test_an_interrupted_turn_has_failed() -> None:
    """A turn that the user interrupts, which no hook reports, ends as failed."""
    line = {
        "type": "user",
        "sessionId": "s",
        "timestamp": "2026-11-22T10:00:00Z",
        "message": {"content": "[Request interrupted by user]"},
    }
    told = TranscriptCalls("claude", "session/claude-s", HookPlace())
    told.take([json.dumps(line).encode()])
    assert told.last is not None
    assert getattr(told.last.event, "failed", None) is True
    assert not [x for x in told.calls.values() if isinstance(x.call, ToolCalled)]
