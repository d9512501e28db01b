"""Hooks in unusual surroundings: folders, settings, input, other agents."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sprintlog.engine.service.agent_sessions.spool import count_odd
from sprintlog.engine.sessions.work import WITHIN

from .conftest import FIXTURES, SPRINTLOG, Hook, after_tool, events_of


def hook_in(folder: Path, content: bytes, script: str = "") -> None:
    """Run a hook in a folder, after the given shell code."""
    command = f'{script}\nexec "$@"'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *SPRINTLOG, "hook", "claude"],
        cwd=folder,
        env={**os.environ, WITHIN: "run"},
        input=content,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("variable", ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"])
def test_an_agent_that_went_elsewhere_is_recorded_in_its_project(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """In a folder that has no log or does not exist, the agent's project is used."""
    monkeypatch.setenv(variable, str(log.parent))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    hook_in(elsewhere, after_tool("one"))
    hook_in(elsewhere, after_tool("two"), "mkdir gone; cd gone; rmdir ../gone")
    assert [e.stream for e in events_of(log)] == ["session/claude-s-1"] * 2
    assert [*elsewhere.iterdir()] == []


def test_a_log_where_the_agent_is_comes_before_its_project(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of the hook's folder takes precedence over any variable."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    hook_in(log.parent, after_tool())
    assert len(events_of(log)) == 1


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", ["[record\n", "[record]\noof = true\n", "\0"])
def test_where_settings_cannot_be_read_events_wait(
    log: Path, hook: Hook, folder: Path, text: str
) -> None:
    """Events wait until the settings are known, and are then recorded or dropped."""
    settings = folder / "sprintlog.toml"
    settings.write_text(text)
    hook("claude", after_tool("one"))
    assert events_of(log) == []
    assert len([*(log / "spool").iterdir()]) == 1
    settings.write_text("[record]\noff = true\n")
    hook("claude", after_tool("two"))
    assert events_of(log) == []
    settings.unlink()
    hook("claude", after_tool("three"))
    told = {json.loads(event.payload or b"")["call"] for event in events_of(log)}
    assert told == {"one", "three"}


def test_an_input_that_nobody_closes_ends_with_a_silence(log: Path) -> None:
    """An agent that leaves it open is not waited for, and its input is recorded."""
    code = (
        "from sprintlog.cli.hooking import start\n"
        "start._SILENT_SECONDS = 0.2\n"
        "start.main(['claude'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(after_tool())
        process.stdin.flush()
        assert process.wait() == 0
    assert len(events_of(log)) == 1


def test_a_hook_that_is_too_long_is_counted(log: Path, hook: Hook) -> None:
    """Input over 8 MiB is not parsed: its call is in the transcript."""
    given = {"file_path": "a", "content": "x" * 9 * 1024 * 1024}
    hook("claude", after_tool(tool_name="Write", tool_input=given))
    assert events_of(log) == []
    assert count_odd(log) == 1


@pytest.mark.parametrize("words", [[], ["--json"], ["nobody"]])
def test_a_hook_that_names_no_agent_stops_none(
    log: Path, folder: Path, words: list[str]
) -> None:
    """It ends with 0, prints nothing, and is counted: a mistake in a file of hooks."""
    command = [*SPRINTLOG, "hook", *words]
    done = subprocess.run(command, cwd=folder, input=after_tool(), capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert events_of(log) == []
    assert count_odd(log) == 1


def test_two_agents_on_one_session_are_two_streams(log: Path, hook: Hook) -> None:
    """The same id of two agents names two sessions, and neither loses anything."""
    copilot = {
        "sessionId": "s-1",
        "timestamp": 1_795_340_956_812,
        "toolName": "bash",
        "toolArgs": {"command": "ls"},
        "toolResult": {"resultType": "success"},
    }
    codex = {"turn_id": "t-1", "model": "gpt-5"}
    hook("claude", after_tool("one"))
    hook("claude", json.dumps(copilot).encode())
    hook("claude", after_tool("two", **codex))
    hook("claude", after_tool("three"))
    assert [event.stream.partition("/")[2] for event in events_of(log)] == [
        *("claude-s-1", "copilot-s-1", "codex-s-1", "claude-s-1")
    ]


def test_a_version_that_says_more_is_understood(log: Path, hook: Hook) -> None:
    """Unknown fields do no harm; an unknown event is counted."""
    hook("claude", after_tool(tool_risk={"level": [1]}, schema=9))
    hook("claude", after_tool("two", hook_event_name="ToolDreamt"))
    (event,) = events_of(log)
    assert event.type == "tool-called"
    assert count_odd(log) == 1
    (kept,) = (log / "not-understood").iterdir()
    assert b"make test" not in kept.read_bytes()


def test_two_installations_at_once_are_one(log: Path, hook: Hook) -> None:
    """A call without an id is one event, even if two hooks report it at once."""
    lines = (FIXTURES / "hooks" / "gemini-0.61.0.jsonl").read_bytes().splitlines()
    calls = [line for line in lines if b'"AfterTool"' in line]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda line: hook("gemini", line), [*calls, *calls]))
    # Spooled input is still waiting; the next command records it.
    hook("claude", after_tool())
    found = [e for e in events_of(log) if e.stream.startswith("session/gemini-")]
    assert len(found) == len(calls) == 3
