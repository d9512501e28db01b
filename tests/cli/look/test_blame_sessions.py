"""An agent's actions behind an event: `blame` names the session, `log` lists its calls."""

import json
import os
import sys
from pathlib import Path

import pytest

from sprintlog.engine.service.agent_sessions.hook import take_hook

from ..conftest import Run

AGENT = """\
import json, os, subprocess, sys
for number in (1, 2):
    told = {
        "session_id": "s-" + os.environ["PHASE_ID"].replace("/", "-"),
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"make part-{number}"},
        "tool_response": {},
        "tool_use_id": f"toolu_{number}",
    }
    command = [sys.executable, "-m", "sprintlog.cli", "hook", "claude"]
    subprocess.run(command, input=json.dumps(told).encode(), check=True)
print("did it")
"""
PLAN = "phases: [{id: one, prompt: Do one}, {id: two, prompt: Do two}]\n"


@pytest.fixture
def worked(folder: Path, done: Run) -> Path:
    """Return the folder of a sprint whose phases an agent with hooks worked on."""
    Path("plan.yaml").write_text(PLAN)
    Path("agent.py").write_text(AGENT)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("run", "--", sys.executable, "agent.py")
    return folder


def test_a_field_is_set_in_the_session_that_worked(worked: Path, done: Run) -> None:
    """Of two phases, each is attributed to its own session; earlier events have none."""
    for phase in ("one", "two"):
        said = done("why", f"phases[{phase}].status")
        assert f"in session    claude-s-{phase}\n" in said.out
        answer = done("why", f"phases[{phase}].status", "--json").json
        assert answer["session"] == f"claude-s-{phase}"
    assert done("why", "phases[one].prompt", "--json").json["session"] is None


def test_what_was_done_between_two_events_has_an_answer(worked: Path, done: Run) -> None:
    """`log`, `show session` and `query` list the calls between two positions."""
    events = done("log", "--json").lines
    begun, ended = (
        next(x["position"] for x in events if x["type"] == type_ and _is_one(x))
        for type_ in ("phase-started", "phase-completed")
    )
    since, until = f"position:{begun}", f"position:{ended}"
    words = ["--since", since, "--until", until]
    found = done("log", "--session", "s-one", *words, "--json").lines
    assert [x["data"]["command"] for x in found] == ["make part-1", "make part-2"]
    assert done("log", "--session", "s-two", *words, "--json").lines == []
    listed = done("log", "--all", *words).out
    assert "make part-1" in listed
    assert "make part-2" in listed
    asked = f"SELECT command FROM v_tool_calls WHERE position BETWEEN {begun} AND {ended}"
    assert [x["command"] for x in done("query", asked, "--json").lines] == [
        "make part-1",
        "make part-2",
    ]
    assert done("show", "session", "s-one", "--json").json["tool_calls"] == 2


def _is_one(event: dict[str, object]) -> bool:
    data = event["data"]
    return isinstance(data, dict) and data.get("phase") == "one"


def test_what_an_agent_records_itself_is_part_of_its_work(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command typed within `run` or `wrap` has their correlation id, and its session."""
    Path("plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    done("sprint", "start")
    monkeypatch.setenv("SPRINTLOG_CORRELATION", "work-7")
    told = {
        "session_id": "s-1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_use_id": "toolu_1",
    }
    take_hook(
        "claude",
        json.dumps(told).encode(),
        start=folder,
        folder=None,
        safe=folder / "safe",
        environment=os.environ,
    )
    done("phase", "start", "one")
    answer = done("why", "phases[one].status", "--json").json
    assert answer["event"]["correlation_id"] == "work-7"
    assert answer["session"] == "claude-s-1"
    done("note", "by hand", "--correlation-id", "other")
    assert done("log", "--last", "1", "--json").lines[0]["correlation_id"] == "other"
    monkeypatch.setenv("SPRINTLOG_CORRELATION", "\x1b" * 3)
    done("phase", "complete", "one", "--summary", "x")
    assert done("why", "phases[one].status", "--json").json["session"] is None
