"""`iteration end --from`: an iteration ends with its agent's output."""

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.agents.output import READERS
from sprintlog.engine.sprint.state.words import AGENTS
from tests import needs

from ...conftest import Run
from .test_agents import FAILED, FIGURES, FIXTURES, SPENT

STREAM = FIXTURES / "claude-2.1.330-stream.jsonl"
Begun = Callable[[], None]
Given = Callable[[bytes], None]
MEBIBYTE = 1024 * 1024
BYTES = 160 * MEBIBYTE


@pytest.fixture
def begun(folder: Path, done: Run) -> None:
    """Start an iteration of a sprint with one phase."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: Do it}]")
    done("init", "--here")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "start")


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Return a function that provides bytes on standard input."""

    def give(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


def recorded(done: Run, type_: str) -> list[dict[str, Any]]:
    """Return the data of the events of a type."""
    return [event["data"] for event in done("log", "--type", type_, "--json").lines]


def test_the_names_are_those_of_the_readers() -> None:
    """`--agent` accepts exactly the names that have a decoder."""
    assert sorted({name for name, _ in READERS}) == [*AGENTS]


@pytest.mark.parametrize("name", SPENT)
@pytest.mark.parametrize("way", ["file", "input"])
def test_figures_and_words_are_recorded(
    begun: None, done: Run, given: Given, name: str, way: str
) -> None:
    """Each agent is known by its output, by name and by standard input alike."""
    content = (FIXTURES / name).read_bytes()
    given(content)
    answer = done("iteration", "end", "--from", "-" if way == "input" else FIXTURES / name)
    assert answer.err == ""
    (ran,), (ended,) = recorded(done, "agent-ran"), recorded(done, "iteration-ended")
    assert tuple(ran.get("usage", {}).get(n) for n in FIGURES) == SPENT[name]
    assert ran["agent"] == name.partition("-")[0]
    assert (ran["status"], ran["iteration"]) == ("completed", 1)
    assert ran["output_sha256"] == hashlib.sha256(content).hexdigest()
    assert ran["output_bytes"] == len(content)
    assert ended["summary"] == "All done. RALPH_COMPLETE"


def test_what_is_recorded_is_what_wrap_records(begun: None, done: Run) -> None:
    """Models, sessions, calls and lines are those of the stream."""
    done("iteration", "end", "--from", STREAM)
    (ran,) = recorded(done, "agent-ran")
    lines = [json.loads(line) for line in STREAM.read_text().splitlines()]
    assert ran["lines"] == len(lines)
    assert ran["sessions"] == [lines[0]["session_id"]]
    assert ran["tool_calls"] == 7
    assert "unknown_lines" not in ran


def test_the_version_is_recorded_where_it_is_said(begun: None, done: Run) -> None:
    """A transcript of Claude Code names the version of the program."""
    done("iteration", "end", "--from", FIXTURES / "claude-2.1.330-transcript.jsonl")
    assert recorded(done, "agent-ran")[0]["agent_version"] == "2.1.330"


def test_a_result_alone_says_nothing_of_calls(begun: None, done: Run) -> None:
    """If calls are not listed individually, their number is absent, not 0."""
    done("iteration", "end", "--from", FIXTURES / "claude-2.1.330-result.json")
    assert "tool_calls" not in recorded(done, "agent-ran")[0]


@pytest.mark.parametrize("name", FAILED)
def test_a_failure_is_recorded_with_its_kind(begun: None, done: Run, name: str) -> None:
    """The iteration ends; its summary is the error, with a category."""
    done("iteration", "end", "--from", FIXTURES / name)
    (ran,), (ended,) = recorded(done, "agent-ran"), recorded(done, "iteration-ended")
    status = "unknown" if "end of turn" in FAILED[name] else "failed"
    status = "stopped" if "aborted" in name else status
    assert (ran["status"], ran["error"]) == (status, FAILED[name])
    assert ran["error_kind"] in ("rate-limit", "network", "validation", "logic")
    assert ended["summary"] == FAILED[name]


def test_a_summary_that_is_given_is_kept(begun: None, done: Run) -> None:
    """The agent's text is used only if no other is given."""
    done("iteration", "end", "--from", STREAM, "--summary", "mine")
    assert recorded(done, "iteration-ended")[0]["summary"] == "mine"


def test_the_same_file_again_changes_nothing(begun: None, run: Run, done: Run) -> None:
    """A retry has one answer; another output for the same iteration is refused."""
    done("iteration", "end", "--from", STREAM)
    again = done("iteration", "end", "--from", STREAM, "--json").json
    assert again["unchanged"] is True
    other = run("iteration", "end", "--from", FIXTURES / "codex-exec.jsonl")
    assert (other.code, "none is under way" in other.err) == (1, True)
    assert run("iteration", "end").code == 1
    assert len(recorded(done, "agent-ran")) == 1


def test_a_key_answers_once(begun: None, run: Run, done: Run) -> None:
    """A key identifies the contents, not the name of the file."""
    first = done("iteration", "end", "--from", STREAM, "--key", "k", "--json").json
    again = done("iteration", "end", "--from", STREAM, "--key", "k", "--json").json
    assert [event["id"] for event in first] == [event["id"] for event in again]
    other = FIXTURES / "codex-exec.jsonl"
    assert run("iteration", "end", "--from", other, "--key", "k").code == 5


def test_the_phase_it_was_begun_for_is_named(folder: Path, done: Run) -> None:
    """An iteration that belongs to a leaf gives its name to the agent's run."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: Do it}]")
    done("init", "--here")
    done("sprint", "create", "s", "--plan", "plan.yaml")
    done("sprint", "start")
    done("append", "iteration-started", "--data", '{"number": 1, "phase": "a"}')
    done("iteration", "end", "--from", STREAM)
    assert recorded(done, "agent-ran")[0]["phase"] == "a"


def test_metrics_and_files_go_with_it(begun: None, done: Run) -> None:
    """Run, end, measurement and snapshot are one append; a retry adds none of them."""
    typed = ("iteration", "end", "--from", STREAM, "--metric", "test_count=1")
    done(*typed, "--snapshot")
    assert done(*typed, "--snapshot", "--json").json["unchanged"] is True
    types = [event["type"] for event in done("log", "--json").lines][-4:]
    assert types == ["agent-ran", "iteration-ended", "iteration-measured", "snapshot-taken"]


def test_what_was_spent_counts_once(begun: None, done: Run) -> None:
    """A measurement of the same iteration adds no second run to the usage."""
    done("iteration", "end", "--from", STREAM, "--metric", "test_count=1")
    assert done("status", "--json").json["spent"]["cost_usd"] == 0.0163


def test_after_a_rollback_the_same_file_is_a_new_end(begun: None, done: Run) -> None:
    """Discarded runs happened; an iteration that continues can end again."""
    done("iteration", "end", "--from", STREAM)
    done("rollback", "version:3", "--plan", "--yes")
    done("iteration", "start")
    done("iteration", "end", "--from", STREAM)
    assert [ran["iteration"] for ran in recorded(done, "agent-ran")] == [1, 2]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty: the agent's work is unknown"),
        (bytes(range(256)) * 40, "from an unknown agent, kept as plain text"),
        (b"just words\n", "1 line from an unknown agent, kept as plain text"),
        (b'{"hook_event_name": "Stop"}\n', "from an unknown agent"),
        (STREAM.read_bytes()[:-3000], "ends in the middle of the work"),
        (STREAM.read_bytes() + b'{"odd": 1}\n' * 2, "2 of 25 lines not understood"),
    ],
)
def test_what_is_not_understood_is_said_in_a_line(
    begun: None, folder: Path, done: Run, content: bytes, said: str
) -> None:
    """The iteration ends, the digest covers everything, and one line reports it."""
    (folder / "out").write_bytes(content)
    answer = done("iteration", "end", "--from", "out")
    assert said in answer.err
    assert answer.err.count("\n") == 1
    (ran,) = recorded(done, "agent-ran")
    assert ran["output_sha256"] == hashlib.sha256(content).hexdigest()
    assert len(recorded(done, "iteration-ended")) == 1


def test_an_agent_that_is_named_is_believed(begun: None, folder: Path, done: Run) -> None:
    """Its plain text is its summary; other programs' messages are not understood."""
    (folder / "out").write_text("It works now.\n")
    assert done("iteration", "end", "--from", "out", "--agent", "claude").err == ""
    assert recorded(done, "iteration-ended")[0]["summary"] == "It works now."
    done("iteration", "start")
    other = FIXTURES / "codex-exec.jsonl"
    lines = len(other.read_text().splitlines())
    said = done("iteration", "end", "--from", other, "--agent", "claude").err
    assert f"{lines} of {lines} lines not understood" in said
    ran = recorded(done, "agent-ran")
    assert [one["agent"] for one in ran] == ["claude", "claude"]
    assert [one.get("unknown_lines", 0) for one in ran] == [0, lines]
    assert all("tool_calls" not in one for one in ran)


@pytest.mark.long
@needs.linux
@pytest.mark.parametrize(
    "content", [b"x" * MEBIBYTE, b'{"a": "' + b"x" * 4086 + b'"}\n'], ids=["bytes", "lines"]
)
def test_memory_is_bounded(begun: None, done: Run, content: bytes) -> None:
    """Output of any length requires only a bounded amount of memory."""
    script = (
        "import sys; from sprintlog.cli.main import main\n"
        "sys.argv = ['sprintlog', 'iteration', 'end', '--from', '-']\n"
        "main()\n"
        "print([x.split()[1] for x in open('/proc/self/status') if 'HWM' in x][0])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin as given:
        for _ in range(BYTES // len(content)):
            given.write(content)
    kibibytes = int(child.stdout.read().split()[-1])
    child.stdout.close()
    assert child.wait() == 0
    length = BYTES // len(content) * len(content)
    assert recorded(done, "agent-ran")[0]["output_bytes"] == length
    assert kibibytes * 1024 < length


@pytest.mark.parametrize(("name", "code"), [("gone", 3), (".", 1), ("a\0b", 1)])
def test_what_cannot_be_read_changes_nothing(
    begun: None, run: Run, done: Run, name: str, code: int
) -> None:
    """A missing or invalid file is named in one line."""
    before = len(done("log", "--json").lines)
    answer = run("iteration", "end", "--from", name)
    assert answer.code == code
    assert answer.err.startswith("error: ")
    assert len(done("log", "--json").lines) == before


def test_without_recording_the_input_is_read_to_its_end(
    begun: None, done: Run, given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer into the pipe is not interrupted if recording is off."""
    given(STREAM.read_bytes())
    monkeypatch.setenv("SPRINTLOG_OFF", "1")
    done("iteration", "end", "--from", "-")
    assert sys.stdin.buffer.read() == b""


def test_an_agent_alone_means_nothing(begun: None, run: Run) -> None:
    """`--agent` specifies the author of a file, so it requires one."""
    assert run("iteration", "end", "--agent", "claude").code == 2


def test_secrets_are_masked(begun: None, folder: Path, done: Run) -> None:
    """A token in the agent's text appears neither in the log nor on the terminal."""
    token = "ghp_" + "a1" * 18
    (folder / "out").write_bytes(STREAM.read_bytes().replace(b"All done", token.encode()))
    answer = done("iteration", "end", "--from", "out")
    assert token not in answer.out + answer.err
    log = folder / ".sprintlog"
    assert not any(token.encode() in p.read_bytes() for p in log.rglob("*") if p.is_file())
    assert "[masked: github-token" in recorded(done, "iteration-ended")[0]["summary"]
