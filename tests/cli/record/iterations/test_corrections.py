"""`iteration retract`, `describe`, another baseline, and a person's selection."""

from pathlib import Path
from typing import Any

import pytest

from ....adapters.trees import git
from ...conftest import Run

TESTS = ("--metric", "test_count=9", "--metric", "tests_passed=9")


def measure(done: Run, coverage: int, *more: object) -> None:
    """Record an iteration with this coverage."""
    done("iteration", "start")
    done("iteration", "end", *TESTS, "--metric", f"coverage_percentage={coverage}", *more)


@pytest.fixture
def loop(sprint: Path, done: Run) -> Path:
    """Return a folder with a baseline and three iterations; the second is too good."""
    done("iteration", "baseline", *TESTS, "--metric", "coverage_percentage=50")
    for coverage in (60, 99, 70):
        measure(done, coverage)
    return sprint


def listed(done: Run, *at: str) -> dict[int, Any]:
    """Return the known iterations, by number."""
    found = done("list", "--json", *at).json
    return {one["iteration"]: one for one in found}


def test_best_is_judged_anew(loop: Path, done: Run) -> None:
    """Without the wrong number another is best, and its alert is gone."""
    assert done("iteration best", "--json").json["best"]["iteration"] == 2
    assert done("iteration decide", "--json").json["recommendation"]["action"] == "rollback"
    done("iteration", "retract", 2, "--reason", "wrong report")
    assert done("iteration best", "--json").json["best"]["iteration"] == 3
    known = listed(done)
    assert known[2]["retracted"] == "wrong report"
    assert known[2]["score"] is None
    assert (known[3]["alerts"], known[3]["previous"]) == ([], 1)
    assert known[3]["class"] == "forward"
    assert done("iteration decide", "--json").json["recommendation"]["action"] == "continue"
    given = done("log", "--json", "--type", "recommendation-given").lines
    assert [one["data"]["action"] for one in given] == ["rollback", "continue"]
    assert "its measurement was retracted: wrong report" in done("report").out


def test_past_stays_as_it_was(loop: Path, done: Run) -> None:
    """At a version before the retraction everything is as at that time."""
    version = listed(done)[3]["version"]
    before = listed(done)
    done("iteration", "retract", 2, "--reason", "wrong")
    assert listed(done, "--at", f"version:{version}") == before
    assert (
        done("iteration best", "--json", "--at", f"version:{version}").json["best"][
            "iteration"
        ]
        == 2
    )


def test_nothing_takes_it_back(loop: Path, done: Run, run: Run) -> None:
    """Neither a rollback nor undo restores the number; a fork has its past's."""
    done("iteration", "retract", 2, "--reason", "wrong")
    done("rollback", "iter:2", "--plan", "--yes")
    assert listed(done)[2]["score"] is None
    done("undo", "--yes")
    assert listed(done)[2]["score"] is None
    done("fork", "other", "--from", "iter:3")
    assert 2 in {
        one["iteration"] for one in done("list", "--json", "--sprint", "other").json
    }


def test_latest_one_is_asked_about(loop: Path, done: Run, run: Run) -> None:
    """If the newest measurement is retracted a person decides, or measures again."""
    done("iteration", "retract", 3, "--reason", "the machine was busy")
    asked = run("iteration decide", "--exit-code")
    assert asked.code == 12
    assert "its measurement was retracted: the machine was busy" in asked.out
    done("iteration", "measure", "--number", 3, *TESTS, "--metric", "lint_errors=0")
    assert listed(done)[3]["metrics"]["lint_errors"] == 0


def test_another_baseline_counts_from_now_on(loop: Path, done: Run) -> None:
    """Earlier deltas remain; later ones, and their reports, use the new baseline."""
    done("iteration", "baseline", "--from", 3, "--reason", "new machine")
    measure(done, 75)
    known = listed(done)
    assert known[3]["from_baseline"]["coverage"] == 20
    assert known[4]["from_baseline"]["coverage"] == 5
    assert "| Coverage | 75.0% | 70.0% | +5.0% | 70.0% | +5.0% |" in done("report", 4).out
    assert "- **Baseline**: iteration 3: `new machine`" in done("report").out


def test_first_baseline_is_no_floor_any_more(sprint: Path, done: Run) -> None:
    """A result is selected that lost much against a baseline no longer in use."""
    done(
        "iteration", "baseline", "--metric", "test_count=90", "--metric", "tests_passed=90"
    )
    measure(done, 90)
    chosen = done("iteration", "select", "--json").json["selection"]
    assert chosen["selected_iteration"] == 0
    done("iteration", "baseline", "--from", 1)
    chosen = done("iteration", "select", "--json").json["selection"]
    assert chosen["selected_iteration"] == 1


def test_person_selects(loop: Path, done: Run, run: Run) -> None:
    """Whatever the scores, log, report and audit name the person and the reason."""
    answer = done("iteration", "select", 1, "--reason", "reads best", "--json").json
    assert answer["selection"]["selected_iteration"] == 1
    assert answer["selection"]["selection_criteria"]["primary"] == "a_person"
    assert "Their reason: reads best" in answer["selection"]["selection_rationale"]
    decision = done("audit", "--kind", "selection", "--json").json
    told = decision["decisions"][-1] if isinstance(decision, dict) else decision[-1]
    assert "is chosen true, reads best" in told["said"]
    assert "iteration 1: forward" in told["evidence"]
    assert run("iteration", "select", 9).code == 3
    assert run("iteration", "select", "--reason", "x").code == 2
    again = done("iteration", "select", "--json").json
    assert again["selection"]["selected_iteration"] == 2


def test_selection_of_a_retracted_one_is_none(loop: Path, done: Run) -> None:
    """A selected and then retracted iteration is no longer the result."""
    done("iteration", "select", 2)
    done("iteration", "retract", 2, "--reason", "wrong")
    assert done("report", "--json").json["selection"] is None
    assert done("audit", "--kind", "measurement").out.count("measurement-retracted") == 1


def test_read_model_follows(loop: Path, done: Run) -> None:
    """The existing tables include the corrections."""
    ask = "SELECT number, score, params, tags FROM v_iterations ORDER BY number"
    assert all(row["score"] for row in done("query", ask, "--json").lines)
    done("iteration", "retract", 2, "--reason", "wrong")
    done("iteration", "describe", 1, "--param", "seed=7", "--tag", "good")
    rows = done("query", ask, "--json").lines
    assert rows[0]["params"] == '{"seed":"7"}'
    assert rows[0]["tags"] == '["good"]'
    assert rows[1]["score"] is None


def test_what_was_said_is_shown(loop: Path, done: Run, run: Run) -> None:
    """Parameters, notes and tags are shown, masked; the last ones apply."""
    token = "ghp_" + "a1B2" * 9
    done("iteration", "describe", 2, "--param", "seed=7", "--tag", "good", "--note", token)
    done("iteration", "describe", 2, "--param", "seed=8", "--tag", "x", "--untag", "good")
    one = listed(done)[2]
    assert (one["params"], one["tags"]) == ({"seed": "8"}, ["x"])
    assert token not in str(one["notes"])
    assert "#x" in done("list").out
    assert run("iteration", "describe", "--param", "a=1", "--param", "a=2").code == 2
    assert run("iteration", "describe", "--param", "a").code == 2
    version = one["version"]
    assert "params" not in listed(done, "--at", f"version:{version}")[2]


def test_commit_is_kept_with_the_end(sprint: Path, done: Run) -> None:
    """The end of an iteration records the commit, and whether the work tree differs.

    Files written by sprintlog are not differences; without a repository nothing is
    recorded.
    """
    measure(done, 60)
    assert "git" not in listed(done)[1]
    git(sprint, "init", "-q")
    (sprint / "code.py").write_text("x = 1\n")
    measure(done, 61)
    assert listed(done)[2]["git"] == {"is_dirty": True}
    git(sprint, "add", "-A")
    git(sprint, "commit", "-qm", "one")
    measure(done, 62, "--snapshot")
    head = git(sprint, "rev-parse", "HEAD").strip()
    assert listed(done)[3]["git"] == {"head": head, "is_dirty": False}
    taken = done("log", "--json", "--type", "snapshot-taken").lines[-1]["data"]
    assert taken["git"] == {"head": head, "is_dirty": False}
    (sprint / "code.py").write_text("x = 2\n")
    measure(done, 63)
    assert listed(done)[4]["git"] == {"head": head, "is_dirty": True}
