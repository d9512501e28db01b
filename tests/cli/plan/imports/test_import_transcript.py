"""Importing agents' session files: one iteration per session."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

AGENTS = Path(__file__).resolve().parents[4] / "fixtures" / "agents"


@pytest.fixture
def log(folder: Path, done: Run) -> Path:
    """Return a folder with an empty log."""
    done("init")
    return folder


def runs(done: Run, *sprint: str) -> list[Any]:
    """Return the record of each run of an agent."""
    events = done("log", "--json", *sprint).lines
    return [event["data"] for event in events if event["type"] == "agent-ran"]


def imported(done: Run, *files: Path | str) -> Any:
    """Import some sessions; return the answer for the last."""
    return done("import", "transcript", *files, "--json").lines[-1]


def totals(ran: list[Any]) -> dict[str, int]:
    """Return the totals of runs."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens")
    used = {name: sum(r.get("usage", {}).get(name, 0) for r in ran) for name in names}
    counts = ("tool_calls", "lines", "output_bytes")
    return used | {name: sum(r.get(name) or 0 for r in ran) for name in counts}


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
    """Its usage is recorded as stated by the agent, as an observed run."""
    answer = imported(done, AGENTS / name)
    assert (answer["kind"], answer["unread"]) == (f"transcript of {agent}", 0)
    (ran,) = runs(done)
    assert (ran["usage"]["input_tokens"], ran["usage"]["output_tokens"]) == tokens
    assert ran["iteration"] == 1


def test_the_outcome_of_a_session_that_was_killed_is_unknown(log: Path, done: Run) -> None:
    """A transcript without an end of turn proves no completion; its tokens are recorded."""
    done("import", "transcript", AGENTS / "claude-2.1.197-killed-transcript.jsonl")
    assert runs(done)[0]["status"] == "unknown"


def test_subagents_beside_a_session_are_taken_along(log: Path, done: Run) -> None:
    """Claude Code stores subagents in separate files: the sum is the usage."""
    shutil.copy(AGENTS / "claude-2.1.197-transcript.jsonl", log / "one.jsonl")
    (log / "one" / "subagents").mkdir(parents=True)
    subagent = log / "one" / "subagents" / "agent-1.jsonl"
    shutil.copy(AGENTS / "claude-2.1.197-subagent.jsonl", subagent)
    answer = done("import", "transcript", "one.jsonl", "--json").json
    assert answer["found"]["subagent"] == 1
    (ran,) = runs(done)
    assert (ran["usage"]["input_tokens"], ran["usage"]["output_tokens"]) == (1080, 360)
    assert ran["status"] == "completed"


def test_all_that_is_known_of_a_session_is_recorded(log: Path, done: Run) -> None:
    """Agent, version, model, calls, lines, and the initial commit of the repository."""
    imported(done, AGENTS / "codex-rollout.jsonl")
    (ran,) = runs(done)
    assert (ran["agent"], ran["agent_version"]) == ("codex", "0.169.0")
    assert (len(ran["models"]), len(ran["sessions"])) == (1, 1)
    assert ran["lines"] == 30
    assert ran["tool_calls"] > 0
    assert ran["git_before"] == {"head": "6c3d8271f04193128447b97bfb53d8e8d832818a"}
    assert "command" not in ran


def test_sessions_go_to_the_sprint_in_force(sprint: Path, done: Run) -> None:
    """The sprint's next iteration is the session, as if wrapped; nothing else changes."""
    before = done("show", "progress", "--json").json
    answer = imported(done, AGENTS / "codex-rollout.jsonl")
    assert answer["sprint"] == "auth"
    after = done("show", "progress", "--json").json
    assert after["phases"] == before["phases"]
    assert after["status"] == "in-progress"
    (began,) = [e for e in done("log", "--json").lines if e["type"] == "iteration-started"]
    assert (began["data"]["is_wrapped"], began["observed"]) == (True, True)


def test_without_a_sprint_one_is_made_and_stays_open(log: Path, done: Run) -> None:
    """A session does not state the end of the work."""
    answer = imported(done, AGENTS / "codex-rollout.jsonl")
    shown = done("show", "progress", "--sprint", answer["sprint"], "--json").json
    assert (shown["mode"], shown["status"]) == ("ralph", "in-progress")


def test_an_iteration_that_is_under_way_is_not_ended(sprint: Path, run: Run) -> None:
    """An earlier session cannot be imported in between: the refusal has a command."""
    run("iteration", "start")
    before = run("verify", "--json").json["events"]
    result = run("import", "transcript", AGENTS / "codex-rollout.jsonl")
    assert result.code == 1
    assert "iteration 1 of auth is under way" in result.err
    assert run("verify", "--json").json["events"] == before
    other = ("--sprint", "past")
    assert run("import", "transcript", AGENTS / "codex-rollout.jsonl", *other).code == 0


@pytest.mark.parametrize(
    "name",
    [
        "claude-2.1.330-transcript.jsonl",
        "codex-rollout.jsonl",
        "gemini-session.jsonl",
        "copilot-events.jsonl",
    ],
)
def test_a_session_that_grew_is_the_session_taken_in_at_once(
    log: Path, done: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Read in parts, it has the same figures, in the same iteration."""
    whole = (AGENTS / name).read_bytes().splitlines(keepends=True)
    file = log / "session.jsonl"
    for end in (len(whole) // 3, 2 * len(whole) // 3, len(whole)):
        file.write_bytes(b"".join(whole[:end]))
        imported(done, file)
    assert imported(done, file)["recorded"] == 0
    in_pieces = runs(done)
    assert {ran["iteration"] for ran in in_pieces} == {1}
    (log / "other").mkdir()
    monkeypatch.chdir(log / "other")
    done("init", "--here")
    imported(done, file)
    (at_once,) = runs(done)
    assert totals(in_pieces) == totals([at_once])
    assert in_pieces[-1]["status"] == at_once["status"]


def test_a_session_that_was_wrapped_is_not_doubled(log: Path, done: Run) -> None:
    """A session recorded by `wrap` is recognized by its id, whatever the bytes."""
    transcript = AGENTS / "claude-2.1.330-transcript.jsonl"
    session = json.loads(transcript.read_text().splitlines()[0])["sessionId"]
    used = {
        "inputTokens": 960,
        "outputTokens": 320,
        "cacheReadInputTokens": 8000,
        "cacheCreationInputTokens": 240,
    }
    said: dict[str, Any] = {"type": "result", "subtype": "success", "result": "done"}
    said |= {"session_id": session, "modelUsage": {"m": used}}
    (log / "said.json").write_text(json.dumps(said))
    done("sprint", "create", "night", "--goal", "Make it work")
    done("sprint", "start")
    subprocess.run(
        [sys.executable, "-m", "sprintlog.cli", "wrap", "--", "cat", "said.json"],
        cwd=log,
        check=True,
        capture_output=True,
    )
    before = runs(done)
    assert before[0]["sessions"] == [session]
    answer = imported(done, transcript)
    assert answer["sprint"] == "night"
    used_before, used_after = totals(before), totals(runs(done))
    for name in ("input_tokens", "output_tokens"):
        assert used_after[name] == used_before[name]
    assert {ran["iteration"] for ran in runs(done)} == {1}


def test_a_subagents_file_is_its_sessions(log: Path, done: Run) -> None:
    """With or without its session, it is read once, with the session."""
    shutil.copy(AGENTS / "claude-2.1.197-transcript.jsonl", log / "one.jsonl")
    (log / "one" / "subagents").mkdir(parents=True)
    subagent = log / "one" / "subagents" / "agent-1.jsonl"
    shutil.copy(AGENTS / "claude-2.1.197-subagent.jsonl", subagent)
    answers = done("import", "transcript", subagent, log / "one.jsonl", "--json").lines
    assert len(answers) == 1
    (ran,) = runs(done)
    assert ran["usage"]["input_tokens"] == 1080


def test_no_link_to_a_subagent_is_followed(log: Path, run: Run) -> None:
    """Files next to a session are read only if they are named."""
    shutil.copy(AGENTS / "claude-2.1.197-transcript.jsonl", log / "one.jsonl")
    (log / "one" / "subagents").mkdir(parents=True)
    subagent = AGENTS / "claude-2.1.197-subagent.jsonl"
    (log / "one" / "subagents" / "agent-1.jsonl").symlink_to(subagent)
    result = run("import", "transcript", "one.jsonl")
    assert (result.code, "is a symbolic link" in result.err) == (1, True)


def test_the_same_session_again_records_nothing(log: Path, done: Run) -> None:
    """A session is identified by its id, whatever its file's name."""
    shutil.copy(AGENTS / "codex-rollout.jsonl", log / "one.jsonl")
    done("import", "transcript", "one.jsonl")
    (log / "one.jsonl").rename(log / "two.jsonl")
    assert imported(done, "two.jsonl")["recorded"] == 0
    assert len(runs(done)) == 1


def test_two_imports_at_a_time_record_a_session_once(log: Path, done: Run) -> None:
    """The second import finds the records of the first one."""
    command = [sys.executable, "-m", "sprintlog.cli", "import", "transcript"]
    command.append(str(AGENTS / "codex-rollout.jsonl"))
    both = [subprocess.Popen(command, cwd=log, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [one.wait() for one in both] == [0, 0, 0]
    assert len(runs(done)) == 1
    types = [e["type"] for e in done("log", "--json").lines]
    assert types.count("iteration-started") == 1


def test_lines_of_nobody_are_counted_and_kept(log: Path, done: Run) -> None:
    """A line that no agent writes is skipped."""
    content = (AGENTS / "codex-rollout.jsonl").read_bytes()
    (log / "one.jsonl").write_bytes(b'{"who":"knows"}\n' + content)
    answer = done("import", "transcript", "one.jsonl", "--json").json
    assert answer["unread"] == 1
    assert "who" in Path(answer["kept"]).read_text()


@pytest.mark.parametrize("content", [b"", b"words\n", b"\x00\xff\x80", b'{"a": 1}\n[2]\n'])
def test_what_is_no_transcript_is_refused_in_one_line(
    log: Path, run: Run, content: bytes
) -> None:
    """The file is named and nothing is recorded, even from other given files."""
    (log / "bad.jsonl").write_bytes(content)
    result = run("import", "transcript", AGENTS / "codex-rollout.jsonl", "bad.jsonl")
    assert result.code != 0
    assert result.err.startswith("error: bad.jsonl: is ")
    assert run("verify", "--json").json["events"] == 0
