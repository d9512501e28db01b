"""`compare`: iterations side by side, of one sprint or of several."""

from pathlib import Path

import pytest

from ..conftest import Run


@pytest.fixture
def loop(sprint: Path, done: Run) -> Path:
    """Return a folder with three iterations that have parameters and costs."""
    (sprint / "agent.json").write_text(
        '{"type":"result","num_turns":3,"total_cost_usd":0.25,"duration_ms":1500}'
    )
    for number, coverage in enumerate((60, 70, 80), start=1):
        done("iteration", "start", "--param", f"model=m{number}")
        tests = ("--metric", "test_count=9", "--metric", "tests_passed=9")
        more = ("--metric", f"coverage_percentage={coverage}", "--report", "agent.json")
        done("iteration", "end", *tests, *more)
    return sprint


def rows(printed: str) -> dict[str, list[str]]:
    """Return the rows of a table by their first cell."""
    return {words[0]: words[1:] for line in printed.splitlines() if (words := line.split())}


def test_many_stand_side_by_side(loop: Path, done: Run) -> None:
    """Each has a column with its metrics, parameters and cost."""
    found = rows(done("iteration compare", 1, "iter:3", 2).out)
    assert found["coverage"] == ["60", "80", "70"]
    assert found["model"] == ["m1", "m3", "m2"]
    assert found["cost"] == ["$0.25"] * 3
    assert found["turns"] == ["3"] * 3
    answer = done("iteration compare", 1, 3, 2, "--json").json
    assert [one["params"] for one in answer["iterations"]] == [
        {"model": "m1"},
        {"model": "m3"},
        {"model": "m2"},
    ]
    assert "deltas" not in answer


def test_report_says_what_it_was_made_with(loop: Path, done: Run) -> None:
    """The report of one iteration has its parameters next to its usage."""
    assert "**Made with**: model `m2`" in done("report", 2).out
    assert done("report", 2, "--json").json["judgement"]["params"] == {"model": "m2"}


def test_two_are_told_apart(loop: Path, done: Run) -> None:
    """For two iterations the difference is printed: from the first to the second."""
    assert rows(done("iteration compare", 1, 2).out)["coverage"] == ["60", "70", "+10"]
    assert done("iteration compare", 1, 2, "--json").json["deltas"]["coverage"] == 10.0


def test_sprints_stand_side_by_side(loop: Path, done: Run, run: Run) -> None:
    """SPRINT:N names an iteration of another sprint, judged by that sprint's rules."""
    done("fork", "other", "--from", "iter:2")
    rules = (
        "iteration",
        "rules",
        "set",
        "--metric",
        "p95_ms",
        "--better",
        "lower",
        "--weight",
        0.5,
    )
    done(*rules, "--target", 10, "--sprint", "other")
    own = ("--sprint", "other")
    done("iteration", "start", *own)
    done("iteration", "end", "--metric", "tests_passed=9", "--metric", "p95_ms=20", *own)
    number = done("list", "--json", *own).json[-1]["iteration"]
    sprint_id = done("iteration compare", 1, 2, "--json", "--sprint", "auth").json[
        "iterations"
    ][0]
    printed = done("iteration compare", "auth:1", f"other:{number}").out
    assert printed.splitlines()[0].split() == ["auth:1", f"other:{number}", "delta"]
    assert rows(printed)["p95_ms"] in (["-", "20"], ["-", "50"])
    assert sprint_id["sprint"] == "auth"
    pair = ("auth:best", f"other:{number}")
    found = done("iteration compare", *pair, "--json").json
    assert found["best"] == "auth:3"
    assert found["reason"].endswith(f"other:{number} in every figure, and listed first")
    last = done("iteration compare", *pair).out.splitlines()[-1]
    assert last == f"best: {found['best']}: {found['reason']}"
    assert run("iteration compare", "nobody:1", "auth:1").code == 3


@pytest.mark.parametrize(
    ("typed", "code"),
    [((), 2), ((1,), 2), ((1,) * 21, 2), ((1, "x"), 1), ((1, "-1"), 2), ((1, 9), 3)],
)
def test_refuses_what_is_none(
    loop: Path, run: Run, typed: tuple[object, ...], code: int
) -> None:
    """Two to twenty iterations that were measured, by number."""
    assert run("iteration compare", *typed).code == code
