"""What makes `run` stop: its exit codes, and what `status` and `next` say of it."""

import sys
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.yaml.reader import load

from .conftest import Run
from .scripted import PLAN


def said(folder: Path) -> list[str]:
    """Return what the agent was handed, in order."""
    return (folder / "said.txt").read_text().splitlines()


def test_stops_at_the_last_iteration(run: Run, agent: Any, done: Run) -> None:
    """The limit of iterations has an exit code of its own, and `status` says it."""
    result = run(
        *agent(plan=PLAN.replace("max-iterations: 40", "stats: {max-iterations: 1}"))
    )
    assert (result.code, "iteration 1 of at most 1" in result.out) == (20, True)
    assert done("status").out.splitlines()[1] == "why: iteration 1 of at most 1 is over"


ASKS = """
if os.environ["PHASE_ID"] == "setup":
    import subprocess
    line = [sys.executable, "-m", "sprintlog.cli", "queue", "add", "A hole", "--priority",
            "critical", "--type", "security", "--json"]
    subprocess.run(line, stdout=2, check=True)
"""


def test_finishes_nothing_over_an_urgent_request(run: Run, agent: Any, done: Run) -> None:
    """The loop works on to the end, and stops there until the request is decided."""
    command = agent(ASKS)
    result = run(*command)
    assert (result.code, "for a decision: req-1" in result.out) == (24, True)
    assert done("status", "--json").json["stats"]["completed-phases"] == 3
    refused = run("sprint", "complete")
    assert (refused.code, "without a decision: req-1" in refused.err) == (1, True)
    done("queue", "reject", "req-1", "--reasoning", "No hole")
    assert run(*command).code == 0


def test_stops_at_once_where_that_is_wished(
    folder: Path, run: Run, agent: Any, done: Run
) -> None:
    """With --stop-on-request nothing further is begun over a request of that priority."""
    command = agent(ASKS)
    result = run("run", "--stop-on-request", "critical", *command[1:])
    assert (result.code, "at once: req-1" in result.out) == (24, True)
    assert len(said(folder)) == 1


def test_runs_hooks_after_each_iteration(
    folder: Path, run: Run, agent: Any, done: Run, state: Any
) -> None:
    """Hooks of a plan are run as those of a goal: once, when an iteration has ended."""
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
    """Why somebody paused or blocked the sprint is in status and next, too."""
    agent()
    done("sprint", "start")
    done("sprint", word, "--reason", "no disk is free")
    why = f"the sprint is {word.removesuffix('e')}ed: no disk is free"
    assert done("status").out.splitlines()[1] == f"why: {why}"
    stopped = done("status", "--json").json["stopped"]
    assert (stopped["do"], stopped["why"]) == ("stop", why)
    assert f"why: {why}" in done("next").out
    assert done("next", "--json").json["why"] == why
    assert "no disk is free" in run("run", "--", "true").out


def test_what_goes_on_has_no_reason_to_tell(agent: Any, done: Run) -> None:
    """A sprint with work to do says nothing of a stop."""
    agent()
    done("sprint", "start")
    assert done("status", "--json").json["stopped"] is None
    assert "why" not in done("status").out
