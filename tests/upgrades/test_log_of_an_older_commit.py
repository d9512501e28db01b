"""A log, its settings and state files, written by commit e082d9a0, and later records.

`fixtures/logs/e082d9a0` was recorded by that commit: two sprints and a fork, a journal, a
gate, a rollback with its undo, a wrapped command, a session of an agent. `keys.txt` has its
commands with their keys and recorded positions. It is never written again.
"""

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from sprintlog.cli.suggest import RENAMED
from sprintlog.projections.workspace import Workspace
from tests.cli.conftest import done as done
from tests.cli.conftest import folder as folder
from tests.cli.conftest import run as run

STORED = Path(__file__).parents[2] / "fixtures" / "logs" / "e082d9a0"
EVENTS = 44
SPRINT = ("--sprint", "auth")
READING = (
    *(("status", *SPRINT), ("log", "--all"), ("show", "progress", *SPRINT)),
    *(("verify",), ("verify", "--determinism"), ("replay", *SPRINT), ("next", *SPRINT)),
    *(("list", *SPRINT), ("report", *SPRINT), ("iteration", "best", *SPRINT)),
    *(("iteration", "compare", "1", "2", *SPRINT), ("iteration", "alerts", *SPRINT)),
    *(
        ("iteration", "rules", "show", *SPRINT),
        ("queue", "list", *SPRINT),
        ("show", "journal"),
    ),
    *(("journal", "entry", "list"), ("query", "--tables"), ("store", "export")),
    *(("diff", "start", "iter:2", *SPRINT), ("audit", *SPRINT)),
    *(("why", "--all", *SPRINT), ("doctor",), ("config", "show"), ("scan",)),
)
RECORDING = (
    *(("phase", "start", "review"), ("note", "more"), ("iteration", "start")),
    *(
        ("append", "activity-seen"),
        ("iteration", "end"),
        (*["queue", "add", "--priority", "low", "--type", "docs", "Again"],),
    ),
    *(
        ("iteration", "rules", "set", "--budget-tokens", "9001"),
        ("phase", "complete", "review"),
    ),
    *(("rollback", "iter:1", "--plan", "--yes"), ("undo", "--yes"), ("redo", "--yes")),
)


@pytest.fixture
def stored(folder: Path) -> Path:
    """Copy the stored log into a separate work tree."""
    log = folder / ".sprintlog"
    log.mkdir(0o700)
    shutil.copytree(STORED, folder, dirs_exist_ok=True)
    for path in folder.glob("log.db*"):
        path.rename(log / path.name).chmod(0o600)
    return folder


def test_every_reading_command_reads_it(stored: Path, run: Any) -> None:
    """Read commands answer as for a current log, and record nothing."""
    for words in READING:
        answer = run(*words)
        assert answer.code in (0, 3), (words, answer)
        assert "defect of sprintlog" not in answer.err, words
    with Workspace.open(stored) as workspace:
        assert workspace.log.head().position == EVENTS


def test_it_verifies_and_its_state_file_is_the_same(stored: Path, done: Any) -> None:
    """The chain is intact, and the state file equals the one written by that commit."""
    assert done("verify", "--json").json["events"] == EVENTS
    assert done("rebuild", "--check", *SPRINT).code == 0


def test_one_of_each_recording_command_continues_it(stored: Path, done: Any) -> None:
    """New records continue the chain of the old ones."""
    for words in RECORDING:
        done(*words, *SPRINT)
    done("journal entry record", "prd-1", "--status", "failed", "--summary", "no")
    done("goal", "set", "Ship it", "--sprint", "other")
    assert done("verify", "--determinism").code == 0


def test_a_retried_command_gets_its_first_result(stored: Path, done: Any) -> None:
    """A key recorded then returns the first result of the same command."""
    for line in (STORED / "keys.txt").read_text().splitlines():
        position, key, words = line.split(" ", 2)
        former = next((name for name in RENAMED if words.startswith(f"{name} ")), "")
        words = RENAMED.get(former, "") + words.removeprefix(former)
        sprint = () if words.startswith(("journal", "sprint create")) else SPRINT
        answer = done(*shlex.split(words), *sprint, "--key", key, "--json").json
        answer = answer[0] if isinstance(answer, list) else answer
        # A rollback's answer contains the changed files.
        assert answer.get("position", int(position)) == int(position), line
        assert answer.get("duplicate", True), line
    with Workspace.open(stored) as workspace:
        assert workspace.log.head().position == EVENTS


def test_a_key_still_refuses_another_command(stored: Path, run: Any) -> None:
    """A key recorded with one command conflicts with another command."""
    answer = run("note", "Another text", *SPRINT, "--key", "N1")
    assert answer.code == 5
    assert "N1" in answer.err
