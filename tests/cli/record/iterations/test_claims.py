"""Claims through `run` and `iteration decide`: the measure decides, then a reviewer."""

import json
import subprocess
from pathlib import Path

import pytest

from ...conftest import Run

CLAIM = 'echo \'{"status":"goal-complete","summary":"All pass"}\''
REVIEW = """\
cat > seen.txt
echo '{"verdict": "%s", "reason": "no test for zero"}'
"""


def claims(run: Run, *options: str, agent: str = CLAIM) -> int:
    """Run a loop whose agent claims the goal in every iteration; return the exit status."""
    run("sprint", "create", "one", "--goal", "it works")
    return run(
        "run", *options, "--rest", "0", "--", "sh", "-c", f"cat >>said; {agent}"
    ).code


def goal(run: Run) -> str:
    """Return the outcome, which is the first line of `status`."""
    return run("status").out.splitlines()[0]


@pytest.mark.parametrize(
    ("measure", "code", "standing"),
    [
        ("echo 25/25", 0, "reached, verified: 25 of 25 tests pass"),
        ("echo 3/25; false", 24, "the last time: 3 of 25 tests pass"),
        ("exit 1", 24, "the last time: the measure exited with 1"),
        ("echo '{\"coverage_percentage\": 90}'", 0, "claimed by the agent, not verified"),
        ("date +%s%N > out.txt; echo 2/2", 0, "claimed by the agent, not verified"),
        ("date +%s%N > log.txt; echo 2/2", 0, "reached, verified: 2 of 2 tests pass"),
    ],
)
def test_the_measure_decides(
    folder: Path, run: Run, measure: str, code: int, standing: str
) -> None:
    """A claim ends the loop only if the measure does not contradict it."""
    (folder / "out.txt").write_text("old")
    (folder / "log.txt").write_text("old")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "out.txt"], check=True)
    run("init")
    assert claims(run, "--measure", measure) == code
    claim = run("list", "--json").json[-1]["claim"]
    assert claim in run("list").out
    assert claim.split(": ")[-1] in standing or claim == "claim not verified"
    assert f"; {standing}; " in goal(run).replace("goal is ", "; ")


def test_the_agent_reads_why_its_claim_was_refused(folder: Path, run: Run) -> None:
    """The second prompt begins with the refusal, also with a prompt file."""
    run("init")
    (folder / "PROMPT.md").write_text("Make it work.\n")
    fixes = f"grep -q 'was refused' said && touch fixed; {CLAIM}"
    measure = "test -e fixed && echo 2/2 || { echo 1/2; exit 1; }"
    options = ("--measure", measure, "--prompt-file", "PROMPT.md")
    assert claims(run, *options, agent=fixes) == 0
    assert "1 of 2 tests pass\n" in (folder / "said").read_text()
    assert "reached, verified: 2 of 2 tests pass" in goal(run)


@pytest.mark.parametrize(
    ("verdict", "code"), [("accept", 0), ("refuse", 24), ("maybe", 24)]
)
def test_a_reviewer_has_the_second_word(
    folder: Path, run: Run, verdict: str, code: int
) -> None:
    """The reviewer sees claim, measurement and patch; an unclear answer refuses."""
    (folder / "review.sh").write_text(REVIEW % verdict)
    (folder / ".gitignore").write_text("seen.txt\nsaid\n")
    run("init")
    agent = f"date +%s%N >> work.txt; {CLAIM}"
    options = ("--snapshot", "--measure", "echo 2/2", "--review", "sh review.sh")
    assert claims(run, *options, agent=agent) == code
    seen = (folder / "seen.txt").read_text()
    assert "# Claim of iteration" in seen
    assert "All pass\n" in seen
    assert "2 of 2 tests pass\n" in seen
    assert "+++ work.txt" in seen
    assert ("verified" in goal(run)) == (code == 0)


def test_a_loop_of_ones_own_decides_with_the_same_commands(folder: Path, run: Run) -> None:
    """`goal complete` claims, `next` measures, and `iteration decide` decides."""
    run("init")
    run("sprint", "create", "one", "--goal", "it works")
    run("sprint", "start")
    run("iteration", "rules", "set", "--measure", "cat result")
    for result, action in (("1/2", "iterate"), ("2/2", "done")):
        run("iteration", "start")
        (folder / "result").write_text(f"{result}\n")
        run("goal", "complete", "--summary", "works")
        assert json.loads(run("next", "--json").out)["do"] == "measure"
        run("iteration", "measure", "--by-rules")
        assert json.loads(run("next", "--json").out)["do"] == "decide"
        run("iteration", "decide")
        assert json.loads(run("next", "--json").out)["do"] == action
