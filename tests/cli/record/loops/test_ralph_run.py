"""`run` with a goal: iterations, records, output and stops."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.processes.signals import Signals
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from ...goals import AGENT, HOOK, Make, said

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures" / "definitions"


def test_reaches_a_goal(
    folder: Path, run: Run, goal_agent: Make, state: Any, done: Run
) -> None:
    """Steps are added and completed, the goal is reached, the sprint is completed."""
    result = run(*goal_agent())
    assert (result.code, result.out) == (0, "win: done\n")
    assert said(folder) == ["1 1 None", "2 1 None", "3 1 None"]
    document = state()
    assert [s["status"] for s in document["dynamic-steps"]] == ["completed"] * 2
    assert document["ralph-exit"]["iteration"] == 3
    done("verify")


def test_a_missing_sprint_is_created_with_a_goal_and_a_limit(
    folder: Path, run: Run, done: Run
) -> None:
    """`--goal` creates the named sprint, and `--max-iterations` sets its limit."""
    command = ("--", "sh", "-c", "cat >/dev/null; echo >> work; echo on")
    options = ("--rest", 0, "--sprint", "new", "--goal", "Win")
    assert run("run", *options, "--max-iterations", 1, *command).code == 20
    document = done("show", "progress", "--json", "--sprint", "new").json
    assert (document["goal"], document["stats"]["max-iterations"]) == ("Win", 1)
    assert run("run", *options, "--max-iterations", 2, *command).code == 20
    assert done("status", "--json", "--sprint", "new").json["stats"]["max-iterations"] == 2
    assert (folder / "work").read_text() == "\n" * 2


@pytest.mark.long
def test_keeps_the_files_of_each_iteration(
    folder: Path, run: Run, goal_agent: Make, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --snapshot the baseline and each iteration's files can be had again."""
    line = goal_agent('open("work", "w").write(str(number))', options=("--snapshot",))
    result = run(*line)
    assert (result.code, result.out) == (0, "win: done\n")
    assert result.err.count(" kept, ") == 4
    events = done("log", "--type", "snapshot-taken", "--json").lines
    assert [event["data"]["iteration"] for event in events] == [0, 1, 2, 3]
    for number in (2, 1):
        done("rollback", f"iter:{number}", "work", "--files", "--yes")
        assert (folder / "work").read_text() == str(number)
    monkeypatch.setenv("PATH", str(folder))
    assert "snapshots need git" in run(*line).err


def test_an_iteration_is_one_append(run: Run, goal_agent: Make, done: Run) -> None:
    """All events of an iteration have the same time and correlation id."""
    assert run(*goal_agent()).code == 0
    *events, end = done("log", "--json").lines
    assert end["type"] == "run-ended"
    last = [event for event in events if event["at"] == events[-1]["at"]]
    assert [event["type"] for event in last] == [
        "agent-ran",
        "dynamic-step-updated",
        "iteration-ended",
        "goal-claimed",
        "goal-completed",
    ]
    assert last[0]["data"]["iteration"] == 3


def test_adds_up_what_agents_took(run: Run, goal_agent: Make, done: Run) -> None:
    """`status` shows the known cost of all iterations, at any of them."""
    assert run(*goal_agent()).code == 0
    spent = done("status", "--json").json["spent"]
    spent.pop("duration_ms")
    assert spent == {"runs": 3, "input_tokens": 30, "output_tokens": 3, "tokens": 33,
                     "cost_usd": 0.3}  # fmt: skip
    assert "3 runs" in done("status").out
    assert "$0.30" in done("status").out
    assert done("status", "--at", "iter:2", "--json").json["spent"]["cost_usd"] == 0.2


def test_a_definition_is_worked_on(folder: Path, run: Run, done: Run, state: Any) -> None:
    """A SPRINT.yaml in Ralph mode has the same effect: its prompts, hooks and minimum."""
    definition = FIXTURES / "ralph"
    (folder / "agent.py").write_text(AGENT % "")
    done("init")
    words = ["--workflows", FIXTURES / "workflows", "--sprint-dir", "."]
    done("compile", definition, *words)
    done("sprint", "start")
    assert "Split the goal into steps." in done("next", "--prompt").out
    assert run("run", "--hook-command", "true", "--", sys.executable, "agent.py").code == 0
    document = state()
    assert document["ralph-exit"]["iteration"] == 3
    assert [t["hook-id"] for t in document["hook-tasks"]] == ["learn", "docs"] * 3


def test_masks_what_comes_in(run: Run, goal_agent: Make, done: Run) -> None:
    """A token in a step or a goal is masked, and the step is recognized again."""
    token = "ghp_" + "a1" * 18
    words = f'print(\'{{"status": "continue", "pending": ["use {token}"]}}\'); sys.exit()'
    assert run(*goal_agent(f"if number < 3: {words}")).code == 0
    done("sprint", "reopen")
    done("goal", "set", f"Use {token}")
    assert token not in done("log", "--json").out
    assert [s["id"] for s in done("status", "--json").json["steps"]] == ["step-0"]


def test_stops_where_a_person_is_needed(
    run: Run, goal_agent: Make, state: Any, done: Run
) -> None:
    """The sprint waits with the reason; resumed, the same iteration is run again."""
    ask = 'print(\'{"status": "needs-human", "reason": "a key"}\'); sys.exit()'
    trait = f"if number == 2 and not os.path.exists('key'):\n    {ask}"
    command = goal_agent(trait)
    result = run(*command)
    assert (result.code, "a key" in result.out) == (24, True)
    assert state()["human-needed"] == {"reason": "a key"}
    assert done("status").out.startswith("why: a key; next: ")
    done("sprint", "resume", "--by", "ana", "--why", "here it is")
    Path("key").touch()
    assert run(*command).code == 0
    assert state()["stats"]["current-iteration"] == 3


@pytest.mark.parametrize(
    ("trait", "why"),
    [
        ("sys.exit(3)", "exit code 3"),
        ('print(\'{"status": "completed"}\'); sys.exit()', "'completed' is unknown"),
        ("sys.stdout = open(os.devnull, 'w')", "without saying anything"),
    ],
)
def test_a_failure_stops(run: Run, goal_agent: Make, trait: str, why: str) -> None:
    """A failure never counts as success: the loop stops with a reason."""
    result = run(*goal_agent(trait, creating=("--max-failures", "0")))
    assert (result.code, why in result.out) == (23, True)


@pytest.mark.long
def test_a_rate_limit_is_waited_for(folder: Path, run: Run, goal_agent: Make) -> None:
    """The same iteration continues after its wait, or is left on request."""
    limited = "len(open('said.txt').readlines()) == 1"
    command = goal_agent(f"if {limited}: sys.exit('429, retry-after: 1')")
    result = run("run", "--no-wait", "--json", *command[1:])
    assert (result.code, result.json["do"], result.json["iteration"]) == (1, "wait", 1)
    result = run(*command)
    assert result.code == 0
    assert "wait   iteration 1 until" in result.err
    assert said(folder) == ["1 1 None", "1 1 None", "2 1 None", "3 1 None"]


def test_rests_after_an_iteration_without_change(
    folder: Path, goal_agent: Make, done: Run
) -> None:
    """After an immediate answer without changes, the agent runs again after a pause."""
    goal_agent('print("words" if number < 3 else "RALPH_COMPLETE"); sys.exit()')
    slept: list[float] = []
    means = RunSettings([sys.executable, "agent.py"], os.environ, 60, sleep=slept.append)
    with Workspace.open(folder) as workspace, Signals() as signals:
        Runner(
            Driver(
                workspace, "win", means=means, signals=signals, lock=2, tell=lambda _: None
            )
        ).run()
    assert slept == [1.0, 1.0]


@pytest.mark.long
def test_more_iterations_cost_none(run: Run, goal_agent: Make, done: Run) -> None:
    """After `sprint limit`, the loop continues with the next number."""
    command = goal_agent('print("words"); sys.exit()')
    assert run(*command).code == 20
    assert "next: use `sprintlog sprint limit 19` to allow more" in done("status").out
    refused = run("iteration", "start")
    assert (refused.code, "the limit is 9, and 9 were" in refused.err) == (1, True)
    done("sprint", "limit", "10")
    assert done("next", "--json").json["iteration"] == 10
    assert run(*command).code == 20
    assert done("status", "--json").json["stats"]["current-iteration"] == 10
    done("iteration", "start", "--beyond-limit")


@pytest.mark.long
def test_stops_at_the_last_iteration(run: Run, goal_agent: Make, done: Run) -> None:
    """A goal that is not reached within `max-iterations` waits for a person."""
    command = goal_agent('print("words"); sys.exit()')
    result = run(*command)
    assert (result.code, "reached the limit of 9 iterations" in result.out) == (20, True)
    status = done("status")
    assert "no step moved for 9 iterations: the next one reflects" in status.out


def test_next_shows_an_iteration_and_hooks(goal_agent: Make, done: Run) -> None:
    """For custom loops `next` prints the iteration, its prompt, and its hooks."""
    goal_agent("", HOOK)
    done("sprint", "start")
    assert done("next").out.splitlines()[0] == "iterate iteration 1"
    assert done("next", "--prompt").out.startswith("# Goal\n\nWin\n")
    done("iteration", "start")
    assert done("step", "add", "--prompt", "x", "--json").json["step"] == "step-0"
    done("iteration", "end")
    assert "learning → transcripts/iter-1-learning.jsonl" in done("next").out
    done("hook-task", "spawned", "learning")
    done("hook-task", "failed", "learning", "--error", "no")
    assert done("next", "--json").json["iteration"] == 2
    assert "step-0 (pending): x" in done("status").out
    done("goal", "complete", "--summary", "x")
    assert json.loads(done("next", "--json").out)["do"] == "done"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--mode", "ralph"], "Ralph mode requires --goal"),
        (["--goal", "x", "--mode", "standard"], "Ralph mode requires --goal"),
        (["--hook", HOOK], "specify --plan or --goal"),
        (["--goal", "x", "--hook", "workflow=w"], "id"),
        (["--goal", "x", "--hook", "id=a"], "names nothing to run"),
        (["--goal", "x", "--hook", "id=a,workflow=w,parallel=maybe"], "true or false"),
        (["--goal", "x", "--hook", "id=a,id=b"], "given twice"),
        (["--goal", "x", "--hook", "nonsense"], "is unknown"),
    ],
)
def test_refuses_a_goal_that_is_not_said_right(
    folder: Path, run: Run, done: Run, words: list[str], problem: str
) -> None:
    """Missing and unknown items are named, and nothing is recorded."""
    done("init")
    result = run("sprint", "create", "win", *words)
    assert result.code in (1, 2)
    assert problem in result.err
    assert run("status").code == 3
