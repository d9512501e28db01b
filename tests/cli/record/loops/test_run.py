"""`next` and `run`: a loop that performs the next action, with a script as its agent."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service import handle
from sprintlog.engine.sprint.agent.runs import StartRun
from sprintlog.engine.sprint.phases import lifecycle
from sprintlog.projections.state_files.yaml.reader import load
from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from ...scripted import PLAN


def said(folder: Path) -> list[str]:
    """Return the prompts of the agent, in order."""
    return (folder / "said.txt").read_text().splitlines()


def types(done: Run) -> list[str]:
    """Return the types of all events."""
    return [event["type"] for event in done("log", "--json").lines]


def test_goes_through_a_sprint(
    folder: Path, run: Run, agent: Any, done: Run, state: Any
) -> None:
    """Every leaf is handed out once, gates are run and repaired, and the sprint ends."""
    command = agent()
    assert run("run", "--json", *command[1:]).json["do"] == "done"
    handed = [line.split(" ")[0] for line in said(folder)]
    assert handed == [
        "setup",
        "build/login/implement",
        "build/login/check",
        "build",
        "review",
    ]
    document = state()
    assert document["status"] == "completed"
    assert document["phases"][0]["summary"] == "did setup"
    assert document["phases"][1]["gate-tracking"]["attempts"] == 2
    assert document["stats"]["current-iteration"] == 4
    done("verify")
    assert run(*command).out == "auth: done\n"
    assert len(said(folder)) == 5


def test_takes_the_verdict_of_a_gate_in_a_pause(
    folder: Path, run: Run, agent: Any, done: Run, state: Any
) -> None:
    """A pause during a gate pauses the sprint; the verdict is not lost."""
    pauses = f"'{sys.executable}' -m sprintlog.cli sprint pause"
    plan = "phases: [{id: a, prompt: x, gate: {script: %s}}]"
    command = agent(plan=plan % json.dumps(pauses))
    last = run("run", "--json", *command[1:])
    assert last.json["why"] == "the sprint is paused"
    assert "error" not in last.err
    assert state()["phases"][0]["gate-tracking"]["status"] == "passed"
    done("rebuild", "--check")
    done("sprint", "resume")
    assert run("run", "--json", *command[1:]).json["do"] == "done"
    assert len(said(folder)) == 1


def test_asks_anew_when_somebody_was_faster(
    folder: Path, run: Run, agent: Any, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal because of a concurrent record is not an error: `next` is asked again."""
    command = agent(plan="phases: [{id: a, prompt: x}]")
    done("sprint", "start")

    decide = StartRun.decide

    def paused_before(command: StartRun, sprint: Any, at: str) -> Any:
        with Workspace.open(folder) as other:
            other.handle(lifecycle.PauseSprint(), sprint_id="auth")
        return decide(command, sprint, at)

    monkeypatch.setattr(StartRun, "decide", paused_before)
    assert run("run", "--json", *command[1:]).json["why"] == "the sprint is paused"
    assert not (folder / "said.txt").exists()


def test_records_what_the_agent_did(run: Run, agent: Any, done: Run) -> None:
    """Output, exit code, tokens, cost and turns of each run are in the log."""
    result = {
        "type": "result",
        "is_error": False,
        "result": "all is well",
        "num_turns": 3,
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 7, "output_tokens": 8},
    }
    command = agent(f"print({json.dumps(result)!r}); sys.exit()")
    assert run(*command).code == 0
    ran = [x["data"] for x in done("log", "--json").lines if x["type"] == "agent-ran"]
    assert ran[0]["usage"] == {
        "input_tokens": 7,
        "output_tokens": 8,
        "cost_usd": 0.5,
        "turns": 3,
    }
    assert (ran[0]["status"], ran[0]["exit_code"]) == ("completed", 0)
    assert "all is well" in ran[0]["output"]
    summary = done("show", "progress").out
    assert "summary: all is well" in summary


def test_masks_what_the_agent_says(run: Run, agent: Any, done: Run) -> None:
    """A token in output, errors or summary does not get into the log."""
    token = "ghp_" + "a" * 36
    command = agent(f"print({token!r}); print({token!r}, file=sys.stderr)")
    assert run(*command).code == 0
    assert token not in done("log", "--json").out
    assert "[masked: github-token ba94fef9]" in done("log", "--json").out


def test_a_rate_limit_is_waited_for(run: Run, agent: Any, done: Run) -> None:
    """Work that met a limit continues after its wait, and nothing has failed."""
    trait = "if len(open('said.txt').readlines()) == 1: sys.exit('429 slow down')"
    assert run(*agent(trait)).code == 0
    assert types(done).count("retry-scheduled") == 1
    assert "phase-failed" not in types(done)


@pytest.mark.long
def test_a_failure_of_the_policy_is_retried(run: Run, agent: Any, done: Run) -> None:
    """A failure that the policy retries is tried again after its wait."""
    trait = "if len(open('said.txt').readlines()) == 1: sys.exit('the build timed out')"
    assert run(*agent(trait)).code == 0
    assert types(done).count("phase-retried") == 1


def test_does_not_wait_where_it_must_not(run: Run, agent: Any) -> None:
    """With --no-wait, the loop ends instead of waiting for a retry."""
    plan = PLAN.replace("[20]", "[60000]")
    command = agent("sys.exit('429 slow down')", plan)
    result = run("run", "--no-wait", "--json", *command[1:])
    assert (result.code, result.json["do"], result.json["phase"]) == (1, "wait", "setup")


@pytest.mark.parametrize(
    ("trait", "code", "status", "why"),
    [
        ("sys.exit(3)", 23, "blocked", "exit code 3"),
        ("sys.stdout = open(os.devnull, 'w')", 23, "blocked", "without saying anything"),
        ('print(\'{"status": "needs-human", "reason": "a key"}\'); sys.exit()',
         24, "needs-human", "a key"),
    ],
)  # fmt: skip
def test_stops_where_a_person_is_needed(
    run: Run, agent: Any, state: Any, trait: str, code: int, status: str, why: str
) -> None:
    """Failure and silence never count as success: the loop stops with a reason."""
    result = run(*agent(trait))
    assert result.code == code
    assert why in result.out
    assert "hint: resolve the problem" in result.out
    assert state()["status"] == status


def test_stops_at_a_breakpoint(run: Run, agent: Any, done: Run) -> None:
    """A phase with a breakpoint ends a run; after a resume, the work continues."""
    command = agent(
        plan=PLAN.replace("    prompt: Make a", "    break: true\n    prompt: Make a")
    )
    result = run(*command)
    assert result.code == 21
    assert "paused-at-breakpoint" in result.out
    done("sprint", "resume")
    assert run(*command).code == 0


def test_ends_an_agent_at_its_limit(run: Run, agent: Any, done: Run) -> None:
    """An agent that does not end is ended with all it started; that is a timeout."""
    command = agent(
        "import time; time.sleep(60)", PLAN.replace("maxAttempts: 2", "maxAttempts: 0")
    )
    result = run("run", "--timeout", "0.5", *command[1:])
    assert result.code == 23
    assert "the time limit was reached" in result.out
    [failed] = [x for x in done("log", "--json").lines if x["type"] == "phase-failed"]
    assert failed["data"]["category"] == "timeout"


def test_a_command_that_is_not_there(run: Run, agent: Any, done: Run) -> None:
    """A mistyped command is reported before anything is recorded."""
    agent()
    before = types(done)
    assert run("run", "--", "no-such-agent").code == 3
    assert types(done) == before


@pytest.mark.long
def test_work_that_ends_in_a_pause_counts(run: Run, agent: Any, done: Run) -> None:
    """A sprint paused while its agent worked stops after it, and nothing is done twice."""
    line = "[sys.executable, '-m', 'sprintlog.cli', 'sprint', 'pause', '--json']"
    pause = f"import subprocess; subprocess.run({line}, stdout=2, check=True)"
    command = agent(f"if 'Make a branch' in prompt:\n    {pause}")
    result = run(*command)
    assert (result.code, "paused" in result.out) == (22, True)
    assert "work-done" in types(done)
    done("sprint", "resume")
    assert run(*command).code == 0
    assert types(done).count("agent-ran") == 5


def start(folder: Path, *options: str) -> "subprocess.Popen[str]":
    """Start a loop in a separate process."""
    line = [sys.executable, "-m", "sprintlog.cli", "run", *options]
    return subprocess.Popen(
        [*line, "--", sys.executable, "agent.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path) -> None:
    """Wait until a file has its text."""
    until = time.monotonic() + 60
    while not (path.exists() and path.read_bytes()):
        assert time.monotonic() < until, path
        time.sleep(0.02)


HANGS_ONCE = """\
if not os.path.exists("hung"):
    open("hung", "w").write(str(os.getpid()))
    import time; time.sleep(120)
"""


def test_a_signal_ends_the_loop_in_order(
    folder: Path, run: Run, agent: Any, state: Any
) -> None:
    """SIGTERM ends the agent, is recorded as interrupted, and the next run continues."""
    command = agent(HANGS_ONCE)
    loop = start(folder)
    wait_for(folder / "hung")
    loop.send_signal(signal.SIGTERM)
    assert loop.communicate(timeout=60)[0] == ""
    assert loop.returncode == 128 + signal.SIGTERM
    assert state()["status"] == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "hung").read_text()), 0)
    assert run(*command).code == 0
    assert state()["status"] == "completed"


@pytest.mark.long
def test_a_killed_loop_goes_on_where_it_was(
    folder: Path, run: Run, agent: Any, state: Any
) -> None:
    """After SIGKILL the leaf that was cut short is done again, and nothing else."""
    command = agent(HANGS_ONCE)
    loop = start(folder)
    wait_for(folder / "hung")
    loop.kill()
    loop.communicate(timeout=60)
    result = run(*command)
    assert result.code == 0
    assert "is gone: continuing" in result.err
    handed = [line.split(" ")[0] for line in said(folder)]
    assert handed[:3] == ["setup", "setup", "build/login/implement"]
    assert state()["stats"]["current-iteration"] == 4


def test_brings_the_state_file_up_to_date(
    folder: Path, run: Run, agent: Any, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between its last event and the state file, the next run writes that file."""
    command = agent()
    assert run(*command).code == 0
    done("sprint", "reopen")
    with monkeypatch.context() as patch:
        patch.setattr(handle, "refresh", _dies)
        assert run("sprint", "complete").code == 1
    assert run("verify").code == 4
    assert run(*command).code == 0
    done("verify")


def _dies(workspace: Workspace, stream: str) -> None:
    """Be killed."""
    raise SprintlogError("killed")


def test_one_loop_for_a_sprint(folder: Path, run: Run, agent: Any) -> None:
    """A second loop on the same sprint is refused, naming the first one."""
    command = agent(HANGS_ONCE)
    loop = start(folder)
    wait_for(folder / "hung")
    result = run(*command)
    assert result.code == 5
    assert f"is being run by process {loop.pid}" in result.err
    loop.terminate()
    loop.communicate(timeout=60)


def test_next_answers_for_any_loop(folder: Path, done: Run, agent: Any) -> None:
    """A custom loop asks, acts and records; `--prompt` prints the agent's prompt."""
    agent()
    assert done("next", "--json").json == {"sprint": "auth", "do": "start"}
    done("sprint", "start")
    assert done("next").out.splitlines()[0] == "work setup"
    prompt = done("next", "--prompt").out
    assert "\n\n# Task\n\nMake a branch\n\n" in prompt
    assert done("next", "--json").json["prompt"] == prompt.removesuffix("\n")
    done("phase", "start")
    assert done("next", "--json").json["resumed"] is True
    assert load((folder / "PROGRESS.yaml").read_bytes())["status"] == "in-progress"
