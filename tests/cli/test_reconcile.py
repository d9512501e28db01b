"""`session reconcile`: hooks and transcript of one session are each counted once."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.service.agent_sessions.hook import take_hook

from .conftest import Run

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PAIRS = [
    ("claude", "claude-2.1.330", "claude-2.1.330-transcript", 6, 6),
    ("codex", "codex-0.169.0", "codex-rollout", 4, 2),
    ("copilot", "copilot-1.0.102", "copilot-events", 3, 3),
    ("gemini", "gemini-0.61.0", "gemini-session", 3, 3),
]
KILLED = "claude-2.1.197-killed"


def hooks_of(name: str, agent: str, *, session: str | None = None) -> list[bytes]:
    """Return recorded hooks, of another session where that is wanted."""
    found = []
    for line in (FIXTURES / "hooks" / f"{name}.jsonl").read_bytes().splitlines():
        said = json.loads(line)
        field = "sessionId" if "sessionId" in said else "session_id"
        found.append(json.dumps({**said, field: session or said[field]}).encode())
    return found


def tell(folder: Path, agent: str, hooks: list[bytes]) -> None:
    """Record what hooks were handed."""
    for content in hooks:
        take_hook(
            agent,
            content,
            start=folder,
            folder=None,
            safe=folder / "safe",
            environment=os.environ,
        )


def transcript_of(folder: Path, name: str) -> Path:
    """Return a transcript in a folder that is no agent's own."""
    file = folder.parent / f"{name}.jsonl"
    shutil.copy(FIXTURES / "agents" / file.name, file)
    return file


def session_in(file: Path) -> str:
    """Return the session that a transcript names first."""
    for line in file.read_bytes().splitlines():
        said = json.loads(line)
        of = {**said, **said.get("data", {}), **said.get("payload", {})}
        if found := of.get("sessionId") or of.get("session_id") or of.get("id"):
            return str(found)
    raise AssertionError(file)


def reconciled(done: Run, file: Path, *words: str) -> Any:
    """Compare the latest session with a file."""
    return done("session", "reconcile", "--transcript", file, "--json", *words).json


def calls(done: Run) -> list[Any]:
    """Return the calls in the log."""
    found = done("log", "--all", "--type", "tool-called", "--json").lines
    return [event["data"] for event in found]


@pytest.mark.parametrize(("agent", "hooks", "transcript", "count", "heard"), PAIRS)
def test_what_hooks_missed_comes_from_the_transcript(
    sprint: Path,
    done: Run,
    agent: str,
    hooks: str,
    transcript: str,
    count: int,
    heard: int,
) -> None:
    """Calls that no hook told of are taken once, and marked; a late hook adds none.

    That holds where the agent's id of the call is in both.
    """
    file = transcript_of(sprint, transcript)
    told = hooks_of(hooks, agent, session=session_in(file))
    tell(sprint, agent, told[:1])
    first = reconciled(done, file, "--ended")
    assert (first["seen"], first["taken"], first["calls"]) == (0, count, count)
    assert all(call["found_in"] == "transcript" for call in calls(done))
    again = reconciled(done, file, "--ended")
    assert again == {**first, "recorded": 0}
    assert len(calls(done)) == count
    if agent == "codex":
        tell(sprint, agent, told)
        assert len(calls(done)) == count


@pytest.mark.parametrize(("agent", "hooks", "transcript", "count", "heard"), PAIRS)
def test_what_hooks_told_is_not_taken_again(
    sprint: Path,
    done: Run,
    agent: str,
    hooks: str,
    transcript: str,
    count: int,
    heard: int,
) -> None:
    """A call by hook and in the transcript is one event, also where hooks know no id."""
    file = transcript_of(sprint, transcript)
    tell(sprint, agent, hooks_of(hooks, agent, session=session_in(file)))
    before = len(calls(done))
    found = reconciled(done, file, "--ended")
    assert (found["seen"], found["taken"]) == (heard, count - heard)
    assert len(calls(done)) == before + count - heard


def test_a_killed_session_has_its_unfinished_call_and_its_tokens(
    folder: Path, done: Run
) -> None:
    """The sprint it worked on gets 240 and 80 tokens, once, whoever else reads it."""
    done("init")
    done("sprint", "create", "goal", "--goal", "g")
    done("sprint", "start", "--sprint", "goal")
    done("iteration", "start", "--sprint", "goal")
    file = transcript_of(folder, f"{KILLED}-transcript")
    tell(folder, "claude", hooks_of(KILLED, "claude"))
    beat(done)
    early = reconciled(done, file)
    assert (early["left"], early["recorded"], early["input_tokens"]) == (1, 0, None)
    answer = reconciled(done, file, "--ended")
    assert (answer["seen"], answer["taken"], answer["unfinished"]) == (1, 1, 1)
    assert (answer["input_tokens"], answer["output_tokens"]) == (240, 80)
    assert [call.get("is_unfinished", False) for call in calls(done)] == [False, True]
    assert reconciled(done, file, "--ended")["recorded"] == 0
    (ran,) = ran_of(done)
    assert (ran["found_in"], ran["iteration"]) == ("transcript", 1)
    done("iteration", "end", "--sprint", "goal")
    done("import", "transcript", file)
    (ran,) = ran_of(done)
    assert (ran["usage"]["input_tokens"], ran["usage"]["output_tokens"]) == (240, 80)


def beat(done: Run) -> None:
    """Record the sign of life that a hook's process gives once a minute."""
    (first,) = done("log", "--session", "claude", "--json").lines[:1]
    correlation = first["correlation_id"]
    done("sprint", "heartbeat", "--sprint", "goal", "--correlation-id", correlation)


def ran_of(done: Run) -> list[Any]:
    """Return the runs of agents in the log."""
    return [x["data"] for x in done("log", "--all", "--type", "agent-ran", "--json").lines]


def test_what_was_imported_before_is_not_counted_again(sprint: Path, done: Run) -> None:
    """A session whose tokens an import recorded brings its calls alone."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    done("import", "transcript", file)
    answer = reconciled(done, file, "--ended")
    assert (answer["taken"], answer["input_tokens"]) == (1, None)
    assert len(ran_of(done)) == 1


def test_the_answer_is_one_line(sprint: Path, done: Run) -> None:
    """It says how many calls hooks saw, and where tokens are that no sprint has."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    said = done("session", "reconcile", "--transcript", file, "--ended").out.splitlines()
    assert said[0] == "hooks saw 1 of 2 tool calls; 1 taken from the transcript"
    assert said[1].startswith("tokens: 240 in, 80 out, in no sprint")


def test_a_transcript_of_another_session_or_agent_is_refused(
    sprint: Path, done: Run, run: Run
) -> None:
    """One line names the file, and nothing is recorded."""
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    before = done("log", "--all", "--json").out
    for name, problem in (
        ("claude-2.1.330-transcript", "is of session"),
        ("codex-rollout", "is no transcript of claude"),
    ):
        file = transcript_of(sprint, name)
        found = run("session", "reconcile", "--transcript", file)
        assert found.code == 1
        assert problem in found.err
        assert str(file) in found.err
    assert run("session", "reconcile", "--transcript", sprint / "none").code == 3
    assert done("log", "--all", "--json").out == before


def test_a_hooks_word_alone_opens_only_the_agents_own_folder(
    sprint: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a hook names elsewhere, or by a link, is not read; in its folder it is."""
    home = sprint.parent / "home"
    own = home / ".claude" / "projects"
    own.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    file = transcript_of(sprint, f"{KILLED}-transcript")
    hooks = [json.loads(line) for line in hooks_of(KILLED, "claude")]

    def named(path: Path) -> None:
        said = {**hooks[0], "source": path.name, "transcript_path": str(path)}
        tell(sprint, "claude", [json.dumps(said).encode()])

    named(file)
    assert "is not in ~/.claude" in run("session", "reconcile").err
    (own / "link.jsonl").symlink_to(file)
    named(own / "link.jsonl")
    assert "is reached by a link" in run("session", "reconcile").err
    named(own / ".." / ".." / "other.jsonl")
    assert "is not in ~/.claude" in run("session", "reconcile").err
    shutil.copy(file, own / "plain.jsonl")
    named(own / "plain.jsonl")
    assert done("session", "reconcile", "--ended", "--json").json["taken"] == 2


def test_a_cut_transcript_gives_what_is_whole(sprint: Path, done: Run) -> None:
    """A last line that is being written is passed over; what hooks know is said."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b'"toolu_e40f')])
    answer = reconciled(done, file)
    assert (answer["seen"], answer["calls"], answer["recorded"]) == (1, 1, 0)
