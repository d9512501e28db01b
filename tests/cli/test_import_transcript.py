"""Importing what agents keep of their sessions: one iteration for each."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

AGENTS = Path(__file__).resolve().parents[2] / "fixtures" / "agents"


@pytest.fixture
def log(folder: Path, done: Run) -> Path:
    """Return a folder with an empty log."""
    done("init")
    return folder


def runs(done: Run, sprint: str) -> list[Any]:
    """Return what was recorded of each run of an agent."""
    events = done("log", "--json", "--sprint", sprint).lines
    return [event["data"] for event in events if event["type"] == "agent-ran"]


@pytest.mark.parametrize(
    ("name", "agent", "tokens"),
    [
        ("claude-2.1.330-transcript.jsonl", "claude", (960, 320)),
        ("claude-2.1.197-killed-transcript.jsonl", "claude", (240, 80)),
        ("codex-rollout.jsonl", "codex", (1000, 250)),
        ("gemini-session.jsonl", "gemini", (1200, 200)),
        ("copilot-events.jsonl", "copilot", (480, 160)),
        ("opencode-run.jsonl", "opencode", (480, 160)),
    ],
)
def test_a_session_becomes_an_iteration(
    log: Path, done: Run, name: str, agent: str, tokens: tuple[int, int]
) -> None:
    """What it used is recorded as its agent states it, as an observed run."""
    answer = done("import", "transcript", AGENTS / name, "--json").json
    assert (answer["sprint"], answer["unread"]) == (f"{agent}-sessions", 0)
    (ran,) = runs(done, f"{agent}-sessions")
    assert (ran["usage"]["input_tokens"], ran["usage"]["output_tokens"]) == tokens
    assert ran["iteration"] == 1


def test_a_session_that_was_killed_failed(log: Path, done: Run) -> None:
    """A transcript that ends amid the work says so; tokens are kept all the same."""
    done("import", "transcript", AGENTS / "claude-2.1.197-killed-transcript.jsonl")
    assert runs(done, "claude-sessions")[0]["status"] == "failed"


def test_subagents_beside_a_session_are_taken_along(log: Path, done: Run) -> None:
    """Claude Code keeps them in files of their own: all together are what was used."""
    shutil.copy(AGENTS / "claude-2.1.197-transcript.jsonl", log / "one.jsonl")
    (log / "one" / "subagents").mkdir(parents=True)
    subagent = log / "one" / "subagents" / "agent-1.jsonl"
    shutil.copy(AGENTS / "claude-2.1.197-subagent.jsonl", subagent)
    answer = done("import", "transcript", "one.jsonl", "--json").json
    assert answer["found"]["subagent"] == 1
    (ran,) = runs(done, "claude-sessions")
    assert (ran["usage"]["input_tokens"], ran["usage"]["output_tokens"]) == (1080, 360)
    assert ran["status"] == "completed"


def test_the_same_session_again_records_nothing(log: Path, done: Run) -> None:
    """A session is known by its id, under whatever name its file is."""
    shutil.copy(AGENTS / "codex-rollout.jsonl", log / "one.jsonl")
    done("import", "transcript", "one.jsonl")
    (log / "one.jsonl").rename(log / "two.jsonl")
    assert done("import", "transcript", "two.jsonl", "--json").json["recorded"] == 0
    assert len(runs(done, "codex-sessions")) == 1


def test_lines_of_nobody_are_counted_and_kept(log: Path, done: Run) -> None:
    """A line that no agent says stands in no way."""
    content = (AGENTS / "codex-rollout.jsonl").read_bytes()
    (log / "one.jsonl").write_bytes(b'{"who":"knows"}\n' + content)
    answer = done("import", "transcript", "one.jsonl", "--json").json
    assert answer["unread"] == 1
    assert "who" in Path(answer["kept"]).read_text()


@pytest.mark.parametrize("content", [b"", b"words\n", b"\x00\xff\x80", b'{"a": 1}\n[2]\n'])
def test_what_is_no_transcript_is_refused_in_one_line(
    log: Path, run: Run, content: bytes
) -> None:
    """The file is named and nothing is recorded, of the others that were given either."""
    (log / "bad.jsonl").write_bytes(content)
    result = run("import", "transcript", AGENTS / "codex-rollout.jsonl", "bad.jsonl")
    assert result.code != 0
    assert result.err.startswith("error: bad.jsonl: is ")
    assert run("verify", "--json").json["events"] == 0
