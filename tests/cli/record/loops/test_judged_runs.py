"""`run --measure`: each iteration is measured, judged, and followed by the rules."""

import sys
from pathlib import Path

import pytest

from ...conftest import Run
from .judged_loops import GATE, MEASURES, PLAN, RUN, advised, prepare, types

WORSE = "2) echo 1 > tests ;;"
BREAKS = "2|3|4) touch broken ;;"


def test_measures_each_run_of_an_agent(folder: Path, run: Run, done: Run) -> None:
    """In a plan each run is an iteration: a baseline, then one measurement for each."""
    tree = prepare(done, folder)
    result = run("run", *MEASURES, *RUN)
    assert (result.code, result.out) == (0, "one: done\n")
    events = done("log", "--type", "iteration-measured", "--json").lines
    assert [(e["data"]["number"], e["data"]["metrics"]["test_count"]) for e in events] == [
        (1, 4),
        (2, 5),
        (3, 6),
    ]
    assert types(done).count("baseline-captured") == 1
    assert [action for _, action, _ in advised(done)] == ["continue"] * 3
    assert (tree / "work").read_text() == "work of 3\n"


def test_a_regression_stops(folder: Path, run: Run, done: Run) -> None:
    """By rule a regression ends the loop with 26, and a command is printed."""
    prepare(done, folder, WORSE)
    result = run("run", *MEASURES, "--json", *RUN)
    assert (result.code, result.json["because"]) == (26, "judge")
    assert advised(done)[-1] == (2, "rollback", "regression")
    again = done("next", "--json").json
    assert (again["do"], again["iteration"], again["target"]) == ("stop", 2, 1)
    assert "Test count decreased from 4 to 1" in again["why"]
    ended = done("status", "--json").json["run"]
    assert (ended["because"], ended["exit_code"]) == ("judge", 26)
    # Starting the loop again costs nothing.
    assert run("run", *RUN).code == 26
    assert types(done).count("agent-ran") == 2


def test_goes_back_by_rule(folder: Path, run: Run, done: Run) -> None:
    """Plan and files go back to the last good iteration; the next prompt says why."""
    tree = prepare(done, folder, WORSE)
    result = run("run", *MEASURES, "--on-regression", "rollback", *RUN)
    assert (result.code, result.out) == (0, "one: done\n")
    assert types(done).count("files-restored") == 1
    said = (folder / "told" / "3").read_text()
    assert "# Task\n\nWrite b\n\n# Iteration 2 was no success\n\n- Test count dec" in said
    assert "as they were at the end of iteration 1" in said
    assert "no success" not in (folder / "told" / "4").read_text()
    assert (tree / "work").read_text() == "work of 4\n"
    back = done("log", "--type", "rolled-back", "--json").lines[0]["data"]
    assert back["reason"].startswith("iteration 2: Test count decreased from 4 to 1")
    done("verify")


@pytest.mark.long
def test_goes_back_so_often_and_no_more(folder: Path, run: Run, done: Run) -> None:
    """After a number of rollbacks, a regression ends the loop; more may be allowed then."""
    prepare(done, folder, "[2-9]) echo 1 > tests ;;")
    rules = ("--on-regression", "rollback", "--rollbacks-max", "2")
    result = run("run", *MEASURES, *rules, *RUN)
    assert result.code == 26
    assert "it went back 2 times, as often as it may" in result.out
    assert types(done).count("rolled-back") == 2
    assert "run `sprintlog iteration rules set --rollbacks-max 4`" in result.out
    done("iteration rules set", "--rollbacks-max", "3")
    assert run("run", *RUN).code == 26
    assert types(done).count("rolled-back") == 3


def test_goes_on_by_rule(folder: Path, run: Run, done: Run) -> None:
    """With `continue` nothing stops the loop, and the next prompt states the problem."""
    prepare(done, folder, WORSE)
    assert run("run", *MEASURES, "--on-regression", "continue", *RUN).code == 0
    said = (folder / "told" / "3").read_text()
    assert "# Iteration 2 was no success" in said
    assert "Its work is still there. Repair that first." in said


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("rule", "code", "goes_back", "numbers"),
    [("stop", 26, 0, [2, 3]), ("rollback", 0, 2, [2, 3, 4]), ("continue", 0, 0, [2, 3])],
)
def test_broken_tests_are_never_forward(
    folder: Path,
    run: Run,
    done: Run,
    rule: str,
    code: int,
    goes_back: int,
    numbers: list[int],
) -> None:
    """A failed measurement is in the next prompt; the second one is a regression."""
    prepare(done, folder, BREAKS)
    result = run("run", *MEASURES, "--on-regression", rule, *RUN)
    assert result.code == code, result
    broken = [one for one in advised(done) if one[0] in (2, 3, 4)]
    assert broken[: len(numbers)] == [(n, "escalate", "unmeasured") for n in numbers]
    judged = done("log", "--type", "iteration-measured", "--json").lines
    assert not {e["data"]["number"] for e in judged} & {*numbers}
    assert types(done).count("rolled-back") == goes_back
    assert "# Iteration 2 was no success" in (folder / "told" / "3").read_text()
    events = done("log", "--type", "recommendation-given", "--json").lines
    said = [e["data"]["reason"] for e in events if e["data"]["number"] in numbers]
    assert not [reason for reason in said if "forward" in reason.lower()]
    failed = done("log", "--type", "measurement-failed", "--json").lines[0]["data"]
    assert (failed["command"], failed["exit_code"]) == ("sh measure.sh", 2)


@pytest.mark.long
def test_the_last_iteration_is_judged_before_the_end(
    folder: Path, run: Run, done: Run
) -> None:
    """Without a later iteration, an unmeasured last one prevents completion."""
    prepare(done, folder, "3) touch broken ;;")
    result = run("run", *MEASURES, *RUN)
    assert (result.code, "iteration 3 was not measured" in result.out) == (26, True)
    assert done("status", "--json").json["status"] == "in-progress"


@pytest.mark.long
def test_what_was_put_right_is_measured_again(folder: Path, run: Run, done: Run) -> None:
    """Once a person repairs the measurement, the work counts without changes."""
    tree = prepare(done, folder, BREAKS)
    result = run("run", *MEASURES, "--snapshot", "--select", *RUN)
    assert (result.code, types(done).count("agent-ran")) == (26, 3)
    assert "use `sprintlog iteration measure --by-rules` to measure" in result.out
    # Without a repair, there is nothing new to measure.
    done("iteration", "measure", "--by-rules")
    assert types(done).count("measurement-failed") == 2
    assert run("run", *RUN).code == 26
    (tree / "broken").unlink()
    (tree / "tests").write_text("7\n")
    done("iteration", "measure", "--by-rules")
    measured = done("log", "--type", "iteration-measured", "--json").lines[-1]["data"]
    assert (measured["number"], measured["metrics"]["test_count"]) == (3, 7)
    assert run("run", *RUN).code == 0
    assert types(done).count("agent-ran") == 3
    # The iteration has the measured files, not those that could not be measured.
    done("restore", "iter:3", "--into", "three")
    assert not (tree / "three" / "broken").exists()
    assert (tree / "three" / "tests").read_text() == "7\n"
    done("verify")


@pytest.mark.long
def test_a_person_lets_it_go_on(folder: Path, run: Run, done: Run) -> None:
    """A person's decision overrides the advice until there is a new measurement."""
    prepare(done, folder, WORSE)
    assert run("run", *MEASURES, *RUN).code == 26
    done("iteration decide", "--go-on", "--reason", "they were too many")
    assert done("iteration decide").out.startswith("they were too many")
    assert done("next", "--json").json["do"] == "work"
    assert run("run", *RUN).code == 0
    assert advised(done)[1:3] == [(2, "rollback", "regression"), (2, "continue", "person")]


@pytest.mark.long
def test_a_rollback_that_is_undone_is_not_made_again(
    folder: Path, run: Run, done: Run
) -> None:
    """After the undo of a rollback the loop continues with the work."""
    pauses = f"'{sys.executable}' -m sprintlog.cli sprint pause"
    tree = prepare(done, folder, f"{WORSE}\n3) {pauses} ;;")
    assert run("run", *MEASURES, "--on-regression", "rollback", *RUN).code == 22
    assert types(done).count("rolled-back") == 1
    for _ in ("the pause", "the rollback"):
        done("undo", "--yes")
    assert (tree / "tests").read_text() == "1\n"
    action = done("next", "--json").json
    assert (action["do"], action["phase"]) == ("work", "c")
    assert "Its work is still there" in action["prompt"]


def test_a_repair_is_an_iteration(folder: Path, run: Run, done: Run) -> None:
    """The repair of a gate's finding is measured and judged, and is paid once."""
    prepare(done, folder, plan=PLAN % GATE)
    assert run("run", *MEASURES, "--snapshot", *RUN).code == 0
    started = done("log", "--type", "iteration-started", "--json").lines
    assert [e["data"].get("phase") for e in started] == ["a", "b", "b", "c"]
    assert [number for number, _, _ in advised(done)] == [1, 2, 3, 4]
    held = [e["data"] for e in done("log", "--type", "snapshot-taken", "--json").lines]
    whole = [one for one in held if one.get("purpose") != "instruments"]
    assert [one["iteration"] for one in whole] == [0, 1, 2, 3, 4]
    assert types(done).count("gate-repaired") == 1


@pytest.mark.long
def test_a_repair_that_breaks_is_taken_back(folder: Path, run: Run, done: Run) -> None:
    """A regression by a repair is rolled back; the gate fails and is repaired."""
    tree = prepare(done, folder, "3) echo 0 > tests ;;", plan=PLAN % GATE)
    assert run("run", *MEASURES, "--on-regression", "rollback", *RUN).code == 0
    assert types(done).count("rolled-back") == 1
    assert (tree / "repaired").exists()
    done("verify")


def test_puts_the_best_in_place_at_the_end(folder: Path, run: Run, done: Run) -> None:
    """With --select the best iteration's files are in .aiwg/output/, once."""
    tree = prepare(done, folder)
    assert run("run", *MEASURES, "--select", "--snapshot", *RUN).code == 0
    assert (tree / ".aiwg/output/work").read_text() == "work of 3\n"
    assert run("run", *RUN).code == 0
    assert types(done).count("best-selected") == 1
    assert types(done).count("artifacts-applied") == 1


def test_keeps_the_files_of_a_plan(folder: Path, run: Run, done: Run) -> None:
    """--snapshot saves the files of a plan's iterations without measurements, too."""
    prepare(done, folder)
    assert run("run", "--snapshot", *RUN).code == 0
    held = done("log", "--type", "snapshot-taken", "--json").lines
    assert [e["data"]["iteration"] for e in held] == [0, 1, 2, 3]


def test_an_exit_code_is_a_measurement(folder: Path, run: Run, done: Run) -> None:
    """Without a report, a command's exit status counts: one failure is a regression."""
    prepare(done, folder, "2) touch broken ;;")
    result = run("run", "--measure", "test ! -e broken", *RUN)
    assert (result.code, advised(done)[-1]) == (26, (2, "rollback", "regression"))


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--on-regression", "rollback"], "--on-regression requires --measure"),
        (["--select"], "--select requires --measure"),
        (
            [*MEASURES, "--no-measure"],
            "--no-measure cannot be combined with --measure or --report",
        ),
        (
            [*MEASURES, "--on-regression", "rollback", "--no-snapshot"],
            "requires the iterations' files",
        ),
    ],
)
def test_refuses_what_cannot_be_done(
    folder: Path, run: Run, done: Run, words: list[str], problem: str
) -> None:
    """If the rules make no sense, nothing is recorded, and no agent runs."""
    prepare(done, folder)
    result = run("run", *words, *RUN)
    assert result.code in (1, 2)
    assert problem in result.err
    assert types(done) == ["sprint-compiled"]
