"""The first line of `status`: result, evidence, the iteration to use, the next command."""

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ..conftest import Run

PROGRAM = (sys.executable, "-m", "sprintlog.cli")
CLAIMS = 'echo \'{"status":"goal-complete","summary":"All tests pass"}\''
WORKS = "echo done"
AGENT = "cat > prompt.txt; date +%N > work.txt; "
IDLES = f"cat > /dev/null; {WORKS}"
GOAL = ("sprint create", "g", "--goal", "all tests pass", "--max-iterations", "2")
FALLS = "test -e work.txt && echo 20/25 || echo 25/25"
RESUME = "resolve the problem, then run `sprintlog sprint resume --by NAME --why TEXT`"
MORE = "use `sprintlog sprint limit 12` to allow more"
GO_ON = "use `sprintlog iteration decide --go-on` to continue anyway"
REPORT = "`sprintlog report`"
COMPLETE = "`sprintlog goal complete` if that is the goal"
GATE = """\
phases:
  - {id: a, prompt: A}
  - {id: b, prompt: B, gate: {script: "false", max-retries: 0}}
"""


class Night(NamedTuple):
    """A loop, the exit status of its run, and the first line of `status` after it."""

    agent: str
    options: tuple[str, ...]
    code: int
    sentence: str
    goal: str | None = "open"
    iteration: int | None = None
    next: str | None = None


NIGHTS = {
    "verified": Night(
        CLAIMS, ("--measure", "echo 25/25"), 0,
        "done: the goal is reached, verified: 25 of 25 tests pass; use iteration 1; "
        "since TIME; next: {next}", "verified", 1, REPORT,
    ),
    "claimed, not verified": Night(
        CLAIMS, ("--snapshot",), 0,
        "done: the goal is claimed by the agent, not verified; use iteration 1; since "
        "TIME; next: {next}", "claimed", 1,
        "check the work, for example with `sprintlog log`",
    ),
    "refused": Night(
        CLAIMS, ("--measure", "echo 3/25"), 20,
        "stopped: reached the limit of 2 iterations; claim refused: 3 of 25 tests pass; "
        "use iteration 1 (3 of 25 tests pass); next: {next}", "refused", 1, MORE,
    ),
    "the condition is met": Night(
        WORKS, ("--until", "coverage>=80", "--prompt-file", "PROMPT.md", "--measure",
                "echo '{\"coverage_percentage\": 81}'"), 0,
        "done: the goal is reached, verified: coverage>=80 is met; use iteration 1; since "
        "TIME; next: {next}", "verified", 1, REPORT,
    ),
    "limit, all tests pass": Night(
        WORKS, ("--measure", "echo 25/25"), 20,
        "stopped: reached the limit of 2 iterations; all 25 tests pass since iteration 1; "
        "use iteration 2; next: {next}", "open", 2, COMPLETE,
    ),
    "limit, some tests fail": Night(
        WORKS, ("--measure", "echo 20/25"), 20,
        "stopped: reached the limit of 2 iterations; 20 of 25 tests pass in iteration 2; "
        "use iteration 1 (20 of 25 tests pass); next: {next}", "open", 1, MORE,
    ),
    "limit, nothing measured": Night(
        WORKS, (), 20, "stopped: reached the limit of 2 iterations; next: {next}",
        next=MORE,
    ),
    "budget": Night(
        WORKS, ("--measure", "echo 1/1", "--budget-iterations", "1"), 20,
        "stopped: the budget is spent: iterations 1 of 1 in this run (resolved: it can "
        "continue); the test passes since iteration 1; use iteration 1; next: {next}",
        "open", 1, COMPLETE,
    ),
    "regression": Night(
        WORKS, ("--snapshot", "--measure", FALLS), 26,
        "stopped: iteration 1: Previously passing tests now failing; 20 of 25 tests pass "
        "in iteration 1; use the files from before the first iteration; next: {next}",
        "open", 0, f"use `sprintlog rollback iter:0` to roll back; {GO_ON}",
    ),
    "three refusals": Night(
        CLAIMS, ("--measure", "echo 3/25"), 24,
        "why: the goal was claimed 3 times in a row, and each claim refused; the last "
        "time: 3 of 25 tests pass; use iteration 1 (3 of 25 tests pass); next: {next}",
        "refused", 1, RESUME,
    ),
    "stall": Night(
        IDLES, ("--measure", "echo 1/2"), 26,
        "stopped: iteration 5: no file changed in 5 consecutive iterations; the best "
        "iteration is 1; 1 of 2 tests pass in iteration 5; use iteration 1 (1 of 2 tests "
        "pass); next: {next}", "open", 1, GO_ON,
    ),
    "tampered": Night(
        f"echo > test_a.py; {WORKS}",
        ("--snapshot", "--on-tamper", "stop", "--measure", "echo 25/25"), 26,
        "stopped: iteration 1 changed its measure: test_a.py (1 test removed); "
        "next: {next}", "open", None,
        f"`sprintlog iteration accept 1 --reason TEXT` if that is correct; {GO_ON}",
    ),
    "what an agent asks is not the next command": Night(
        'echo \'{"status":"needs-human","reason":"why; next: `rm x`"}\'', (), 24,
        "why: why; next: `rm x`; next: {next}", "open", None, RESUME,
    ),
    "wrap, verified": Night(
        CLAIMS, ("wrap", "--measure", "echo 25/25"), 0,
        "done: the goal is reached, verified: 25 of 25 tests pass; use iteration 1; "
        "since TIME; next: {next}", "verified", 1, REPORT,
    ),
    "wrap, refused": Night(
        CLAIMS, ("wrap", "--measure", "echo 3/25"), 0,
        "now: iteration 1 ended, none is running; last event TIME; claim refused: 3 of 25 "
        "tests pass; use iteration 1", "refused", 1,
    ),
    "wrap, claimed": Night(
        CLAIMS, ("wrap",), 0,
        "now: iteration 1 ended, none is running; last event TIME; claimed, not "
        "verified: nothing was measured",
        "claimed",
    ),
    "wrap, all tests pass": Night(
        WORKS, ("wrap", "--measure", "echo 3/3"), 0,
        "now: iteration 1 ended, none is running; last event TIME; all 3 tests pass since "
        "iteration 1; use iteration 1", "open", 1,
    ),
    "gate": Night(
        WORKS, (), 23,
        "why: the sprint is blocked: phase b: the gate failed once, as often as it may; "
        "last: exit code 1; next: {next}", None, None,
        f"{RESUME}, and `sprintlog gate run`; or have b done again: "
        "`sprintlog phase retry b`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NIGHTS)
def test_the_first_line_states_the_outcome(folder: Path, run: Run, name: str) -> None:
    """One sentence states result, evidence, iteration and next command, also in JSON."""
    night = NIGHTS[name]
    run("init")
    (folder / "PROMPT.md").write_text("Work.\n")
    (folder / "plan.yaml").write_text(GATE)
    (folder / "test_a.py").write_text("def test_a():\n    assert 1\n")
    (folder / "work.txt").touch()
    if name == "regression":
        (folder / "work.txt").unlink()
    if name == "gate":
        run("sprint create", "g", "--plan", "plan.yaml")
    elif not {"--prompt-file", "wrap"} & {*night.options}:
        run(*GOAL)
    if night.code in (24, 26):
        run("sprint limit", "9")
    agent = night.agent if night.agent == IDLES else AGENT + night.agent
    ours = () if "wrap" in night.options else ("run", "--rest", "0")
    words = (*PROGRAM, *ours, *night.options, "--", "sh", "-c", agent)
    assert subprocess.run(words, capture_output=True, check=False).returncode == night.code
    first = run("status").out.splitlines()[0]
    assert re.sub(r"\d{4}-\S+Z", "TIME", first) == night.sentence.format(next=night.next)
    answer = run("status", "--json").json["outcome"]
    assert answer == {
        "sentence": first, "goal": night.goal, "iteration": night.iteration,
        "next": night.next,
    }  # fmt: skip
    assert first in run("report").out
