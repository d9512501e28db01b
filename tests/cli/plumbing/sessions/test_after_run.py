"""At the end of an agent's run its sessions are compared with the agent's files."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.agents import reconciliation

from ...conftest import Run

pytestmark = pytest.mark.long

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
KILLED = "claude-2.1.197-killed"
AGENT = '''\
"""An agent that keeps a transcript and calls its hooks, and is killed."""
import json, os, signal, subprocess, sys
from pathlib import Path
own = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
own.mkdir(parents=True, exist_ok=True)
file = own / "t.jsonl"
file.write_bytes(Path("transcript").read_bytes())
%s
for line in Path("hooks").read_bytes().splitlines():
    said = json.dumps({**json.loads(line), "transcript_path": str(file)})
    command = [sys.executable, "-m", "sprintlog.cli", "hook", "claude"]
    subprocess.run(command, input=said.encode(), check=True)
%s
os.kill(os.getpid(), signal.SIGKILL)
'''
SEEN = "hooks reported 1 of 2 tool calls; 1 taken from the transcript"
Agent = Callable[..., list[str]]


@pytest.fixture
def agent(
    folder: Path,
    done: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Agent:
    """Return the command of an agent that is killed, in a sprint towards a goal."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    done("init")
    done("sprint", "create", "win", "--goal", "Win", "--max-failures", "0")
    transcript = FIXTURES / "agents" / f"{KILLED}-transcript.jsonl"
    Path("transcript").write_bytes(transcript.read_bytes())
    Path("hooks").write_bytes((FIXTURES / "hooks" / f"{KILLED}.jsonl").read_bytes())

    def make(first: str = "", last: str = "") -> list[str]:
        Path("agent.py").write_text(AGENT % (first, last))
        return ["--", sys.executable, "agent.py"]

    return make


def events(done: Run, type_: str) -> list[Any]:
    """Return the events of a type."""
    return done("log", "--all", "--type", type_, "--json").lines


def recovered(done: Run) -> list[Any]:
    """Return the runs whose tokens come from a transcript."""
    ran = [event["data"] for event in events(done, "agent-ran")]
    return [one for one in ran if one.get("found_in") == "transcript"]


def test_run_takes_what_a_killed_agents_hooks_missed(
    agent: Agent, run: Run, done: Run
) -> None:
    """Its unfinished call and its tokens are recorded once, marked, in its iteration."""
    said = run("run", *agent())
    assert SEEN in said.err
    assert "tokens: 240 in, 80 out, recorded in win from the transcript" in said.err
    first, second = events(done, "tool-called")
    assert (second["data"]["is_unfinished"], second["data"]["found_in"]) == (
        True,
        "transcript",
    )
    assert first["correlation_id"] == second["correlation_id"]
    (ran,) = recovered(done)
    assert (ran["iteration"], ran["usage"]["input_tokens"]) == (1, 240)
    assert done("status", "--json").json["spent"]["runs"] == 1
    assert done("session", "reconcile", "--json").json["recorded"] == 0
    done("verify")


def test_what_a_killed_agent_did_not_print_is_taken(
    agent: Agent, run: Run, done: Run
) -> None:
    """A truncated stream states only the input, so only the output is added, once."""
    session = json.loads(Path("hooks").read_text().splitlines()[0])["session_id"]
    lines = [
        {"type": "system", "subtype": "init", "session_id": session, "model": "m"},
        {
            "type": "assistant",
            "session_id": session,
            "message": {
                "id": "m1",
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "usage": {"input_tokens": 240, "output_tokens": 1},
            },
        },
    ]
    printed = "\n".join(json.dumps(line) for line in lines)
    said = run("run", *agent(first=f"print({printed!r}, flush=True)"))
    stream, *taken = [event["data"] for event in events(done, "agent-ran")]
    assert (stream["usage"]["input_tokens"], stream.get("found_in")) == (240, None)
    assert "output_tokens" not in stream["usage"]
    assert [(one["usage"]["output_tokens"], one["found_in"]) for one in taken] == [
        (80, "transcript")
    ]
    assert "recorded in win from the transcript" in said.err
    spent = done("status", "--json").json["spent"]
    assert (spent["input_tokens"], spent["output_tokens"]) == (240, 80)
    # An addition to a run does not count as a run.
    assert spent["runs"] == 1
    assert done("session", "reconcile", "--json").json["recorded"] == 0
    assert len(events(done, "agent-ran")) == 2


def test_wrap_says_it_too(agent: Agent, folder: Path, done: Run) -> None:
    """A wrapped command's sessions are compared in the recording process.

    The reason why the command ended is not replaced by its transcript's.
    """
    command = [sys.executable, "-m", "sprintlog.cli", "wrap", *agent()]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == -9
    assert f"sprintlog: {SEEN}" in said.stderr
    assert "tokens: 240 in, 80 out, recorded in win" in said.stderr
    (line,) = done("list").out.splitlines()[1:]
    assert "failed: ended by signal 9" in line


def test_a_run_in_which_hooks_saw_all_is_quiet(agent: Agent, run: Run, done: Run) -> None:
    """No line is printed if nothing was found, and nothing is recorded twice."""
    hooks = [json.loads(x) for x in Path("hooks").read_bytes().splitlines()]
    missing = next(
        x
        for x in hooks
        if x["hook_event_name"] == "PreToolUse"
        and x["tool_use_id"].startswith("toolu_e40f")
    )
    told = json.dumps({**missing, "hook_event_name": "PostToolUse", "tool_response": {}})
    Path("hooks").write_text(Path("hooks").read_text() + f"{told}\n")
    lines = [
        'print(json.dumps({"type": "result", "subtype": "success", "is_error": False,'
        ' "result": "RALPH_COMPLETE", "session_id": json.loads(line)["session_id"],'
        ' "usage": {"input_tokens": 240, "output_tokens": 80}}), flush=True)',
        "sys.exit()",
    ]
    said = run("run", *agent(last="\n".join(lines)))
    assert (said.code, "hooks reported" in said.err, "tokens" in said.err) == (
        0,
        False,
        False,
    )
    assert len(events(done, "tool-called")) == 2
    assert recovered(done) == []


def test_an_agents_other_folder_is_its_own(
    agent: Agent,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A transcript below CLAUDE_CONFIG_DIR is read without being named."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path_factory.mktemp("elsewhere")))
    assert SEEN in run("run", *agent()).err


@pytest.mark.parametrize(
    "harm",
    [
        'file.write_bytes(b"[" * 1_000_000)',
        'file.write_bytes(Path("transcript").read_bytes()[:700])',
        "os.truncate(file, 100 * 2**20)",
        "file.unlink(); os.mkfifo(file)",
        'file.unlink(); file.symlink_to(Path("transcript").resolve())',
        "file.unlink()",
        "file.unlink(); file.mkdir()",
        'os.chmod(file, 0); file = Path("/dev/zero")',
        "file.write_bytes(os.urandom(100_000))",
    ],
)
def test_a_harmful_transcript_changes_nothing(
    agent: Agent, run: Run, done: Run, harm: str
) -> None:
    """The run ends as without one, and only the reports of hooks are recorded."""
    said = run("run", *agent(first=harm))
    assert said.code == 23
    assert "Traceback" not in said.err
    assert len(events(done, "tool-called")) == 1
    assert recovered(done) == []
    done("verify")


def test_a_transcript_that_grows_is_read_to_where_it_was(
    agent: Agent, run: Run, done: Run
) -> None:
    """A continuously growing file does not delay a run."""
    forever = (
        "grow = 'while :; do cat transcript; sleep 0.01; done >> \"$0\"'\n"
        'subprocess.Popen(["timeout", "20", "sh", "-c", grow, str(file)],'
        " start_new_session=True, stdin=subprocess.DEVNULL)"
    )
    assert SEEN in run("run", *agent(first=forever)).err


def test_nothing_is_compared_where_recording_is_off(
    agent: Agent, folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With SPRINTLOG_OFF a wrapped command runs, and the log is unchanged."""
    before = done("log", "--all", "--json").out
    command = [sys.executable, "-m", "sprintlog.cli", "wrap", *agent()]
    environment = {**os.environ, "SPRINTLOG_OFF": "1"}
    said = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (said.returncode, said.stderr) == (-9, b"")
    assert done("log", "--all", "--json").out == before


def test_a_session_around_it_goes_on(
    agent: Agent, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that started before a run of the same work does not end with it.

    An agent may start another one: a call in progress has no end yet.
    """
    monkeypatch.setenv("SPRINTLOG_CORRELATION", "outer")
    command = agent()
    hooks = Path("hooks").read_bytes().splitlines()
    Path("hooks").write_bytes(hooks[0])
    first = [sys.executable, "-m", "sprintlog.cli", "hook", "claude"]
    subprocess.run(first, input=hooks[0], check=True)
    Path("hooks").write_bytes(b"\n".join(hooks[1:]))
    assert "hooks reported" not in run("run", *command).err
    assert len(events(done, "tool-called")) == 1


def test_a_hook_that_still_runs_tells_how_its_call_ended(
    agent: Agent, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed agent's last hook input is read before its call is marked unfinished."""
    hooks = [json.loads(x) for x in Path("hooks").read_bytes().splitlines()]
    begun = next(x for x in hooks if x.get("tool_use_id", "").startswith("toolu_e40f"))
    ended = {**begun, "hook_event_name": "PostToolUse", "tool_response": {}}
    Path("late").write_text(json.dumps(ended))
    late = (
        'hook = " ".join(command)\n'
        'subprocess.Popen(["sh", "-c", f"sleep 0.1; exec {hook} < late"],'
        " start_new_session=True)"
    )
    # Python may take a second to start on a busy machine.
    monkeypatch.setattr(reconciliation, "PATIENCE_SECONDS", 20.0)
    assert "hooks reported 2 of 2 tool calls; 0 taken" in run("run", *agent(last=late)).err
    found = [event["data"] for event in events(done, "tool-called")]
    assert [(x.get("is_unfinished", False), "found_in" in x) for x in found] == [
        (False, False)
    ] * 2


STREAM = FIXTURES / "hooks" / "streams" / "claude-2.1.197.jsonl"
PRINTS = """\
import json, os, subprocess, sys
lines = open("stream").read().splitlines()
%s
print("\\n".join(lines))
print(json.dumps({"type": "result", "subtype": "success", "is_error": False,
                  "session_id": json.loads(lines[0])["session_id"],
                  "result": "RALPH_COMPLETE"}))
"""
TELLS = """\
for number in range(3):
    said = {"session_id": json.loads(lines[0])["session_id"],
            "hook_event_name": "SessionStart", "source": "startup"}
    command = [sys.executable, "-m", "sprintlog.cli", "hook", "claude"]
    subprocess.run(command, input=json.dumps(said).encode(), check=True)
"""


@pytest.mark.parametrize("wraps", [False, True])
@pytest.mark.parametrize("tells", [False, True])
def test_the_calls_of_a_stream_are_events_once(
    agent: Agent, run: Run, done: Run, wraps: bool, tells: bool
) -> None:
    """They are recorded without any hook, and also if `run` runs `wrap`.

    A line is printed only if hooks reported the session at all.
    """
    del agent
    Path("stream").write_bytes(STREAM.read_bytes())
    Path("prints.py").write_text(PRINTS % (TELLS if tells else ""))
    inner = [sys.executable, "-m", "sprintlog.cli", "wrap"] if wraps else []
    said = run("run", "--", *inner, sys.executable, "prints.py")
    assert said.code == 0
    found = events(done, "tool-called")
    assert [event["data"]["found_in"] for event in found] == ["stream"] * 7
    assert len({event["correlation_id"] for event in found}) == 1
    taken = "hooks reported 0 of 7 tool calls; 7 taken from the stream"
    if not wraps:
        assert said.err.count("hooks reported") == said.err.count(taken) == tells
    (name,) = done("show", "session", "--json").json
    assert (name["tool_calls"], name["failed_calls"]) == (7, 2)


def test_the_next_run_compares_what_a_killed_one_left(
    agent: Agent, run: Run, done: Run
) -> None:
    """A loop that is killed with its agent leaves sessions; the next run records them."""
    waits = 'Path("ready").write_text(str(os.getpid())); import time; time.sleep(60)'
    command = [sys.executable, "-m", "sprintlog.cli", "run", *agent(last=waits)]
    loop = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not Path("ready").exists() and time.monotonic() < until:
        time.sleep(0.05)
    loop.kill()
    loop.wait()
    with suppress(ProcessLookupError):
        os.kill(int(Path("ready").read_text()), signal.SIGKILL)
    said = run("run", "--", "sh", "-c", "echo RALPH_COMPLETE")
    assert (said.code, SEEN in said.err) == (0, True)
    assert "tokens: 240 in, 80 out, recorded in win" in said.err
    (ran,) = recovered(done)
    assert (ran["iteration"], ran["usage"]["input_tokens"]) == (1, 240)
    assert done("session", "reconcile", "--json").json["recorded"] == 0
