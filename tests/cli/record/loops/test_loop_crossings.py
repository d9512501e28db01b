"""Loops with budgets, waits and custom metrics, with injections, imports and forks."""

import os
import sys
import time
from pathlib import Path

import pytest

from ....adapters.trees import git
from ...conftest import Run
from ...goals import start

pytestmark = pytest.mark.long

CLI = f"'{sys.executable}' -m sprintlog.cli"
PAID = '{"type": "result", "result": "did it", "total_cost_usd": 0.25, "usage": {}}'
GATED = """\
phases:
  - {id: a, prompt: Do a, gate: {script: test -e repaired, on-fail-prompt: Repair it}}
  - {id: b, prompt: Do b}
"""
INJECTS = f"""\
cat > prompt
echo "$PHASE_ID" >> ../calls
test -e ../once || {CLI} phase inject --id x --prompt X --position after:a > ../once
grep -q 'Repair it' prompt && touch repaired
echo '{PAID}'
"""
RUN = ("--", "sh", "agent.sh")


def prepare(done: Run, tree: Path, agent: str, plan: str = "") -> None:
    """Create a sprint `one` in a folder, with a plan or a goal, and its agent."""
    tree.mkdir()
    os.chdir(tree)
    (tree / "agent.sh").write_text(agent)
    (tree / "plan.yaml").write_text(plan)
    done("init", "--here")
    words = ("--plan", "plan.yaml") if plan else ("--goal", "Win")
    done("sprint", "create", "one", *words)


def calls(folder: Path) -> list[str]:
    """Return for which phases the agent was run, in order."""
    return (folder / "calls").read_text().split()


def test_what_was_injected_before_a_gate_is_paid_by_the_same_budget(
    folder: Path, run: Run, done: Run
) -> None:
    """A budget stops before a repair and before injected work; a gate's script is free."""
    prepare(done, folder / "tree", INJECTS, GATED)
    done("iteration rules set", "--budget-cost", "0.2")
    # The work exhausts the budget; the gate still runs, but no repair is started.
    assert (run("run", *RUN).code, calls(folder)) == (25, ["a"])
    assert len(done("log", "--type", "gate-checked", "--json").lines) == 1
    done("iteration rules set", "--budget-cost", "0.4")
    assert (run("run", *RUN).code, calls(folder)) == (25, ["a", "a"])
    assert done("next", "--json").json["phase"] == "x"
    done("iteration rules set", "--budget-cost", "1")
    assert (run("run", *RUN).code, calls(folder)) == (0, ["a", "a", "x", "b"])
    assert done("status", "--json").json["spent"]["cost_usd"] == 1


def test_a_document_that_comes_in_refunds_nothing(
    folder: Path, run: Run, done: Run
) -> None:
    """Budgets and usage are knowledge: an import does not change them."""
    prepare(done, folder / "tree", f"echo '{PAID}'\n")
    done("iteration rules set", "--budget-cost", "0.5")
    assert run("run", "--rest", "0", *RUN).code == 25
    state = folder / "tree" / "PROGRESS.yaml"
    state.write_text(state.read_text().replace("goal: Win", "goal: Win more"))
    done("import", "progress", "PROGRESS.yaml")
    told = done("status", "--json").json
    assert (told["goal"], told["budgets"][0]["spent"]) == ("Win more", 0.5)
    assert run("run", "--rest", "0", *RUN).code == 25
    assert len(done("log", "--type", "agent-ran", "--json").lines) == 2


def test_a_fork_judges_by_the_metrics_of_its_past(folder: Path, done: Run) -> None:
    """Custom metrics, their target and the budget are those at the fork's start."""
    prepare(done, folder / "tree", "")
    metric = ("--metric", "p95_ms", "--better", "lower", "--weight", "0.2")
    done("iteration rules set", *metric, "--target", "100", "--budget-cost", "3")
    done("sprint", "start")
    for value in (200, 125):
        done("iteration", "start")
        words = ("--metric", "test_count=5", "--metric", "tests_passed=5")
        done("iteration", "end", *words, "--metric", f"p95_ms={value}")
    done("fork", "two", "--from", "iter:1")
    done("iteration rules set", *metric, "--target", "50", "--budget-cost", "1")
    for name in ("one", "two"):
        done("iteration", "start", "--sprint", name)
        done("iteration", "end", "--sprint", name, *words, "--metric", "p95_ms=125")
    # Here 125 of 100 results in 80 points, or in 40 if the target changed afterwards.
    points = [
        line.split()[1:]
        for line in done("iteration compare", "one:3", "two:2").out.splitlines()
        if line.strip().startswith("p95_ms")
    ]
    assert points[0][:2] == ["40", "80"]
    budgets = done("status", "--json", "--sprint", "two").json["budgets"]
    assert [one["limit"] for one in budgets if one["budget"] == "cost"] == [3]


def test_a_wait_in_one_work_tree_stops_no_other(folder: Path, run: Run, done: Run) -> None:
    """While a loop waits for a limit, that of a linked work tree finishes."""
    main, linked = folder / "main", folder / "linked"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    git(
        main,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-qm",
        "c",
        "--allow-empty",
    )
    git(main, "worktree", "add", "-q", str(linked))
    os.chdir(main)
    done("init")
    plan = "phases:\n  - {id: a, prompt: A}\n  - {id: b, prompt: B}\n"
    for tree in (main, linked):
        os.chdir(tree)
        (tree / "plan.yaml").write_text(plan)
        (tree / "agent.sh").write_text("echo did it\n")
        done("sprint", "create", tree.name, "--plan", "plan.yaml")
    limited = (
        "test -e ../free || { echo '429: try again in 1h' >&2; exit 1; }\necho did it\n"
    )
    (main / "agent.sh").write_text(limited)
    os.chdir(main)
    waiting = start(["run", "--sprint", "main", *RUN])
    while not done("log", "--all", "--type", "retry-scheduled", "--json").lines:
        assert waiting.poll() is None
        time.sleep(0.05)
    os.chdir(linked)
    assert run("run", "--sprint", "linked", *RUN).code == 0
    os.chdir(main)
    assert waiting.poll() is None
    assert done("next", "--json", "--sprint", "main").json["waits_for"] == "usage-limit"
    # Events in the other tree do not end the wait; a pause of this sprint does.
    (folder / "free").touch()
    done("sprint", "pause", "--sprint", "main")
    waiting.communicate()
    assert waiting.returncode == 22
    done("sprint", "resume", "--sprint", "main", "--by", "ana", "--why", "paid for")
    assert run("run", "--sprint", "main", *RUN).code == 0
    done("verify")
