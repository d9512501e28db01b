"""A call reported by a hook and by the stream of `run` or `wrap` is one event."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import OutputReader
from sprintlog.engine.adapters.hooks.hook_calls import HookPlace
from sprintlog.engine.adapters.hooks.transcript_calls import KeptCall, StreamCalls
from sprintlog.engine.service.agent_sessions.hook import take_hook
from sprintlog.engine.service.agent_sessions.reconcile import OneRun, Taken, take_calls
from sprintlog.projections.workspace import Workspace

from .conftest import FIXTURES, events_of

STREAMS = {
    "claude-2.1.197": 7,
    "claude-2.1.330": 7,
    "codex-0.169.0": 2,
    "copilot-1.0.102": 3,
    "gemini-0.61.0": 2,
    "opencode-1.18.33": 3,
}
"""The records of agents, and the number of calls in hooks and stream.

Those of Codex, Copilot and opencode are of one run, line for line.
"""
OTHER_RUNS = ("claude", "gemini-0.61.0")
RUN = OneRun("work-1", 0)
Heard = tuple[str, list[KeptCall]]


def heard(agent: str) -> Heard:
    """Return the session and the calls of an agent's recorded stream."""
    calls = StreamCalls()
    hearing = OutputReader(also=calls.take)
    recorded = FIXTURES / "hooks" / "streams" / f"{agent}.jsonl"
    if agent.startswith("gemini-0.61.0"):
        recorded = FIXTURES / "agents" / "gemini-stream.jsonl"
    hearing.feed(recorded.read_bytes())
    _, activity = hearing.heard()
    ((stream, kept),) = calls.sessions(activity.agent, HookPlace("/w/shop")).items()
    return stream, kept


def hooks(agent: str) -> list[bytes]:
    """Return the recorded hooks of calls.

    If they are of another run they have the ids of the stream's session and calls.
    """
    folder, name = "hooks", agent
    if agent.startswith("opencode"):
        folder, name = "agents", "opencode-plugin"
    lines = (FIXTURES / folder / f"{name}.jsonl").read_bytes().splitlines()
    said = [message for message in map(json.loads, lines) if _is_call(message)]
    if not agent.startswith(OTHER_RUNS):
        return [json.dumps(message).encode() for message in said]
    stream, kept = heard(agent)
    if agent.startswith("gemini-0.61.0"):
        given = [{"file_path": "a.txt"}, {"command": "exit 3"}]
        said = [{**x, "tool_input": y} for x, y in zip(said, given, strict=False)]
    session = stream.partition("-")[2]
    return [
        json.dumps(_meant(message, session, call)).encode()
        for message, call in _paired(said, kept)
    ]


def _is_call(message: dict[str, Any]) -> bool:
    name = str(message.get("hook_event_name", ""))
    is_plugins = message.get("k") == "after"
    return name.startswith(("PostToolUse", "AfterTool")) or (
        is_plugins or "toolResult" in message
    )


def _paired(
    said: list[dict[str, Any]], kept: list[KeptCall]
) -> Iterator[tuple[dict[str, Any], KeptCall]]:
    """Yield each hook with the stream's report of the same call."""
    left = [*kept]
    for message in said:
        command = message["tool_input"].get("command")
        one = next(x for x in left if x.call.command == command)
        left.remove(one)
        yield message, one


def _meant(message: dict[str, Any], session: str, kept: KeptCall) -> dict[str, Any]:
    at = {"timestamp": kept.at} if "timestamp" in message else {}
    if "tool_use_id" in message:
        message = {**message, "tool_use_id": kept.call.call}
    return {**message, "session_id": session, **at}


@pytest.fixture
def tell(folder: Path, log: Path) -> Callable[[str, list[bytes]], None]:
    """Return a function that records a run's hooks."""

    def record(agent: str, told: list[bytes]) -> None:
        for content in told:
            take_hook(
                agent.partition("-")[0],
                content,
                start=folder,
                folder=None,
                safe=folder / "safe",
                environment={**os.environ, "SPRINTLOG_CORRELATION": RUN.work},
            )

    return record


def listen(folder: Path, agent: str) -> Taken:
    """Record the calls of the stream that the hooks did not report."""
    stream, kept = heard(agent)
    with Workspace.open(folder) as workspace:
        now = workspace.now()
        return take_calls(workspace.log, stream, kept, is_over=True, now=now, run=RUN)


def calls(log: Path) -> list[dict[str, Any]]:
    """Return the calls in a log."""
    found = [event for event in events_of(log) if event.type == "tool-called"]
    return [json.loads(event.payload or b"") for event in found]


Tell = Callable[[str, list[bytes]], None]


@pytest.mark.parametrize("agent", STREAMS)
def test_what_hooks_told_a_stream_tells_once_more(
    folder: Path, log: Path, tell: Tell, agent: str
) -> None:
    """If hooks reported all calls, the stream adds nothing."""
    told = hooks(agent)
    assert len(told) == STREAMS[agent]
    tell(agent, told)
    taken = listen(folder, agent)
    assert (taken.seen, taken.recorded) == (STREAMS[agent], 0)
    assert all("found_in" not in call for call in calls(log))


@pytest.mark.parametrize("agent", STREAMS)
def test_a_stream_told_first_leaves_nothing_to_late_hooks(
    folder: Path, log: Path, tell: Tell, agent: str
) -> None:
    """A hook that is heard after its run's end records no second event."""
    taken = listen(folder, agent)
    assert (taken.seen, taken.taken, taken.recorded) == (0, STREAMS[agent], STREAMS[agent])
    tell(agent, hooks(agent))
    assert [call["found_in"] for call in calls(log)] == ["stream"] * STREAMS[agent]
    assert listen(folder, agent).recorded == 0


@pytest.mark.parametrize("agent", STREAMS)
def test_a_stream_brings_what_hooks_missed(
    folder: Path, log: Path, tell: Tell, agent: str
) -> None:
    """If hooks reported only the first call, each call is still one event."""
    tell(agent, hooks(agent)[:1])
    taken = listen(folder, agent)
    assert (taken.seen, taken.recorded) == (1, STREAMS[agent] - 1)
    assert len(calls(log)) == STREAMS[agent]


def test_the_same_command_in_a_later_run_is_another_call(folder: Path, log: Path) -> None:
    """Codex restarts its counters in each run, so an earlier run's calls do not match."""
    assert listen(folder, "codex-0.169.0").recorded == 2
    stream, kept = heard("codex-0.169.0")
    with Workspace.open(folder) as workspace:
        since = workspace.log.head().position
        later = OneRun("work-2", since)
        now = workspace.now()
        found = take_calls(workspace.log, stream, kept, is_over=True, now=now, run=later)
    assert (found.recorded, len(calls(log))) == (2, 4)


def test_a_call_like_a_taken_one_is_recorded_when_it_is_made_later(
    folder: Path, log: Path, tell: Tell
) -> None:
    """Gemini's hooks contain no call id, so only a call at the same time matches."""
    listen(folder, "gemini-0.61.0")
    said = json.loads(hooks("gemini-0.61.0")[1])
    tell(
        "gemini-0.61.0",
        [json.dumps({**said, "timestamp": "2026-01-15T09:00:09.000Z"}).encode()],
    )
    assert [call.get("found_in") for call in calls(log)] == ["stream", "stream", None]


def test_what_a_stream_tells_is_masked_and_has_no_contents(folder: Path, log: Path) -> None:
    """Commands have no secrets, and no event has the contents of a file."""
    token = "ghp_" + "a1" * 18
    line = {
        "type": "tool_use",
        "sessionID": "ses_9",
        "part": {
            "tool": "bash",
            "callID": "c-1",
            "state": {"status": "completed", "input": {"command": f"curl -H {token} x"}},
        },
    }
    write = {**line, "part": {**line["part"], "tool": "write", "callID": "c-2"}}  # type: ignore[dict-item]
    write["part"]["state"] = {  # type: ignore[index]
        "status": "completed",
        "input": {"filePath": "/t/a.txt", "content": "the contents"},
    }
    told = StreamCalls()
    hearing = OutputReader(also=told.take)
    hearing.feed(json.dumps(line).encode() + b"\n" + json.dumps(write).encode() + b"\n")
    agent = hearing.heard()[1].agent
    ((stream, kept),) = told.sessions(agent, HookPlace("/t")).items()
    with Workspace.open(folder) as workspace:
        take_calls(workspace.log, stream, kept, is_over=True, now=workspace.now(), run=RUN)
    first, second = calls(log)
    assert first["command"].startswith("curl -H ")
    assert token not in json.dumps(first)
    assert second["files"][0]["path"] == "a.txt"
    assert "the contents" not in json.dumps(second)
