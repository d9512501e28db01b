"""Reasons for `run` to stop: exit codes, and the output of `status` and `next`."""

import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.state_files.yaml.reader import load

from ...conftest import Run
from ...goals import Make
from ...scripted import PLAN


def said(folder: Path) -> list[str]:
    """Return the prompts of the agent, in order."""
    return (folder / "said.txt").read_text().splitlines()


def test_stops_at_the_last_iteration(run: Run, agent: Any, done: Run) -> None:
    """The limit of iterations has a separate exit code, and `status` reports it."""
    result = run(
        *agent(plan=PLAN.replace("max-iterations: 40", "stats: {max-iterations: 1}"))
    )
    assert (result.code, "reached the limit of 1 iteration" in result.out) == (20, True)
    first = "stopped: reached the limit of 1 iteration; next: "
    assert done("status").out.startswith(first)


ASKS = """
if os.environ["PHASE_ID"] == "setup":
    import subprocess
    line = [sys.executable, "-m", "sprintlog.cli", "queue", "add", "A hole", "--priority",
            "critical", "--type", "security", "--json"]
    subprocess.run(line, stdout=2, check=True)
"""


@pytest.mark.long
def test_finishes_nothing_over_an_urgent_request(run: Run, agent: Any, done: Run) -> None:
    """The loop works on to the end, and stops there until the request is decided."""
    command = agent(ASKS)
    result = run(*command)
    assert (result.code, "requests are undecided: req-1" in result.out) == (24, True)
    assert done("status", "--json").json["stats"]["completed-phases"] == 3
    assert "next: `sprintlog sprint complete`" not in done("status").out
    refused = run("sprint", "complete")
    assert (refused.code, "undecided requests: req-1" in refused.err) == (1, True)
    done("queue", "reject", "req-1", "--reasoning", "No hole")
    assert "resolved: it can continue" in done("status").out
    assert run(*command).code == 0


def test_stops_at_once_where_that_is_asked(
    folder: Path, run: Run, agent: Any, done: Run
) -> None:
    """With --stop-on-request, such a request prevents any further work."""
    command = agent(ASKS)
    result = run("run", "--stop-on-request", "critical", *command[1:])
    assert (result.code, "urgent requests: req-1" in result.out) == (24, True)
    assert len(said(folder)) == 1


def test_runs_hooks_after_each_iteration(
    folder: Path, run: Run, agent: Any, done: Run, state: Any
) -> None:
    """A plan's hooks run like those of a goal: once, when an iteration has ended."""
    agent()
    hook = "id=notes,command=echo $ITERATION_NUMBER >> notes.txt"
    words = ("--plan", "plan.yaml", "--hook", hook, "--sprint-dir", "again")
    (folder / "again").mkdir()
    done("sprint", "create", "again", *words)
    command = ["run", "--sprint", "again", "--", sys.executable, "agent.py"]
    assert run(*command).code == 0
    assert (folder / "notes.txt").read_text().split() == ["1", "2", "3", "4"]
    document = load((folder / "again" / "PROGRESS.yaml").read_bytes())
    tasks = [(task["iteration"], task["status"]) for task in document["hook-tasks"]]
    assert tasks == [(n, "completed") for n in (1, 2, 3, 4)]
    done("verify")


@pytest.mark.parametrize("word", ["pause", "block"])
def test_a_reason_is_told_wherever_one_asks(
    run: Run, agent: Any, done: Run, word: str
) -> None:
    """The reason for a pause or a block is also in status and next."""
    agent()
    done("sprint", "start")
    done("sprint", word, "--reason", "no disk is free")
    why = f"the sprint is {word.removesuffix('e')}ed: no disk is free"
    assert done("status").out.startswith(f"why: {why}; next: ")
    stopped = done("status", "--json").json["stopped"]
    assert (stopped["do"], stopped["why"]) == ("stop", why)
    assert f"why: {why}" in done("next").out
    assert done("next", "--json").json["why"] == why
    assert "no disk is free" in run("run", "--", "true").out


def test_what_goes_on_has_no_reason_to_tell(agent: Any, done: Run) -> None:
    """A sprint with work to do shows no stop."""
    agent()
    done("sprint", "start")
    assert done("status", "--json").json["stopped"] is None
    assert "why" not in done("status").out


def test_a_resume_says_what_else_is_needed(sprint: Path, done: Run) -> None:
    """A blocked leaf needs a separate command, which is named or combined with it."""
    done("phase", "start")
    done("sprint", "needs-human", "--reason", "a key")
    resumed = done("sprint", "resume", "--by", "ana", "--why", "here")
    assert "warning: cannot continue yet: phase setup: a key" in resumed.err
    assert "hint: `sprintlog phase retry setup`" in resumed.err
    done("phase", "retry")
    done("phase", "start")
    done("sprint", "needs-human", "--reason", "another key")
    resumed = done("sprint", "resume", "--by", "ana", "--why", "here", "--retry")
    assert resumed.err == ""
    assert done("next", "--json").json["do"] == "work"


def test_work_that_ends_in_a_pause_is_told(sprint: Path, done: Run) -> None:
    """Completing a phase of a paused sprint reports that the work is recorded as done."""
    done("phase", "start")
    done("sprint", "pause")
    ended = done("phase", "complete", "--summary", "made")
    assert "work-done setup" in ended.out
    assert "warning: the sprint is paused: the work is recorded" in ended.err
    done("sprint", "resume")
    assert done("next").out.startswith("end setup\n")
    assert done("phase", "complete").err == ""
    assert "summary: made" in done("show", "progress").out


def test_who_has_just_gone_back_is_not_stale(sprint: Path, done: Run) -> None:
    """After a rollback the state is old, and the sprint is not silent."""
    assert done("status", "--json").json["stale"] is True
    done("phase", "start", "--at", "2026-01-15T09:01:00Z")
    done("rollback", "version:2")
    assert done("status", "--json").json["stale"] is False


def test_a_run_for_the_goal_needs_no_phase(goal_agent: Make, done: Run) -> None:
    """Records of the sprint itself are not reported as without effect."""
    goal_agent()
    done("sprint", "start")
    data = '{"phase": "", "status": "completed", "usage": {"cost_usd": 0.1}}'
    assert done("append", "agent-ran", "--data", data).err == ""


def test_a_goal_that_is_only_claimed_says_so(goal_agent: Make, done: Run) -> None:
    """A claim of the goal reports the decisions that are required first."""
    goal_agent()
    done("sprint", "start")
    done("iteration", "start")
    done("queue", "add", "A hole", "--priority", "high", "--type", "bug")
    claimed = done("goal", "complete", "--summary", "all done")
    assert "warning: the goal is claimed" in claimed.err
    assert "hint: run `sprintlog queue list --status pending`" in claimed.err
    assert done("next", "--json").json["because"] == "person"
    done("queue", "reject", "req-1", "--reasoning", "no hole")
    assert done("goal", "complete", "--summary", "all done").err == ""


def test_a_goal_that_was_given_up_says_so(goal_agent: Make, done: Run) -> None:
    """A completed sprint with a goal shows its result."""
    goal_agent()
    done("sprint", "start")
    assert "ended:" not in done("status").out
    done("sprint", "complete", "--abandon-goal", "--reason", "no money")
    assert "ended: abandoned: no money" in done("status").out.splitlines()


def test_an_error_is_told_where_it_happened(sprint: Path, done: Run) -> None:
    """A phase's data that comes from a leaf is in the tree once; so is a wait."""
    done("phase", "skip", "setup")
    done("phase", "start")
    done("phase", "fail", "--error", "429", "--category", "rate-limit")
    said = done("status").out
    assert said.count("429") == 1
    assert "why: waits" not in said
    assert done("status", "--json").json["phases"][1]["error"] == "429"
