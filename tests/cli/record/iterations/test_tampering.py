"""Iterations that change existing tests, and their acceptance."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.trees import git

from ...conftest import Run
from ..loops.judged_loops import advised, types

TEST = "def test_a():\n    assert f(1) == 1\n\ndef test_b():\n    assert f(2) == 2\n"
WEAKEN = "sed -i 's/== 2/== 3/' tests/test_a.py"
MEASURE = ("--measure", "sh ../measure.sh")
CHANGED = "tests/test_a.py (1 test changed)"


@pytest.fixture
def tree(folder: Path, done: Run) -> Path:
    """Return a repository with tests; a script outside of it prints the file `passed`."""
    tree = folder / "tree"
    (tree / "tests").mkdir(parents=True)
    os.chdir(tree)
    git(tree, "init", "-q")
    (tree / "tests" / "test_a.py").write_text(TEST)
    (tree / "passed").write_text("1\n")
    (folder / "measure.sh").write_text('echo "$(cat passed)/10"\n')
    done("init", "--here")
    done("sprint", "create", "one", "--goal", "Win", "--max-iterations", "3")
    return tree


def loop(run: Run, cases: str, *options: str) -> Any:
    """Return the result of a measured loop whose agent is a shell script."""
    number = "$ITERATION_NUMBER"
    script = f"cat > ../prompt-{number}; echo done; case {number} in {cases} esac"
    options = ("--rest", "0", "--no-wait", *MEASURE, *options, "--json")
    return run("run", *options, "--", "sh", "-c", script)


def events(done: Run, kind: str) -> list[dict[str, Any]]:
    """Return the data of all events of a type."""
    return [event["data"] for event in done("log", "--type", kind, "--json").lines]


def passes(count: int) -> str:
    """Return the command with which the agent passes a number of tests."""
    return f"echo {count} > passed;"


HONEST = f"1) {passes(5)} echo 'def test_c(): pass' > tests/test_c.py ;;"
TAMPERS = f"2) {passes(10)} {WEAKEN} ;; 3) {passes(6)} ;;"


def test_an_iteration_that_changes_tests_is_never_the_best(
    tree: Path, run: Run, done: Run
) -> None:
    """A changed test marks its iteration until the test is as before or accepted."""
    undone = f"3) {passes(6)} sed -i 's/== 3/== 2/' tests/test_a.py ;;"
    result = loop(run, f"{HONEST} {TAMPERS.partition('3)')[0]} {undone}")
    assert result.code == 20
    assert f"iteration 2 changed its measure: {CHANGED}" in result.err
    changed = events(done, "measurement-changed")
    assert [(one["number"], one["against"]) for one in changed] == [(2, 0)]
    assert changed[0]["files"] == [{"path": "tests/test_a.py", "changed": 1}]
    kinds = types(done)
    at = kinds.index("measurement-changed")
    assert kinds[at + 1] == "iteration-measured"
    assert done("iteration", "best", "--json").json["best"]["iteration"] == 3
    for command in (("list",), ("report",)):
        assert CHANGED in " ".join(done(*command).out.split()), command
    assert events(done, "iteration-measured")[1]["metrics"]["tests_passed"] == 10


def test_acceptance_by_a_person(tree: Path, run: Run, done: Run) -> None:
    """After `iteration accept`, later iterations are compared with the accepted one."""
    assert loop(run, f"{HONEST} {TAMPERS}").code == 20
    assert [one["number"] for one in events(done, "measurement-changed")] == [2, 3]
    assert done("iteration", "best", "--json").json["best"]["iteration"] == 1
    status = " ".join(done("status").out.split())
    assert f"iteration 3 changed its measure: {CHANGED}; if this is correct, run" in status
    assert run("iteration", "accept", "9", "--reason", "x").code == 3
    assert run("iteration", "accept", "2", "--reason", " ").code == 2
    done("iteration", "accept", "2", "--reason", "f(2) is 3")
    assert done("iteration", "best", "--json").json["best"]["iteration"] == 2
    assert CHANGED not in done("list").out
    done("iteration", "accept", "2", "--reason", "f(2) is 3")
    assert len(events(done, "instruments-accepted")) == 1
    done("sprint", "limit", "5")
    cases = f"4) {passes(10)} ;; 5) {passes(10)} sed -i 's/== 3/== 4/' tests/test_a.py ;;"
    assert loop(run, cases, "--on-regression", "continue").code == 20
    last = events(done, "measurement-changed")[-1]
    assert (last["number"], last["against"]) == (5, 2)
    assert len(events(done, "measurement-changed")) == 3
    done("verify", "--full")
    done("doctor")


def test_stops_by_rule(tree: Path, run: Run, done: Run) -> None:
    """`--on-tamper stop` ends the loop with 26 until the change is accepted."""
    result = loop(run, f"{HONEST} {TAMPERS}", "--on-tamper", "stop")
    assert (result.code, result.json["because"]) == (26, "judge")
    assert f"iteration 2 changed its measure: {CHANGED}" in result.json["why"]
    assert advised(done)[-1] == (2, "stop", "tampered")
    assert loop(run, "*) ;;").code == 26
    done("iteration", "accept", "2", "--reason", "f(2) is 3")
    assert loop(run, f"3) {passes(10)} ;;").code == 20
    assert types(done).count("agent-ran") == 3


def test_rolls_back_by_rule(tree: Path, run: Run, done: Run, folder: Path) -> None:
    """`--on-tamper rollback` restores files; the next prompt states the reason."""
    result = loop(run, f"{HONEST} {TAMPERS}", "--on-tamper", "rollback")
    assert result.code == 20
    assert (tree / "tests" / "test_a.py").read_text() == TEST
    assert (tree / "tests" / "test_c.py").exists()
    assert events(done, "rolled-back")
    assert CHANGED in (folder / "prompt-3").read_text()
    assert done("iteration", "best", "--json").json["best"]["iteration"] == 3


@pytest.mark.parametrize("snapshot", [(), ("--snapshot",)])
def test_hidden_files_are_compared_too(
    tree: Path, run: Run, done: Run, snapshot: tuple[str, ...]
) -> None:
    """A created conftest.py counts although git ignores it; links are not followed."""
    (tree.parent / "test_a.py").write_text(TEST)
    hides = "echo conftest.py > .gitignore; echo x=1 > conftest.py;"
    links = "rm tests/test_a.py conftest.py; ln -s ../../test_a.py tests/test_a.py;"
    loop(run, f"1) {passes(2)} {hides} ;; 2) {passes(3)} {links} ;; *) ;;", *snapshot)
    first, second = events(done, "measurement-changed")[:2]
    assert first["files"] == [{"path": "conftest.py", "lines": 1}]
    assert second["files"][0] == {"path": "tests/test_a.py", "removed": 2, "lines": 1}


def test_tests_written_by_the_loop_are_not_guarded(tree: Path, run: Run, done: Run) -> None:
    """If there were no tests at first, the agent writes them and may change them."""
    shutil.rmtree(tree / "tests")
    writes = f"mkdir tests; echo '{TEST.splitlines()[0]}' > tests/test_a.py;"
    loop(run, f"1) {passes(2)} {writes} ;; *) {passes(3)} rm -r tests ;;")
    assert events(done, "measurement-changed") == []


def test_a_lost_snapshot_is_no_acceptance(tree: Path, run: Run, done: Run) -> None:
    """If the accepted files cannot be read, the iteration is marked with the reason."""
    lost = f"2) {passes(5)} rm -r .sprintlog/snapshots/store.git ;; *) ;;"
    loop(run, f"1) {passes(4)} ;; {lost}")
    changed = events(done, "measurement-changed")
    assert changed[0]["number"] == 2
    assert "snapshot" in changed[0]["problem"]
    assert done("iteration", "best", "--json").json["best"]["iteration"] == 1


def wrapped(run: Run, script: str, *options: str) -> Any:
    """Return the result of a wrapped and measured shell script."""
    return run("wrap", *MEASURE, *options, "--", "sh", "-c", script)


@pytest.mark.parametrize("snapshot", [(), ("--snapshot",)])
def test_wrap_compares_with_the_files_before_the_first_command(
    tree: Path, done: Run, snapshot: tuple[str, ...]
) -> None:
    """Even the first wrapped command cannot choose the tests by which it is judged."""
    ours = [sys.executable, "-m", "sprintlog.cli", "wrap", *MEASURE, *snapshot]
    for script in (f"{passes(9)} {WEAKEN}", passes(2)):
        assert os.spawnv(os.P_WAIT, ours[0], [*ours, "--", "sh", "-c", script]) == 0
    changed = events(done, "measurement-changed")
    assert [(one["number"], one["against"]) for one in changed] == [(1, 0), (2, 0)]
    held = events(done, "snapshot-taken")
    assert sum(one.get("purpose") == "instruments" for one in held) == 2


def test_measured_by_hand(tree: Path, run: Run, done: Run) -> None:
    """`iteration baseline`, `measure` and `end` compare the tests as well."""
    done("sprint", "start")
    done("iteration", "baseline", "--metric", "test_count=2")
    for number, words in enumerate((("measure",), ("end",)), 1):
        done("iteration", "start")
        text = TEST.replace("== 2", f"== {number + 2}")
        (tree / "tests" / "test_a.py").write_text(text)
        result = run("iteration", *words, "--metric", "test_count=2")
        assert f"the tests or the measure changed: {CHANGED}" in result.err
    assert [one["number"] for one in events(done, "measurement-changed")] == [1, 2]


def test_further_files_from_the_configuration(tree: Path, run: Run, done: Run) -> None:
    """Files that the configuration names count for any change."""
    (tree / "sprintlog.toml").write_text('[measure]\ninstruments = ["data/*.json"]\n')
    (tree / "data").mkdir()
    (tree / "data" / "a.json").write_text("1\n")
    loop(run, f"1) {passes(2)} echo 2 > data/a.json ;; *) ;;")
    changed = events(done, "measurement-changed")[0]
    assert changed["files"] == [{"path": "data/a.json", "lines": 1}]


def test_a_repeated_measurement_removes_the_mark(tree: Path, run: Run, done: Run) -> None:
    """After a retraction, a measurement with the accepted tests is not marked."""
    done("sprint", "start")
    done("iteration", "baseline", "--metric", "test_count=2")
    done("iteration", "start")
    (tree / "tests" / "test_a.py").write_text(TEST.replace("== 2", "== 3"))
    done("iteration", "measure", "--metric", "test_count=2")
    assert CHANGED in done("list").out
    (tree / "tests" / "test_a.py").write_text(TEST)
    done("iteration", "retract", "1", "--reason", "wrong tests")
    done("iteration", "measure", "--metric", "test_count=2")
    assert CHANGED not in done("list").out
    assert done("iteration", "best", "--json").json["best"]["iteration"] == 1
