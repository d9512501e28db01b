"""`run --notify`: the notices of a loop, and that they cause no harm."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run
from ...goals import start
from .test_run import wait_for

TOLD = "cat >> told.jsonl"
PLAN = "phases: [{id: a, prompt: Do it, break: true}, {id: b, prompt: More}]"


@pytest.fixture
def planned(folder: Path, done: Run) -> Path:
    """Provide a folder with a plan that pauses after its first phase."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    return folder


def told(folder: Path) -> list[Any]:
    """Return the notices sent to the command, in order."""
    return [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]


def agent(*, code: str = "print('done')") -> list[str]:
    """Return an agent's command."""
    return ["--", sys.executable, "-c", code]


def test_an_end_is_told(planned: Path, run: Run, done: Run) -> None:
    """A breakpoint needs a person, the end of the sprint does not: each is sent once."""
    assert run("run", "--notify", TOLD, *agent()).code == 21
    assert run("run", "--notify", TOLD, *agent()).code == 21
    done("sprint", "resume")
    assert run("run", "--notify", TOLD, *agent()).code == 0
    known = [
        (one["notice"], one["sprint"], one["because"], one["exit_code"])
        for one in told(planned)
    ]
    assert known == [
        ("person", "auth", "breakpoint", 21),
        ("person", "auth", "breakpoint", 21),
        ("stopped", "auth", "done", 0),
    ]
    assert "sprintlog sprint resume" in told(planned)[0]["hint"]


def test_a_command_that_fails_changes_nothing(planned: Path, run: Run) -> None:
    """The loop ends as without it, with a warning."""
    result = run("run", "--notify", "echo loud; exit 9", *agent())
    assert (result.code, "loud" in result.out + result.err) == (21, False)
    assert "warning: the command of --notify failed: exit code 9" in result.err


def test_words_of_agents_are_no_commands(planned: Path, run: Run) -> None:
    """An agent's text reaches the command as JSON input, and never as arguments."""
    asks = json.dumps({"status": "needs-human", "error": "$(touch HARM) `touch HARM` '\n"})
    code = run("run", "--notify", TOLD, *agent(code=f"print({asks!r})")).code
    assert code == 24
    (one,) = told(planned)
    assert (one["notice"], one["because"]) == ("person", "person")
    assert "$(touch HARM)" in one["why"]
    assert not (planned / "HARM").exists()


def test_only_what_was_asked_for(planned: Path, run: Run) -> None:
    """Only the notices in `--notify-of` are sent."""
    options = ("--notify", TOLD, "--notify-of", "quality", "--notify-of", "waiting")
    assert run("run", *options, *agent()).code == 21
    assert not (planned / "told.jsonl").exists()


def test_long_waits_are_told(planned: Path, run: Run, done: Run) -> None:
    """A wait over the limit is reported when it starts, with its end and its reason."""
    (planned / "plan.yaml").write_text(
        "retry: {maxAttempts: 1, backoffMs: [1500]}\n" + PLAN.replace(", break: true", "")
    )
    done("sprint", "create", "two", "--plan", "plan.yaml", "--sprint-dir", "two")
    code = "import sys; sys.exit('it timed out')"
    options = ("--sprint", "two", "--notify", TOLD, "--notify-wait")
    run("run", *options, "3600", *agent(code=code))
    assert [one["notice"] for one in told(planned)] == ["person"]
    done("sprint", "resume", "--by", "ana", "--why", "x", "--sprint", "two")
    done("phase", "retry", "a", "--sprint", "two")
    (planned / "told.jsonl").unlink()
    run("run", *options, "0", *agent(code=code))
    first, *_ = told(planned)
    assert (first["notice"], first["phase"]) == ("waiting", "a")
    assert first["until"] > first["at"]
    assert "timed out" in first["why"]


def test_a_regression_is_told(folder: Path, run: Run, done: Run) -> None:
    """Advice to roll back after an iteration is sent with the reason."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}, {id: c, prompt: d}]")
    (folder / "tests.json").write_text("0")
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    code = "import os; os.environ['PHASE_ID'] == 'c' and open('broken', 'w')"
    measure = "test ! -e broken"
    options = ("--measure", measure, "--on-regression", "stop", "--notify", TOLD)
    run("run", *options, *agent(code=f"{code}; print('did it')"))
    assert told(folder)[0]["notice"] == "quality"


def test_a_signal_is_told(planned: Path, done: Run) -> None:
    """After a signal, the loop sends a notice, and ends with the signal's code."""
    hangs = "open('hung', 'w').write('x'); import time; time.sleep(600)"
    loop = start(["run", "--notify", TOLD, *agent(code=hangs)])
    wait_for(planned / "hung")
    loop.terminate()
    _, errors = loop.communicate(timeout=300)
    assert loop.returncode == 143, errors
    (one,) = told(planned)
    assert (one["because"], one["exit_code"], one["why"]) == ("signal", 143, "SIGTERM")


def test_the_file_says_it_once_it_is_trusted(planned: Path, run: Run, done: Run) -> None:
    """A command in a work tree's file runs only after the file was trusted."""
    (planned / "sprintlog.toml").write_text(f'[notify]\ncommand = "{TOLD}"\n')
    assert run("run", *agent()).code == 1
    assert not (planned / "told.jsonl").exists()
    done("config", "--trust")
    assert run("run", *agent()).code == 21
    assert [one["notice"] for one in told(planned)] == ["person"]
