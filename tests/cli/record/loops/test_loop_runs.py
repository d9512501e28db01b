"""The records of `run`: its start, and its end in every case."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.sprint.phases.lifecycle import AddNote
from sprintlog.projections.workspace import Workspace

from ...conftest import Result, Run
from ...goals import HANGS_ONCE, Make, start, wait_for_nobody
from ...scripted import PLAN

ROOT = Path(__file__).resolve().parents[4]
ONE = "phases: [{id: a, prompt: x}]"
ASKS = 'print(\'{"status": "needs-human", "reason": "a key"}\'); sys.exit()'
PAUSES = f"os.system(\"'{sys.executable}' -m sprintlog.cli sprint pause >&2\")"


def events(done: Run, kind: str) -> list[dict[str, Any]]:
    """Return the records of one type."""
    return [line["data"] for line in done("log", "--type", kind, "--json").lines]


def ended(done: Run) -> dict[str, Any]:
    """Return the end of the only run, without its usage, which is tested elsewhere."""
    (end,) = events(done, "run-ended")
    assert end.pop("spent")["duration_ms"] >= 0
    (began,) = events(done, "run-started")
    assert end.pop("run") == began["run"]
    return end


def works(folder: Path, loop: "subprocess.Popen[str]") -> None:
    """Wait until the agent of a loop is at work."""
    while not (folder / "hung").exists():
        assert loop.poll() is None, loop.communicate()
        time.sleep(0.02)


def killed(folder: Path, command: list[str]) -> "subprocess.Popen[str]":
    """Start a loop, and kill it while its agent works."""
    loop = start(command)
    works(folder, loop)
    loop.kill()
    loop.communicate(timeout=60)
    wait_for_nobody(folder)
    return loop


STOPS = [
    ("", PLAN, 0, {"because": "done", "exit_code": 0}),
    ("", PLAN.replace("max-iterations: 40", "stats: {max-iterations: 1}"), 20,
     {"because": "limit", "why": "reached the limit of 1 iteration"}),
    ("", "phases: [{id: a, prompt: x, break: true}, {id: b, prompt: y}]", 21,
     {"because": "breakpoint", "why": "the sprint is paused-at-breakpoint"}),
    (PAUSES, ONE, 22, {"because": "paused", "why": "the sprint is paused"}),
    ("sys.exit(3)", ONE, 23,
     {"because": "blocked", "why": "the sprint is blocked: phase a failed: exit code 3"}),
    (ASKS, ONE, 24, {"because": "person", "why": "a key"}),
]  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("trait", "plan", "code", "said"), STOPS)
def test_each_stop_has_its_exit_code_and_its_word(
    run: Run, agent: Any, done: Run, trait: str, plan: str, code: int, said: Any
) -> None:
    """Whatever ends a run, the same reason and number are in the log and in the answer."""
    assert run(*agent(trait, plan)).code == code
    assert ended(done) == {"exit_code": code, **said}
    told = done("status", "--json").json["run"]
    assert (told["state"], told["because"]) == ("ended", said["because"])
    assert told["exit_code"] == code


def test_a_wait_that_is_not_waited_for_ends_it(run: Run, agent: Any, done: Run) -> None:
    """With --no-wait a run ends over a wait, like an error, and reports its reason."""
    command = agent("sys.exit('429 slow down')", PLAN.replace("[20]", "[60000]"))
    assert run("run", "--no-wait", *command[1:]).code == 1
    end = ended(done)
    assert (end["because"], end["exit_code"]) == ("wait", 1)
    assert "429 slow down" in end["why"]


def test_an_error_ends_it(run: Run, agent: Any, done: Run) -> None:
    """A refusal during a run is recorded with its message and exit status."""
    agent(plan=ONE)
    words = ("--plan", "plan.yaml", "--hook", "id=h,workflow=none", "--sprint-dir", "b")
    Path("b").mkdir()
    done("sprint", "create", "hooked", *words)
    result = run("run", "--sprint", "hooked", "--", sys.executable, "agent.py")
    assert result.code == 1
    (end,) = (x["data"] for x in done("log", "--sprint", "hooked", "--json").lines[-1:])
    assert (end["because"], end["exit_code"]) == ("error", 1)
    assert end["why"] == "hook h has no command"
    said = done("status", "--sprint", "hooked").out.splitlines()
    again = f"sprintlog run --sprint hooked -- {shlex.join([sys.executable, 'agent.py'])}"
    failed = "stopped: it failed: hook h has no command"
    assert said[0].startswith(f"{failed}; next: `{again}` continues")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it(
    folder: Path, goal_agent: Make, done: Run, number: signal.Signals
) -> None:
    """A signal is recorded by its name; the agent's usage is then unknown."""
    loop = start(goal_agent(HANGS_ONCE))
    works(folder, loop)
    loop.send_signal(number)
    loop.communicate(timeout=60)
    assert loop.returncode == 128 + number
    end = ended(done)
    assert end == {
        "because": "signal", "exit_code": 128 + number, "why": number.name,
        "cut_short": True,
    }  # fmt: skip
    spent = done("status", "--json").json["spent"]
    assert (spent["runs"], spent["runs_cut_short"]) == (1, 1)
    assert done("status").out.splitlines()[0].startswith("why: the sprint is interrupted")


def test_a_killed_run_is_told_by_the_next_command(
    folder: Path, goal_agent: Make, done: Run
) -> None:
    """The next recording command records a lost run and reports it; a reader does not."""
    loop = killed(folder, goal_agent(HANGS_ONCE))
    before = done("log", "--json").lines
    for reader in (("status",), ("next",), ("log", "--all"), ("verify",), ("audit",)):
        assert done(*reader).err == ""
    head = done("status").out.splitlines()
    assert f"process {loop.pid} on" in head[0]
    assert "is gone: it was killed, or the machine went down; next: `" in head[0]
    assert head[1] == f"since: {before[-1]['at']}, the time of its last event"
    assert done("status", "--json").json["run"]["state"] == "gone"
    assert done("log", "--json").lines == before
    assert f"the run of process {loop.pid}" in done("note", "hello").err
    end = ended(done)
    assert (end["because"], end["cut_short"]) == ("lost", True)
    assert end["last_seen"] == before[-1]["at"]
    assert "exit_code" not in end
    assert done("note", "again").err == ""
    assert done("status").out.splitlines()[:2] == head[:2]
    assert len(events(done, "run-ended")) == 1


@pytest.mark.long
def test_a_killed_run_is_told_by_the_next_run(
    folder: Path, run: Run, goal_agent: Make, done: Run
) -> None:
    """A run after a killed one first reports that it is gone."""
    command = goal_agent(HANGS_ONCE)
    loop = killed(folder, command)
    result = run(*command)
    assert result.code == 0
    assert f"process {loop.pid}, which ran it before, is gone: continuing" in result.err
    lost, done_ = events(done, "run-ended")
    assert (lost["because"], done_["because"]) == ("lost", "done")
    assert lost["spent"]["iterations"] == 2
    assert done_["spent"]["iterations"] == 1
    assert done_["spent"]["runs"] == 2
    assert done("status", "--json").json["spent"]["runs_cut_short"] == 1


@pytest.mark.long
def test_nothing_is_said_of_another_machine(
    folder: Path, goal_agent: Make, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a process on another machine is alive is unknown, and not claimed."""
    killed(folder, goal_agent(HANGS_ONCE))
    with monkeypatch.context() as patched:
        patched.setattr("sprintlog.engine.service.lost_runs.host", lambda: "elsewhere")
        assert done("note", "hello").err == ""
        assert "is unknown on this machine" in done("status").out
        assert done("status", "--json").json["run"]["state"] == "elsewhere"
    assert events(done, "run-ended") == []


def test_a_run_whose_lock_is_held_is_alive(
    folder: Path, goal_agent: Make, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sandboxed agent may not see the process that runs it."""
    loop = start(goal_agent(HANGS_ONCE))
    works(folder, loop)
    with monkeypatch.context() as patched:
        seen = "sprintlog.engine.service.lost_runs.process.is_alive"
        patched.setattr(seen, lambda known: False)
        assert done("note", "from within").err == ""
    assert events(done, "run-ended") == []
    head = done("status").out.splitlines()
    assert head[0].startswith("running: iteration 2, begun ")
    assert f"by process {loop.pid} on" in head[1]
    loop.terminate()
    loop.communicate(timeout=60)


def test_a_library_is_not_kept_from_anything(folder: Path, goal_agent: Make) -> None:
    """Without a callback, a lost run is recorded and work continues."""
    killed(folder, goal_agent(HANGS_ONCE))
    with Workspace.open(folder) as workspace:
        sprint_id = workspace.choose(None)
        version = workspace.sprint(sprint_id).version
        outcome = workspace.handle(AddNote("x"), sprint_id=sprint_id, expect=version)
        assert outcome.sprint.version == version + 2
        assert outcome.sprint.knowledge.loops.open is None


def test_two_runs_follow_each_other(run: Run, agent: Any, done: Run) -> None:
    """Each run counts for itself; the sum includes both."""
    command = agent(plan="phases: [{id: a, prompt: x, break: true}, {id: b, prompt: y}]")
    assert run(*command).code == 21
    done("sprint", "resume")
    assert run(*command).code == 0
    first, second = (end["spent"] for end in events(done, "run-ended"))
    assert (first["iterations"], second["iterations"]) == (1, 1)
    assert done("status", "--json").json["spent"]["runs"] == 2


def test_a_rollback_leaves_runs_as_they_are(run: Run, agent: Any, done: Run) -> None:
    """Past runs are knowledge: a rollback only discards the work."""
    command = agent(plan=ONE)
    assert run(*command).code == 0
    done("rollback", "version:1", "--yes")
    told = done("status", "--json").json
    assert (told["status"], told["run"]["because"]) == ("not-started", "done")
    assert told["spent"]["runs"] == 1
    done("undo", "--yes")
    assert done("status", "--json").json["status"] == "completed"
    done("verify", "--determinism")


def test_the_past_says_what_was_so_then(run: Run, agent: Any, done: Run) -> None:
    """At a point within a run, the run is in progress; before it there is none."""
    assert run(*agent(plan=ONE)).code == 0
    past = done("status", "--at", "version:4", "--json").json["run"]
    assert (past["state"], "ended_at" in past) == ("running", False)
    assert "run" not in done("status", "--at", "version:1", "--json").json
    assert done("status", "--at", "version:4").out.splitlines()[0].startswith("running: a")


def test_a_fork_has_no_run_of_its_own(
    folder: Path, run: Run, agent: Any, done: Run
) -> None:
    """A fork made during a run is not run by that process, nor was it lost."""
    assert run(*agent(plan=ONE)).code == 0
    (folder / "b").mkdir()
    done("fork", "other", "--from", "version:3", "--sprint-dir", "b")
    assert "run" not in done("status", "--sprint", "other", "--json").json
    assert done("note", "x", "--sprint", "other").err == ""


def test_no_secret_of_a_command_is_kept(run: Run, agent: Any, done: Run) -> None:
    """A token in the agent's arguments is masked in the recorded start of a run."""
    token = "ghp_" + "b2" * 18
    assert run(*agent(plan=ONE), "--token", token).code == 0
    (began,) = events(done, "run-started")
    assert began["command"][1:3] == ["agent.py", "--token"]
    assert began["command"][3].startswith("[masked: github-token")
    assert token not in done("log", "--json").out + done("status", "--json").out


def test_history_tells_of_runs(run: Run, agent: Any, done: Run) -> None:
    """`log`, `audit` and `replay` show when a run started and how it ended."""
    assert run(*agent("sys.exit(3)", ONE)).code == 23
    first, *_, last = done("log", "--type", "run-started", "--type", "run-ended").out.split(
        "\n"
    )[:2]
    assert f"process {os.getpid()}, host" in first
    assert "run-ended  blocked, exit 23, 1 iteration" in last
    assert last.endswith("the sprint is blocked: phase a failed: exit code 3")
    (told,) = done("audit", "--kind", "run", "--json").json["decisions"]
    assert told["said"].startswith("because blocked, why the sprint is blocked")
    assert "run-ended" in done("replay").out


def test_what_is_refused_before_it_began_is_no_run(run: Run, agent: Any, done: Run) -> None:
    """While edits of the state file are refused, nothing is recorded, not even a run."""
    command = agent(plan=ONE)
    done("iteration rules set", "--progress-edits", "refuse")
    Path("PROGRESS.yaml").write_text("changed: true\n")
    assert run(*command).code == 1
    assert events(done, "run-started") == []


def test_an_edit_within_a_run_keeps_nobody_from_saying_how_it_ended(
    run: Run, agent: Any, done: Run
) -> None:
    """A refused edit stops the work; the end of the run is recorded nevertheless."""
    trait = "open('PROGRESS.yaml', 'a').write('edited: true\\n')"
    command = agent(trait, ONE)
    done("iteration rules set", "--progress-edits", "refuse")
    result = run(*command)
    assert result.code == 1
    end = ended(done)
    assert (end["because"], end["exit_code"]) == ("error", 1)
    assert "PROGRESS.yaml" in end["why"]
    assert len(events(done, "agent-ran")) == 1


def dying(at: int, when: str, command: list[str]) -> Result:
    """Run a command that is killed at one of its appends."""
    line = [sys.executable, "-m", "tests.cli.dying", str(at), when, *command]
    ends = subprocess.run(
        line,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    return Result(ends.returncode, ends.stdout, ends.stderr)


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_every_append_it_ends_the_same(
    run: Run, goal_agent: Make, done: Run, state: Any, when: str
) -> None:
    """However often it is killed, each run has one end, and the sums are the same."""
    command = goal_agent()
    kills = 0
    for at in range(1, 12):
        died = dying(at, when, command)
        if died.code == 0:
            break
        assert died.code == -signal.SIGKILL, died.err
        kills += 1
    assert run(*command).code == 0
    assert kills > 3
    began = [event["run"] for event in events(done, "run-started")]
    ends = [event["run"] for event in events(done, "run-ended")]
    assert began == ends
    assert state()["status"] == "completed"
    assert state()["stats"]["current-iteration"] == 3
    spent = done("status", "--json").json["spent"]
    assert spent["cost_usd"] == round(0.1 * spent["runs"], 1)
    done("verify")
