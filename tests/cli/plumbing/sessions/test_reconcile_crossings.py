"""`session reconcile` with other processes, clocks, and rollbacks."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs

from ...conftest import Run
from .reconciling import (
    FIXTURES,
    KILLED,
    beat,
    calls,
    hooks_of,
    ran_of,
    reconciled,
    session_in,
    tell,
    transcript_of,
)

pytestmark = pytest.mark.long

LATE = [
    ("copilot", "copilot-1.0.102", "copilot-events", 3),
    ("gemini", "gemini-0.61.0", "gemini-session", 3),
]
TOKEN = "ghp_" + "a1" * 18


def killed(folder: Path, done: Run) -> Path:
    """Return the transcript of a killed session that a sprint's work is linked to."""
    done("init")
    done("sprint", "create", "goal", "--goal", "g")
    done("sprint", "start", "--sprint", "goal")
    done("iteration", "start", "--sprint", "goal")
    file = transcript_of(folder, f"{KILLED}-transcript")
    tell(folder, "claude", hooks_of(KILLED, "claude"))
    beat(done)
    return file


def in_time(hooks: list[bytes], file: Path) -> Iterator[bytes]:
    """Yield the hooks of calls, each at the time of its call in the transcript."""
    ends: dict[str, str] = {}
    for line in file.read_bytes().splitlines():
        said = json.loads(line)
        for call in said.get("toolCalls", []):
            ends[json.dumps(call["args"], sort_keys=True)] = call["timestamp"]
        if said.get("type") == "tool.execution_start":
            given = json.dumps(said["data"]["arguments"], sort_keys=True)
            ends[given] = said["timestamp"]
    for content in hooks:
        said = json.loads(content)
        given = said.get("tool_input", said.get("toolArgs"))
        if "toolResult" not in said and said.get("hook_event_name") != "AfterTool":
            continue
        at = ends[json.dumps(given, sort_keys=True)]
        yield json.dumps({**said, "timestamp": at}).encode()


@pytest.mark.parametrize(("agent", "hooks", "transcript", "count"), LATE)
def test_a_late_hook_that_names_no_call_adds_none(
    sprint: Path, done: Run, agent: str, hooks: str, transcript: str, count: int
) -> None:
    """A call recorded from the transcript stays one event when its hook arrives."""
    file = transcript_of(sprint, transcript)
    told = hooks_of(hooks, agent, session=session_in(file))
    tell(sprint, agent, told[:1])
    assert reconciled(done, file, "--ended")["taken"] == count
    late = [*in_time(told, file)]
    assert len(late) == count
    tell(sprint, agent, late)
    assert len(calls(done)) == count
    # The same input at a different time is a different call.
    said = {**json.loads(late[0]), "timestamp": "2027-01-01T00:00:00.000Z"}
    tell(sprint, agent, [json.dumps(said).encode()])
    assert len(calls(done)) == count + 1


@pytest.mark.parametrize(
    ("agent", "transcript"),
    [("claude", "claude-2.1.330-transcript"), ("gemini", "gemini-session")],
)
def test_two_at_once_take_each_call_once(
    sprint: Path, done: Run, agent: str, transcript: str
) -> None:
    """Two concurrent processes record the same as a single one."""
    file = transcript_of(sprint, transcript)
    name = {"claude": "claude-2.1.330", "gemini": "gemini-0.61.0"}[agent]
    tell(sprint, agent, hooks_of(name, agent, session=session_in(file))[:1])
    words = ["session", "reconcile", "--transcript", str(file), "--ended", "--json"]
    command = [sys.executable, "-m", "sprintlog.cli", *words]
    several = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    answers = [json.loads(one.communicate()[0]) for one in several]
    assert [one.returncode for one in several] == [0] * 4
    found = calls(done)
    assert len(found) == len({call["call"] for call in found}) == answers[0]["calls"]
    assert sum(answer["recorded"] for answer in answers) == len(found) + len(ran_of(done))
    done("verify")


def test_hooks_beside_it_are_each_one_event(sprint: Path, done: Run) -> None:
    """A hook that is heard while its session is compared is recorded once."""
    file = transcript_of(sprint, "gemini-session")
    told = hooks_of("gemini-0.61.0", "gemini", session=session_in(file))
    tell(sprint, "gemini", told[:1])
    words = ["session", "reconcile", "--transcript", str(file), "--ended"]
    command = [sys.executable, "-m", "sprintlog.cli"]
    beside = subprocess.Popen([*command, *words], stdout=subprocess.PIPE)
    hooks = [
        subprocess.Popen([*command, "hook", "gemini"], stdin=subprocess.PIPE)
        for _ in range(3)
    ]
    for one, content in zip(hooks, in_time(told, file), strict=True):
        one.communicate(content)
    beside.communicate()
    assert len(calls(done)) == 3


def test_nothing_is_compared_where_recording_is_off(
    folder: Path, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SPRINTLOG_OFF it reports this, and the log is unchanged."""
    file = killed(folder, done)
    before = done("log", "--all", "--json").out
    monkeypatch.setenv("SPRINTLOG_OFF", "1")
    said = run("session", "reconcile", "--transcript", file, "--ended")
    assert (said.code, "nothing is recorded" in said.err) == (0, True)
    monkeypatch.delenv("SPRINTLOG_OFF")
    assert done("log", "--all", "--json").out == before


def test_a_rollback_takes_nothing_of_it_back(folder: Path, done: Run) -> None:
    """A session's actions and cost are knowledge that survives a rollback to the start."""
    file = killed(folder, done)
    done("rollback", "start", "--sprint", "goal", "--yes")
    answer = reconciled(done, file, "--ended")
    assert (answer["taken"], answer["input_tokens"]) == (1, 240)
    done("rollback", "start", "--sprint", "goal", "--yes")
    assert reconciled(done, file, "--ended")["recorded"] == 0
    assert len(calls(done)) == 2
    spent = done("status", "--sprint", "goal", "--json").json["spent"]
    assert (spent["input_tokens"], spent["output_tokens"]) == (240, 80)


def test_what_it_takes_is_masked(folder: Path, done: Run) -> None:
    """A secret in a command of the transcript is in no event, and no contents are."""
    file = killed(folder, done)
    text = file.read_text()
    said = [json.loads(line) for line in text.splitlines()]
    for line in said:
        for block in _blocks(line):
            if block.get("type") == "tool_use":
                block["input"] = {**block["input"], "command": f"curl -H {TOKEN} there"}
    file.write_text("".join(json.dumps(line) + "\n" for line in said))
    assert reconciled(done, file, "--ended")["taken"] == 1
    log = done("log", "--all", "--json").out
    assert TOKEN not in log
    assert "curl -H" in log


def _blocks(line: dict[str, Any]) -> list[dict[str, Any]]:
    content = line.get("message", {}).get("content")
    return [one for one in content if isinstance(one, dict)] if content else []


def test_a_subagents_calls_are_the_sessions(sprint: Path, done: Run) -> None:
    """Subagents' files next to a transcript are read with it, each call once."""
    file = transcript_of(sprint, "claude-2.1.197-transcript")
    session = session_in(file)
    beside = file.parent / file.stem / "subagents"
    beside.mkdir(parents=True)
    lines = (FIXTURES / "agents" / "claude-2.1.197-subagent.jsonl").read_text()
    said = [json.loads(line) for line in lines.splitlines()]
    own = [json.dumps({**line, "sessionId": session}) for line in said]
    (beside / "agent-1.jsonl").write_text("\n".join(own) + "\n")
    tell(sprint, "claude", hooks_of("claude-2.1.197", "claude", session=session)[:1])
    alone = sum(block.get("type") == "tool_use" for x in said for block in _blocks(x))
    assert alone
    answer = reconciled(done, file, "--ended")
    found = calls(done)
    assert len(found) == answer["calls"]
    assert sum("subagent" in call for call in found) == alone
    assert reconciled(done, file, "--ended")["recorded"] == 0


def test_a_session_resumed_the_next_day_brings_what_is_new(folder: Path, done: Run) -> None:
    """Additional data of the transcript is recorded: calls, and more tokens."""
    file = killed(folder, done)
    assert reconciled(done, file, "--ended")["taken"] == 1
    usage = {"input_tokens": 60, "output_tokens": 20}
    call = {
        "type": "tool_use",
        "id": "toolu_99",
        "name": "Bash",
        "input": {"command": "ls"},
    }
    answer = {"id": "msg_99", "stop_reason": "tool_use", "usage": usage, "content": [call]}
    line = {
        "type": "assistant",
        "sessionId": session_in(file),
        "timestamp": "2026-11-24T08:00:00.000Z",
        "message": answer,
    }
    with file.open("a") as kept:
        kept.write(json.dumps(line) + "\n")
    found = reconciled(done, file, "--ended")
    assert (found["calls"], found["taken"]) == (3, 2)
    assert len(calls(done)) == 3
    given = [ran["usage"]["input_tokens"] for ran in ran_of(done)]
    assert given == [240, 60]
    assert reconciled(done, file, "--ended")["recorded"] == 0


@pytest.mark.parametrize("at", ["2031-01-01T00:00:00Z", "yesterday", ""])
def test_clocks_that_differ_lose_nothing(folder: Path, done: Run, at: str) -> None:
    """A call is recorded at the agent's time, or now if that is invalid."""
    file = killed(folder, done)
    said = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**x, "timestamp": at}) + "\n" for x in said))
    assert reconciled(done, file, "--ended")["taken"] == 1
    events = done("log", "--all", "--type", "tool-called", "--json").lines
    (taken,) = [event for event in events if "found_in" in event["data"]]
    assert (
        taken["at"] == at if at.startswith("2031") else taken["at"] <= taken["recorded_at"]
    )
    assert reconciled(done, file, "--ended")["recorded"] == 0
    done("verify")


def test_a_folder_of_the_agents_that_a_variable_names(
    folder: Path, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transcript in CODEX_HOME or CLAUDE_CONFIG_DIR is the agent's, if it is absolute."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    done("init")
    for agent, name, transcript, variable in (
        ("claude", "claude-2.1.330", "claude-2.1.330-transcript", "CLAUDE_CONFIG_DIR"),
        ("codex", "codex-0.169.0", "codex-rollout", "CODEX_HOME"),
    ):
        file = elsewhere / f"{transcript}.jsonl"
        shutil.copy(FIXTURES / "agents" / file.name, file)
        first = json.loads(hooks_of(name, agent, session=session_in(file))[0])
        named = json.dumps({**first, "transcript_path": str(file)}).encode()
        tell(folder, agent, [named])
        assert f"is not in ~/.{agent}; " in run("session", "reconcile", agent).err
        monkeypatch.setenv(variable, str(elsewhere))
        assert done("session", "reconcile", agent, "--ended", "--json").json["taken"]
        monkeypatch.setenv(variable, "relative")
        assert f"is not in ~/.{agent}; " in run("session", "reconcile", agent).err


@needs.an_ordinary_user
def test_a_log_that_cannot_be_written_stays_as_it_is(
    folder: Path, done: Run, run: Run
) -> None:
    """One line reports it with a remedy; reading continues."""
    file = killed(folder, done)
    before = done("log", "--all", "--json").out
    place = folder / ".sprintlog"
    for one in (*place.iterdir(), place):
        one.chmod(0o500 if one.is_dir() else 0o400)
    try:
        said = run("session", "reconcile", "--transcript", file, "--ended")
        assert (said.code, "hint:" in said.err) == (1, True)
        assert done("log", "--all", "--json").out == before
    finally:
        for one in (place, *place.iterdir()):
            one.chmod(0o700 if one.is_dir() else 0o600)
