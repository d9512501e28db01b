"""Judged loops with other events: pauses, injections, hooks, goals, edits, signals."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ....adapters.trees import git
from ...conftest import Run
from ...goals import start
from .judged_loops import AGENT, MEASURE, MEASURES, PLAN, RUN, advised, aim, prepare, types

pytestmark = pytest.mark.long

CLI = f"'{sys.executable}' -m sprintlog.cli"
WORSE = "2) echo 1 > tests ;;"
BACK = (*MEASURES, "--on-regression", "rollback")
TOKEN = "ghp_" + "a1" * 18


def goal_run(run: Run, *words: str) -> Any:
    """Run the sprint with the goal."""
    return run("run", "--rest", "0", *words, *RUN)


def test_a_pause_during_a_measurement_loses_nothing(
    folder: Path, run: Run, done: Run
) -> None:
    """A measurement is recorded although the sprint was paused; then it is judged."""
    tree = prepare(done, folder)
    script = (tree / "measure.sh").read_text()
    pauses = f'test "$(cat work 2>/dev/null)" != "work of 2" || {CLI} sprint pause\n'
    (tree / "measure.sh").write_text(pauses + script)
    assert run("run", *MEASURES, *RUN).code == 22
    assert types(done)[-3:] == ["sprint-paused", "iteration-measured", "run-ended"]
    (tree / "measure.sh").write_text(script)
    done("sprint", "resume")
    assert run("run", *RUN).code == 0
    assert [number for number, _, _ in advised(done)] == [1, 2, 3]
    assert types(done).count("agent-ran") == 3


def test_what_was_injected_goes_with_the_work(folder: Path, run: Run, done: Run) -> None:
    """A rollback discards a phase that the agent injected; a request stays pending."""
    injects = f"{CLI} phase inject --id x --prompt X --position after:b"
    asks = f"{CLI} queue add T --type bug --priority low"
    prepare(done, folder, f"2) {injects}; {asks}; echo 1 > tests ;;")
    assert run("run", *BACK, *RUN).code == 0
    phases = done("status", "--json").json["phases"]
    assert [phase["address"] for phase in phases] == ["a", "b", "c"]
    assert types(done).count("request-queued") == 1


@pytest.mark.parametrize(("tests", "code"), [("4", 21), ("1", 26)])
def test_a_breakpoint_is_reached_after_it_was_judged(
    folder: Path, run: Run, done: Run, tests: str, code: int
) -> None:
    """The iteration before a breakpoint is measured; a regression is reported first."""
    plan = "phases:\n  - {id: a, prompt: A, break: true}\n  - {id: b, prompt: B}\n"
    prepare(done, folder, f"1) echo {tests} > tests ;;", plan)
    assert run("run", *MEASURES, *RUN).code == code
    assert [number for number, _, _ in advised(done)] == [1]


def test_an_edit_by_hand_is_kept_beside_a_rollback(
    folder: Path, run: Run, done: Run
) -> None:
    """The agent's change to PROGRESS.yaml is stored, and our file is right again."""
    tree = prepare(done, folder, "2) echo '# mine' >> PROGRESS.yaml; echo 1 > tests ;;")
    assert run("run", *BACK, *RUN).code == 0
    assert types(done).count("edit-observed") == 1
    assert "# mine" not in (tree / "PROGRESS.yaml").read_text()
    done("verify")


def test_hooks_come_before_the_measurement(folder: Path, run: Run, done: Run) -> None:
    """Changes by a hook after an iteration are part of the measurement."""
    aim(done, folder, "2) status=goal-complete ;;", "--hook", "id=more,command=date")
    assert goal_run(run, *MEASURES).code == 0
    found = [t for t in types(done) if t in ("hook-task-completed", "iteration-measured")]
    assert found == ["hook-task-completed", "iteration-measured"] * 2


def test_a_goal_is_not_reached_with_fewer_tests(folder: Path, run: Run, done: Run) -> None:
    """An iteration that claims the goal is also judged, and rolled back with a reason."""
    ends = "3) status=goal-complete; echo 9 > tests ;;"
    tree = aim(done, folder, f"2) status=goal-complete; echo 1 > tests ;;\n{ends}")
    assert goal_run(run, *BACK).code == 0
    assert types(done).count("rolled-back") == 1
    assert (tree / "work").read_text() == "work of 3\n"
    said = (folder / "told" / "3").read_text()
    assert said.index("# Iteration 2 was no success") < said.index("End your answer with")


def test_a_goal_loop_that_stalls_is_stopped(folder: Path, run: Run, done: Run) -> None:
    """Three iterations that move nothing end a loop towards a goal by the judge."""
    aim(done, folder, "*) echo 4 > tests ;;", "--max-iterations", "9")
    result = goal_run(run, *MEASURES, "--snapshot", "--json")
    assert (result.code, result.json["because"]) == (26, "judge")
    assert advised(done)[-1][1:] == ("stop", "stalled")


def test_a_secret_in_a_command_is_used_and_not_recorded(
    folder: Path, run: Run, done: Run
) -> None:
    """The typed command is run unmasked; rules and measurements contain a mask."""
    tree = prepare(done, folder)
    words = ("--measure", f"test {TOKEN} = {TOKEN[:4]}{TOKEN[4:]} && sh measure.sh")
    assert run("run", *words, "--report", "junit.xml", *RUN).code == 0
    assert TOKEN not in done("log", "--json").out
    written = [path for path in (tree / ".sprintlog").rglob("*") if path.is_file()]
    assert not [path for path in written if TOKEN.encode() in path.read_bytes()]


def test_the_file_says_what_a_trusted_loop_measures(
    folder: Path, run: Run, done: Run
) -> None:
    """`agent.measure` measures by [measure], once the file is trusted."""
    tree = prepare(done, folder, WORSE)
    (tree / "sprintlog.toml").write_text(
        '[agent]\ncommand = ["sh", "agent.sh"]\nmeasure = true\n'
        'on-regression = "rollback"\nselect = true\n'
        '[measure]\nrun = ["sh measure.sh"]\nreports = ["junit.xml"]\n'
    )
    assert "trust" in run("run").err
    done("config", "--trust")
    assert run("run").code == 0
    assert types(done).count("files-restored") == 2
    shown = done("iteration rules show", "--json").json["loop"]
    assert (shown["on_regression"], shown["keeps_files"]) == ("rollback", True)
    assert shown["measure"]["reports"] == ["junit.xml"]


def test_by_rules_measures_what_is_due_and_nothing_else(
    folder: Path, run: Run, done: Run
) -> None:
    """Without a rule it is refused; if nothing is due, nothing happens."""
    prepare(done, folder)
    assert (
        "sprint one has no measurement rule"
        in run("iteration", "measure", "--by-rules").err
    )
    done("iteration rules set", *MEASURES)
    assert "nothing to record" in done("iteration", "measure", "--by-rules").out
    done("sprint", "start")
    assert done("next", "--json").json["iteration"] == 0
    done("iteration", "measure", "--by-rules")
    assert done("next", "--json").json["do"] == "work"
    done("iteration rules set", "--no-measure")
    assert done("iteration rules show", "--json").json["loop"]["measure"] is None


def test_a_baseline_that_cannot_be_measured_is_said_once(
    folder: Path, run: Run, done: Run
) -> None:
    """The loop works even before there are tests; the first measurement counts."""
    tree = prepare(done, folder, "1) rm broken; echo 4 > tests ;;")
    (tree / "broken").touch()
    assert run("run", *MEASURES, *RUN).code == 0
    assert types(done).count("measurement-failed") == 1
    assert advised(done)[0] == (1, "continue", "")


def test_a_signal_during_a_measurement_costs_no_run(folder: Path, done: Run) -> None:
    """Ended while it measures, the loop measures again, and asks no agent twice."""
    tree = prepare(done, folder)
    script = (tree / "measure.sh").read_text()
    (tree / "measure.sh").write_text(
        f"test ! -e work || {{ touch on; sleep 60; }}\n{script}"
    )
    loop = start(["run", *MEASURES, *RUN])
    while not (tree / "on").exists():
        assert loop.poll() is None
        time.sleep(0.05)
    loop.send_signal(signal.SIGTERM)
    loop.communicate()
    assert loop.returncode == 143
    (tree / "measure.sh").write_text(script)
    done("run", *RUN)
    assert types(done).count("agent-ran") == 3
    assert [number for number, _, _ in advised(done)] == [1, 2, 3]


def test_two_work_trees_judge_each_their_own(folder: Path, run: Run, done: Run) -> None:
    """A sprint in a linked work tree is rolled back there, without touching the other."""
    main, linked = folder / "main", folder / "linked"
    main.mkdir()
    git(main, "init", "-q", "-b", "main")
    for name, text in (("measure.sh", MEASURE), ("tests", "3\n"), ("plan.yaml", PLAN % "")):
        (main / name).write_text(text)
    git(main, "add", "-A")
    git(main, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "begin")
    git(main, "worktree", "add", "-q", str(linked))
    for tree, cases in ((main, ""), (linked, WORSE)):
        os.chdir(tree)
        (tree / "agent.sh").write_text(AGENT % cases)
        if tree == main:
            done("init")
        done("sprint", "create", tree.name, "--plan", "plan.yaml")
    os.chdir(main)
    assert run("run", "--sprint", "main", *BACK, *RUN).code == 0
    os.chdir(linked)
    assert run("run", "--sprint", "linked", *BACK, *RUN).code == 0
    assert (main / "work").read_text() == "work of 3\n"
    assert (linked / "work").read_text() == "work of 4\n"
    backs = done("log", "--all", "--type", "rolled-back", "--json").lines
    assert [event["stream"] for event in backs] == ["sprint/linked"]
    done("verify")
