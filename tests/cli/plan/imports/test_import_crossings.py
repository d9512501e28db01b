"""Imports during other events: pauses, rollbacks, forks, and with recording off."""

import subprocess
import sys
from pathlib import Path

import pytest

from ...conftest import Run

pytestmark = pytest.mark.long

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"
SESSION = FIXTURES / "agents" / "codex-rollout.jsonl"
SOURCES = {
    "aiwg": FIXTURES / "loops" / "aiwg" / "ralph-external",
    "orchestrator": FIXTURES / "loops" / "orchestrator",
    "prd": FIXTURES / "loops" / "ralph" / "prd.json",
    "ralph-loop": FIXTURES / "loops" / "ralph-loop" / "ralph-loop.local.md",
    "transcript": SESSION,
}


def events(run: Run) -> int:
    """Return how many events the log has."""
    return int(run("verify", "--json").json["events"])


def test_a_paused_sprint_stays_paused(sprint: Path, done: Run) -> None:
    """A past session is a fact, whatever the sprint's status."""
    done("sprint", "pause")
    done("import", "transcript", SESSION)
    assert done("show", "progress", "--json").json["status"] == "paused"
    assert "agent-ran" in {e["type"] for e in done("log", "--json").lines}


def test_a_session_that_was_rolled_back_stays_known(sprint: Path, done: Run) -> None:
    """An agent's usage is a fact: a rollback does not make it new."""
    done("import", "transcript", SESSION)
    done("rollback", "version:2", "--yes")
    assert done("import", "transcript", SESSION, "--json").json["recorded"] == 0


def test_a_fork_does_not_double_a_session(sprint: Path, done: Run) -> None:
    """The recording sprint knows it, even if another one is named."""
    done("import", "transcript", SESSION)
    done("fork", "other", "--from", "start")
    answer = done("import", "transcript", SESSION, "--sprint", "other", "--json").json
    assert (answer["sprint"], answer["recorded"]) == ("auth", 0)


@pytest.mark.parametrize("kind", SOURCES)
def test_with_recording_off_nothing_is_recorded(
    folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The command reports it with exit status 0, and stores nothing next to the log."""
    run("init")
    monkeypatch.setenv("SPRINTLOG_OFF", "1")
    result = run("import", kind, SOURCES[kind])
    assert (result.code, result.out) == (0, "")
    assert "nothing is recorded: SPRINTLOG_OFF=1" in result.err
    assert not [*folder.rglob("not-understood")]
    monkeypatch.delenv("SPRINTLOG_OFF")
    assert events(run) == 0


@pytest.mark.parametrize("kind", SOURCES)
def test_three_imports_at_a_time_are_one(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The second one finds the records of the first; both end with 0."""
    done("init")
    line = [sys.executable, "-m", "sprintlog.cli", "import", kind, str(SOURCES[kind])]
    quiet = subprocess.DEVNULL
    three = [subprocess.Popen(line, cwd=folder, stdout=quiet) for _ in range(3)]
    assert [one.wait() for one in three] == [0, 0, 0]
    together = events(done)
    (folder / "alone").mkdir()
    monkeypatch.chdir(folder / "alone")
    done("init", "--here")
    done("import", kind, SOURCES[kind])
    assert events(done) == together
