"""`run --fallback`: another agent works while a limit blocks the loop's own."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.processes.loop_lock import hold
from sprintlog.engine.adapters.processes.signals import Signals
from sprintlog.engine.service.driver import waits
from sprintlog.engine.service.driver.agent import Driver, RunSettings
from sprintlog.engine.service.driver.runner import Runner
from sprintlog.engine.service.driver.runs import recorded
from sprintlog.engine.sprint.events import Budgets
from sprintlog.projections.workspace import Workspace

from ...conftest import Run
from ...goals import start, wait_for_nobody
from .test_waits_of_run import Clock, events

OWN, OTHER = "own", "other"
SCRIPT = """\
cat > prompt.$1.$ITERATION_NUMBER
echo "$1 $ITERATION_NUMBER" >> asked
read -r line < script.$1
sed -i 1d script.$1
eval "$line"
"""
"""An agent that plays the next line of its script."""
WORKS = "echo worked"
LIMIT = 'echo "You\'ve hit your limit" >&2; exit 1'
FAILS = "exit 3"
LOGIN = "echo 'Invalid API key' >&2; exit 1"


class Steps(Clock):
    """A clock on which sleeping takes no time."""

    def __init__(self) -> None:
        super().__init__([])
        self.ms = time.time_ns() // 1_000_000_000 * 1000
        self.is_live = False
        """Whether the clock also advances for other processes."""

    def __call__(self) -> int:
        """Return its screen."""
        return max(self.ms, time.time_ns() // 1_000_000) if self.is_live else self.ms

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.slept += [seconds] if seconds else []
        self.ms += int(1000 * seconds)


def until(clock: Steps, minutes: int) -> str:
    """Return a script line that meets a limit of some minutes."""
    at = clock() // 1000 + 60 * minutes
    return f"echo 'Claude AI usage limit reached|{at}' >&2; exit 1"


@pytest.fixture
def clock() -> Steps:
    """Return a clock that moves when the loop sleeps."""
    return Steps()


@pytest.fixture
def play(folder: Path, done: Run, clock: Steps, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that plays two scripts, and returns the order of the agents."""
    monkeypatch.setattr(waits, "NAP_SECONDS", 1e9)
    done("init")

    def call(
        own: list[str], other: list[str], iterations: int, plan: str = "", **more: Any
    ) -> Any:
        (folder / "agent.sh").write_text(SCRIPT)
        for name, lines in ((OWN, own), (OTHER, other)):
            (folder / f"script.{name}").write_text("\n".join(lines) + "\n")
        limit = ("--max-iterations", iterations)
        (folder / "plan.yaml").write_text(plan)
        made = ("--plan", "plan.yaml") if plan else ("--goal", "x", *limit)
        done("sprint", "create", "g", *made)
        means = RunSettings(
            ["sh", "agent.sh", OWN], os.environ, 60, sleep=clock.sleep, rest_seconds=0,
            fallback=f"sh agent.sh {OTHER}", **more,
        )  # fmt: skip
        with (
            Workspace.open(folder, clock=clock) as workspace,
            Signals() as signals,
            hold(workspace.location.folder, "g", now=workspace.now()) as (lock, _),
        ):
            driver = Driver(workspace, "g", means, signals, lock, print)
            last = recorded(driver, Runner(driver).run, lambda last: 0)
        return (folder / "asked").read_text().splitlines(), last

    return call


def test_it_works_in_the_same_iterations_while_the_limit_lasts(
    folder: Path, play: Any, clock: Steps, done: Run
) -> None:
    """It gets the same prompt and has its own runs; afterwards the own agent works."""
    took = "sleep 0; echo worked"
    asked, last = play([WORKS, until(clock, 5), WORKS], [took, took, WORKS], 4)
    assert (last.because, clock.slept) == ("limit", [])
    assert asked == ["own 1", "own 2", "other 2", "other 3", "other 4"]
    prompts = [(folder / f"prompt.{who}.2").read_text() for who in (OWN, OTHER)]
    assert prompts[0] == prompts[1] != ""
    ran = [x["data"] for x in events(done, "agent-ran")]
    assert [x.get("is_fallback", False) for x in ran] == [False, False, True, True, True]
    assert [x["iteration"] for x in ran] == [1, 2, 2, 3, 4]
    assert ran[2]["command"] == "sh agent.sh other"
    assert len(events(done, "retry-scheduled")) == 1
    assert [x["data"]["number"] for x in events(done, "iteration-ended")] == [1, 2, 3, 4]
    done("verify")


@pytest.mark.parametrize(
    ("own", "other", "asked", "slept"),
    [
        # Both commands are limited: the earlier reset ends the wait.
        ([5, WORKS], [9], ["own", "other", "own"], [300]),
        ([9, 9, WORKS], [5], ["own", "other", "own", "other"], [300]),
        # If the fallback fails, the loop still waits for the limit.
        ([5, WORKS], [LOGIN], ["own", "other", "own"], [300]),
        (
            [30, WORKS],
            [FAILS] * 4,
            ["own", *["other"] * 4, "own"],
            [10, 60, 300, 1800 - 370],
        ),
    ],
)
def test_a_fallback_that_cannot_work_ends_nothing(
    play: Any,
    clock: Steps,
    own: list[Any],
    other: list[Any],
    asked: list[str],
    slept: list[int],
) -> None:
    """As without a fallback, the loop waits until either of them can work."""
    scripts = [
        [until(clock, line) if isinstance(line, int) else line for line in lines]
        for lines in (own, [*other, WORKS, WORKS])
    ]
    found, last = play(*scripts, 1)
    assert last.because == "limit"
    assert found == [f"{who} 1" for who in asked]
    assert clock.slept == slept


PLAN = """\
phases:
  - {id: a, prompt: Do it, model: opus}
  - {id: b, prompt: Do more}
  - id: c
    prompt: Check
    gate: {script: test -e repaired, on-fail-prompt: Repair it, max-retries: 2}
"""


def test_a_plan_and_its_repairs_go_on_with_it(
    folder: Path, play: Any, clock: Steps, done: Run
) -> None:
    """Phases and repairs of gates are done by the fallback, with its own model."""
    repairs = "touch repaired; echo repaired"
    model = 'echo "model:$SPRINTLOG_MODEL"'
    asked, last = play([until(clock, 60)], [model, WORKS, WORKS, repairs], 0, PLAN)
    assert (last.do, clock.slept) == ("done", [])
    assert [line.split()[0] for line in asked] == ["own", *["other"] * 4]
    ran = [x["data"] for x in events(done, "agent-ran")]
    assert [x["phase"] for x in ran] == ["a", "a", "b", "c", "c"]
    assert (ran[1]["output"], ran[4]["is_repair"]) == ("model:\n", True)


def test_status_shows_it_and_a_person_ends_the_limit(
    folder: Path, play: Any, clock: Steps, done: Run
) -> None:
    """While it works `next` and `status` name it; `sprint resume` ends its time."""
    program = f"{sys.executable} -m sprintlog.cli"
    line = f"{program} status > seen; {program} next --json > next; echo worked"
    resumes = f"{program} sprint resume; echo worked"
    clock.is_live = True
    asked, _ = play([until(clock, 60 * 24), WORKS], [line, resumes], 3)
    assert asked == ["own 1", "other 1", "other 2", "own 3"]
    said = " ".join((folder / "seen").read_text().split())
    assert "by the fallback `sh agent.sh other` until" in said
    answer = json.loads((folder / "next").read_text())
    assert (answer["do"], answer["is_fallback"]) == ("iterate", True)
    assert answer["waits_for"] == "usage-limit"


def test_its_failures_are_no_stop_but_count_in_budgets(
    play: Any, clock: Steps, done: Run
) -> None:
    """Its cost is counted; without a stated cost a budget of money is refused."""
    costs = (
        """echo '{"type":"result","subtype":"success","result":"x","total_cost_usd":0.5,"""
        """"usage":{"input_tokens":7,"output_tokens":3}}'"""
    )
    play([until(clock, 60)], [costs, costs], 2)
    spent = done("status", "--json").json["spent"]
    assert (spent["cost_usd"], spent["input_tokens"], spent["runs"]) == (1.0, 14, 3)


def test_a_budget_of_failures_counts_those_of_the_fallback(play: Any, clock: Steps) -> None:
    """A smaller budget ends the run, which would otherwise wait for the own agent."""
    scripts = [until(clock, 60)], [FAILS] * 4
    asked, last = play(*scripts, 1, budgets=Budgets(failures=2))
    assert (asked, last.because) == (["own 1", "other 1", "other 1"], "budget")
    assert clock.slept == [10]


@pytest.mark.long
def test_a_loop_killed_while_it_works_goes_on_with_it(
    folder: Path, run: Run, done: Run, clock: Steps
) -> None:
    """The limit is known after the kill, and the same iteration continues."""
    (folder / "agent.sh").write_text(SCRIPT)
    (folder / "script.own").write_text(until(clock, 60) + "\n")
    (folder / "script.other").write_text(f"exec sleep 100\n{WORKS}\n")
    done("init")
    done("sprint", "create", "g", "--goal", "x", "--max-iterations", "1")
    line = ["run", "--fallback", "sh agent.sh other", "--", "sh", "agent.sh", "own"]
    loop, asked = start(line), folder / "asked"
    while not asked.exists() or "other" not in asked.read_text():
        assert loop.poll() is None
        time.sleep(0.05)
    loop.kill()
    loop.communicate()
    wait_for_nobody(folder)
    assert run(*line).code == 20
    assert asked.read_text().splitlines() == ["own 1", "other 1", "other 1"]
    assert len(events(done, "iteration-started")) == 1
    assert [x["data"]["because"] for x in events(done, "run-ended")] == ["lost", "limit"]
    done("verify")


def test_it_comes_from_the_line_or_a_trusted_file(
    folder: Path, run: Run, done: Run
) -> None:
    """An untrusted file is refused, and so is a command that does not exist."""
    done("init")
    done("sprint", "create", "g", "--goal", "x", "--max-iterations", "1")
    limited = ("sh", "-c", 'echo "You\'ve hit your limit" >&2; exit 1')
    result = run("run", "--fallback", "nosuch -x", "--", *limited)
    assert (result.code, "nosuch: command not found" in result.err) == (3, True)
    refused = run("run", "--fallback", "codex", "--budget-cost", "1", "--", *limited)
    assert refused.code != 0
    (folder / "sprintlog.toml").write_text('[agent]\nfallback = "cat > got; echo done"\n')
    result = run("run", "--", *limited)
    assert (result.code, "trust" in result.err) == (1, True)
    assert not (folder / "got").exists()
    done("config", "--trust")
    assert run("run", "--", *limited).code == 20
    assert "x" in (folder / "got").read_text()
