"""`doctor` reports output of an agent that is not understood, and its place."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ..conftest import Run
from ..record.iterations.test_agents import FIXTURES

TRANSCRIPT = FIXTURES / "claude-2.1.330-transcript.jsonl"
ODD = b'{"odd": true}\n'


@pytest.fixture
def goal(folder: Path, done: Run) -> Path:
    """Return a folder with a sprint that runs."""
    done("init", "--here")
    done("sprint", "create", "s", "--goal", "Do it all", "--max-failures", "0")
    done("sprint", "start")
    return folder


def session(version: str = "2.1.330", *, lines: int, odd: int, name: str = "x") -> bytes:
    """Return a Claude Code transcript in which some lines are unknown."""
    known = {
        "type": "assistant",
        "sessionId": name,
        "version": version,
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
    }
    return ODD * odd + (json.dumps(known).encode() + b"\n") * (lines - odd)


def end_with(folder: Path, done: Run, content: bytes) -> None:
    """End an iteration with an agent's output."""
    (folder / "out").write_bytes(content)
    done("iteration", "start")
    done("iteration", "end", "--from", "out")


def check(done: Run) -> dict[str, Any] | None:
    """Return doctor's lines about agents."""
    found = done("doctor", "--json").json["checks"]
    return next((one for one in found if one["check"] == "agents"), None)


def test_without_an_agent_nothing_is_said(goal: Path, done: Run) -> None:
    """Plain text does not count as an agent's output."""
    assert check(done) is None
    end_with(goal, done, b"just words\n")
    assert check(done) is None


@pytest.mark.parametrize(("odd", "status"), [(0, "ok"), (5, "ok"), (6, "warning")])
def test_more_than_five_percent_is_a_warning(
    goal: Path, done: Run, odd: int, status: str
) -> None:
    """Of 100 lines 5 may be unknown; the warning has version and number of lines."""
    end_with(goal, done, session(lines=100, odd=odd))
    found = check(done)
    assert found is not None
    assert found["status"] == status
    assert ("claude 2.1.330: 6 of 100 lines" in found["found"]) == (status == "warning")


def test_each_version_is_judged_by_itself(goal: Path, done: Run) -> None:
    """A new version that is not understood is not hidden by the old one's runs."""
    end_with(goal, done, session("1.0.0", lines=400, odd=0))
    end_with(goal, done, session("2.0.0", lines=20, odd=2))
    end_with(goal, done, (FIXTURES / "codex-exec.jsonl").read_bytes())
    found = check(done)
    assert found is not None
    assert "claude 2.0.0: 2 of 20 lines" in found["found"]
    assert "1.0.0" not in found["found"]
    assert "codex" not in found["found"]


def test_runs_are_added_up(goal: Path, done: Run) -> None:
    """One odd run among many of the same version is tolerated."""
    end_with(goal, done, session(lines=10, odd=1))
    end_with(goal, done, session(lines=10, odd=0))
    found = check(done)
    assert found is not None
    assert found["status"] == "ok"


def test_the_hint_leads_to_the_output(goal: Path, done: Run) -> None:
    """The hint's command shows lines that were not understood."""
    end_with(goal, done, session(lines=10, odd=1))
    found = check(done)
    assert found is not None
    hinted = re.search(r"`sprintlog (show event \d+)`", found["hint"])
    assert hinted is not None
    assert "odd" in done(*hinted[1].split()).out


def test_imported_transcripts_count(goal: Path, done: Run) -> None:
    """Their lines are stored in a file, to which the hint refers."""
    (goal / "t.jsonl").write_bytes(session(lines=10, odd=1))
    done("import", "transcript", "t.jsonl")
    found = check(done)
    assert found is not None
    assert "claude 2.1.330: 1 of 10 lines" in found["found"]
    folder = re.search(r"`ls -t ([^`]*)`", found["hint"])
    assert folder is not None
    (kept,) = Path(folder[1]).iterdir()
    assert "odd" in kept.read_text()


def test_what_run_started_counts(goal: Path, done: Run, run: Run) -> None:
    """Lines are counted in the same way for every runner of the agent."""
    (goal / "out").write_bytes(session(lines=10, odd=1))
    done("sprint", "limit", "2")
    run("run", "--rest", "0", "--", "cat", "out")
    found = check(done)
    assert found is not None
    assert "claude 2.1.330: " in found["found"]
    assert found["status"] == "warning"


def test_a_rollback_changes_nothing_of_it(goal: Path, done: Run) -> None:
    """Unknown lines stay counted, whatever happens to the iteration."""
    end_with(goal, done, session(lines=10, odd=1))
    before = check(done)
    done("rollback", "version:2", "--plan", "--yes")
    assert check(done) == before


def test_a_person_sees_it(goal: Path, done: Run) -> None:
    """On a terminal it is a line with a warning; doctor still exits with 0."""
    end_with(goal, done, session(lines=10, odd=1))
    assert re.search(r"warning +agents", done("doctor").out)
