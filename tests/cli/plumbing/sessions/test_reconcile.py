"""`session reconcile`: a session's hooks and transcript are each counted once."""

import json
import shutil
from pathlib import Path

import pytest

from ...conftest import Run
from .reconciling import (
    KILLED,
    beat,
    calls,
    hooks_of,
    ran_of,
    reconciled,
    session_in,
    tell,
    transcript_of,
)

PAIRS = [
    ("claude", "claude-2.1.330", "claude-2.1.330-transcript", 6, 6),
    ("codex", "codex-0.169.0", "codex-rollout", 4, 2),
    ("copilot", "copilot-1.0.102", "copilot-events", 3, 3),
    ("gemini", "gemini-0.61.0", "gemini-session", 3, 3),
]


@pytest.mark.parametrize(("agent", "hooks", "transcript", "count", "heard"), PAIRS)
def test_what_hooks_missed_comes_from_the_transcript(
    sprint: Path, done: Run, agent: str, hooks: str, transcript: str, count: int, heard: int
) -> None:
    """Calls that no hook reported are recorded once, and marked."""
    file = transcript_of(sprint, transcript)
    told = hooks_of(hooks, agent, session=session_in(file))
    tell(sprint, agent, told[:1])
    first = reconciled(done, file, "--ended")
    assert (first["seen"], first["taken"], first["calls"]) == (0, count, count)
    assert all(call["found_in"] == "transcript" for call in calls(done))
    again = reconciled(done, file, "--ended")
    assert again == {**first, "recorded": 0}
    assert len(calls(done)) == count


@pytest.mark.parametrize(("agent", "hooks", "transcript", "count", "heard"), PAIRS)
def test_what_was_erased_is_not_taken_again(
    sprint: Path, done: Run, agent: str, hooks: str, transcript: str, count: int, heard: int
) -> None:
    """A transcript restores no call of an erased session."""
    file = transcript_of(sprint, transcript)
    tell(sprint, agent, hooks_of(hooks, agent, session=session_in(file)))
    before = done("log", "--all", "--type", "tool-called", "--json").lines
    done("store prune", "--sessions", "--older-than", "0m")
    assert reconciled(done, file, "--ended")["taken"] == 0
    after = done("log", "--all", "--type", "tool-called", "--json").lines
    assert [e["id"] for e in after] == [e["id"] for e in before]
    assert all(e["data"] is None for e in after)


@pytest.mark.parametrize(("agent", "hooks", "transcript", "count", "heard"), PAIRS)
def test_what_hooks_told_is_not_taken_again(
    sprint: Path, done: Run, agent: str, hooks: str, transcript: str, count: int, heard: int
) -> None:
    """A call in a hook and in the transcript is one event, even if hooks have no id."""
    file = transcript_of(sprint, transcript)
    tell(sprint, agent, hooks_of(hooks, agent, session=session_in(file)))
    before = len(calls(done))
    found = reconciled(done, file, "--ended")
    assert (found["seen"], found["taken"]) == (heard, count - heard)
    assert len(calls(done)) == before + count - heard


def test_a_killed_session_has_its_unfinished_call_and_its_tokens(
    folder: Path, done: Run
) -> None:
    """The sprint it worked on gets 240 and 80 tokens, once, however it is read."""
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


def test_what_was_imported_before_is_not_counted_again(sprint: Path, done: Run) -> None:
    """If an import recorded a session's tokens, only its calls are added."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    done("import", "transcript", file)
    answer = reconciled(done, file, "--ended")
    assert (answer["taken"], answer["input_tokens"]) == (1, None)
    assert len(ran_of(done)) == 1


def test_the_answer_is_one_line(sprint: Path, done: Run) -> None:
    """It prints the number of calls from hooks, and tokens of no sprint."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    said = done("session", "reconcile", "--transcript", file, "--ended").out.splitlines()
    assert said[0] == "hooks reported 1 of 2 tool calls; 1 taken from the transcript"
    assert said[1].startswith("tokens: 240 in, 80 out, in no sprint")


def test_tokens_that_are_not_fully_known_are_marked(sprint: Path, done: Run) -> None:
    """A call that has not ended states no output, so its tokens are a lower bound."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    first, last = '"stop_reason":"tool_use"', '"stop_reason":null'
    file.write_text(last.join(file.read_text().rsplit(first, 1)))
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    said = done("session", "reconcile", "--transcript", file, "--ended").out
    assert "tokens: 240 in, >=40 out" in said
    assert reconciled(done, file, "--ended")["at_least"] == ["output_tokens"]


def test_a_transcript_of_another_session_or_agent_is_refused(
    sprint: Path, done: Run, run: Run
) -> None:
    """One line names the file, and nothing is recorded."""
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    before = done("log", "--all", "--json").out
    for name, problem in (
        ("claude-2.1.330-transcript", "belongs to session"),
        ("codex-rollout", "is not a transcript of claude"),
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
    """A path in a hook is read only inside the agent's folder, and not through links."""
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
    assert "is reached through a link" in run("session", "reconcile").err
    named(own / ".." / ".." / "other.jsonl")
    assert "is not in ~/.claude" in run("session", "reconcile").err
    shutil.copy(file, own / "plain.jsonl")
    named(own / "plain.jsonl")
    assert done("session", "reconcile", "--ended", "--json").json["taken"] == 2


def test_a_cut_transcript_gives_what_is_whole(sprint: Path, done: Run) -> None:
    """An incomplete last line is skipped; calls known from hooks are reported."""
    file = transcript_of(sprint, f"{KILLED}-transcript")
    tell(sprint, "claude", hooks_of(KILLED, "claude"))
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.index(b'"toolu_e40f')])
    answer = reconciled(done, file)
    assert (answer["seen"], answer["calls"], answer["recorded"]) == (1, 1, 0)
