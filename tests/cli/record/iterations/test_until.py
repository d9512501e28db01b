"""`--until`: its sources, its record, and its checks before an agent runs."""

import sys
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

PRINTS = 'echo \'{"p95_ms": 3, "test_count": 2, "tests_passed": 1}\''
AGENT = ("--", sys.executable, "-c", "open('ran', 'a').write('x'); print('done')")
ONCE = ("--prompt-file", "P.md", "--budget-iterations", "1", "--rest", "0")
RULES = ("iteration", "rules", "set")


def until(done: Run, *options: str) -> Any:
    """Return the condition that the rules contain."""
    return done("iteration", "rules", "show", *options, "--json").json["loop"]["until"]


@pytest.fixture
def prompted(folder: Path, done: Run) -> Path:
    """Return a folder with a log and a prompt file."""
    done("init", "--here")
    (folder / "P.md").write_text("Work")
    return folder


def test_run_without_a_sprint(prompted: Path, run: Run, done: Run) -> None:
    """A condition without a goal creates a loop, and is recorded before the baseline."""
    condition = "tests_failed=0 and exit_status=0"
    result = run("run", "--until", condition, "--measure", "echo 1/2", *ONCE, *AGENT)
    assert result.code == 20
    assert until(done) == condition
    types = [event["type"] for event in done("log", "--json").lines]
    assert types.index("rules-set") < types.index("baseline-captured")
    assert f"until {condition}" in done("status").out
    assert f"until {condition}" in done("log", "--type", "rules-set").out


def test_name_that_the_baseline_prints(prompted: Path, run: Run, done: Run) -> None:
    """An undeclared name that the measuring command prints is recorded and accepted."""
    result = run("run", "--until", "p95_ms<3", "--measure", PRINTS, *ONCE, *AGENT)
    assert result.code == 20
    baseline, *_ = done("log", "--type", "baseline-captured", "--json").lines
    assert baseline["data"]["metrics"]["own"] == {"p95_ms": 3}
    assert (prompted / "ran").read_text() == "x"


@pytest.mark.parametrize("measure", ["echo 1/2", PRINTS, "exit 3"])
def test_name_that_nothing_prints(
    prompted: Path, run: Run, done: Run, measure: str
) -> None:
    """A name that the baseline does not print ends the run with 2 before an agent runs."""
    words = ("run", "--until", "p96_ms<5 or p95_ms<5", "--measure", measure)
    for _ in range(2):
        result = run(*words, *ONCE, *AGENT)
        assert result.code == 2
        assert "unknown metric 'p9" in result.err
        assert "known: test_count, " in result.err
    assert not (prompted / "ran").exists()
    done(*RULES, "--metric", "p96_ms")
    done(*RULES, "--metric", "p95_ms")
    assert run(*words, *ONCE, *AGENT).code == (0 if measure == PRINTS else 20)


def test_removed_condition(prompted: Path, run: Run, done: Run) -> None:
    """`none` removes the condition; a later run without the option keeps the condition."""
    run("run", "--until", "exit_status=1", "--measure", "true", *ONCE, *AGENT)
    run("run", *ONCE, *AGENT)
    assert until(done) == "exit_status=1"
    run("run", "--until", "none", *ONCE, *AGENT)
    assert until(done) is None
    done(*RULES, "--until", "exit_status<1")
    assert until(done) == "exit_status<1"
    done(*RULES, "--until", "none")
    assert until(done) is None


def test_requires_a_measurement(prompted: Path, run: Run, done: Run) -> None:
    """`run` refuses a condition, given or recorded, if nothing is measured."""
    result = run("run", "--until", "exit_status=0", *ONCE, *AGENT)
    assert (result.code, "--until requires --measure" in result.err) == (1, True)
    done("sprint", "create", "b", "--goal", "G", "--until", "exit_status=0")
    result = run("run", "--sprint", "b", *ONCE, *AGENT)
    assert (result.code, "--until requires --measure" in result.err) == (1, True)
    assert not (prompted / "ran").exists()


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        ("tests_failed", "until: expected one of = != < <= > >=, not the end"),
        ("tests_faild=0", "until: unknown metric 'tests_faild'"),
        ("score>0.5", "until: unknown metric 'score'"),
        ("build_status=1", "until: unknown metric 'build_status'"),
    ],
)
def test_invalid_condition(
    prompted: Path, run: Run, done: Run, condition: str, problem: str
) -> None:
    """An invalid condition is a usage error, and nothing is recorded."""
    done("sprint", "create", "a", "--goal", "G")
    for words in (RULES, ("sprint", "create", "b", "--goal", "G")):
        result = run(*words, "--until", condition)
        assert (result.code, problem in result.err) == (2, True)
    assert [event["type"] for event in done("log", "--json").lines] == ["sprint-compiled"]


def test_sprint_create(prompted: Path, run: Run, done: Run) -> None:
    """The append that creates a sprint sets its condition; repeating it records nothing."""
    words = ("sprint", "create", "a", "--goal", "G", "--until")
    done(*words, "tests_failed=0")
    done(*words, "tests_failed=0")
    assert until(done) == "tests_failed=0"
    events = done("log", "--json").lines
    assert [event["type"] for event in events] == ["sprint-compiled", "rules-set"]
    assert "until" not in (prompted / "PROGRESS.yaml").read_text()
    assert run(*words, "tests_failed=1").code == 1


def test_sprint_without_a_goal(prompted: Path, run: Run, done: Run) -> None:
    """A sprint with phases only refuses a condition."""
    (prompted / "plan.yaml").write_text("phases: [{id: a, prompt: Do a}]")
    problem = "until: the gates of the phases complete a sprint without a goal"
    create = ("sprint", "create", "a", "--plan", "plan.yaml")
    result = run(*create, "--until", "tests_failed=0")
    assert (result.code, problem in result.err) == (2, True)
    done(*create)
    for words in (RULES, ("run", "--measure", "true", *AGENT[:0])):
        tail = AGENT if words[0] == "run" else ()
        result = run(*words, "--until", "tests_failed=0", *tail)
        assert (result.code, problem in result.err) == (2, True)


DEFINITION = "workflow: loop\nmode: ralph\ngoal: G\n"


def test_definition(prompted: Path, run: Run, done: Run) -> None:
    """SPRINT.yaml sets the condition; after the start, a changed condition is refused."""
    workflows = prompted / ".claude" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "loop.yaml").write_text("mode: ralph\ngoal-prompt: Work\n")
    file = prompted / "SPRINT.yaml"
    compile_ = ("compile", "SPRINT.yaml", "--id", "s")
    for condition in ("tests_failed=0", "tests_failed=0", "coverage>=80"):
        file.write_text(f"{DEFINITION}until: {condition}\n")
        done(*compile_)
        assert until(done) == condition
    types = [event["type"] for event in done("log", "--json").lines]
    assert types == ["sprint-compiled", "rules-set", "rules-set"]
    assert "until" not in (prompted / "PROGRESS.yaml").read_text()
    done("sprint", "start")
    done(*compile_)
    file.write_text(f"{DEFINITION}until: tests_failed=1\n")
    result = run(*compile_)
    assert result.code == 1
    assert "until changed: 'coverage>=80' → 'tests_failed=1'" in result.err
    assert until(done) == "coverage>=80"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{DEFINITION}until: a\n", "SPRINT.yaml:4: until: expected one of = != < <= > >="),
        (f"{DEFINITION}until: [a]\n", "SPRINT.yaml:4"),
        ("workflow: w\nuntil: a=1\n", "`until` requires `mode: ralph` and a `goal`"),
    ],
)
def test_invalid_definition(prompted: Path, run: Run, text: str, problem: str) -> None:
    """An invalid condition in SPRINT.yaml is reported with its line."""
    workflows = prompted / ".claude" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "loop.yaml").write_text("mode: ralph\ngoal-prompt: Work\n")
    (workflows / "w.yaml").write_text("phases: [{id: a, prompt: Do a}]\n")
    (prompted / "SPRINT.yaml").write_text(text)
    result = run("compile", "SPRINT.yaml", "--check")
    assert result.code == 1
    assert problem in result.err


def test_configuration(prompted: Path, run: Run, done: Run) -> None:
    """A trusted sprintlog.toml sets the condition of a run; an option overrides it."""
    (prompted / "sprintlog.toml").write_text('[agent]\nuntil = "exit_status=1"\n')
    words = ("run", "--measure", "true", *ONCE)
    result = run(*words, *AGENT)
    assert (result.code, "agent.until is not trusted" in result.err) == (1, True)
    done("config", "--trust")
    assert run(*words, *AGENT).code == 20
    assert until(done) == "exit_status=1"
    assert run(*words, "--until", "exit_status>1", *AGENT).code == 20
    assert until(done) == "exit_status>1"
