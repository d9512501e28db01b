"""A wrapped command behaves as without wrap, and is recorded."""

import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.cli.work.wrap import command as typed_command
from sprintlog.cli.wrapping.frames import WrapRequest
from sprintlog.cli.wrapping.start import parse

from .conftest import Events, Wrap
from .terminals import SPRINTLOG

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "agents"
ALL_BYTES = bytes(range(256)) * 9
CLAUDE = FIXTURES / "claude-2.1.330-stream.jsonl"


@pytest.mark.parametrize("code", [0, 1, 3, 255])
def test_exit_codes(wrap: Wrap, code: int) -> None:
    """It ends with the exit code of the command."""
    assert wrap("--", "sh", "-c", f"exit {code}").returncode == code


def test_a_signal_that_ends_the_command_ends_us(wrap: Wrap, events: Events) -> None:
    """The parent process sees the signal, not a number for it."""
    assert wrap("--", "sh", "-c", "kill -KILL $$").returncode == -9
    assert events("agent-ran")[0]["data"]["exit_code"] == -9


@pytest.mark.parametrize(("name", "code"), [("no-such-program", 127), ("/etc", 126)])
def test_what_cannot_be_started(wrap: Wrap, events: Events, name: str, code: int) -> None:
    """The exit status equals a shell's, even if a PATH folder cannot be searched."""
    done = wrap("--", name, PATH=f"/{'x' * 300}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.startswith(f"sprintlog: {name}: ".encode())
    assert events("agent-ran")[0]["data"]["status"] == "failed"


def test_streams_stay_apart(wrap: Wrap) -> None:
    """Input, output and errors pass byte for byte, each in its stream."""
    done = wrap("--", "sh", "-c", "cat; printf 'bad\\n' >&2", given=ALL_BYTES)
    assert (done.stdout, done.stderr) == (ALL_BYTES, b"bad\n")


def test_one_file_for_both_keeps_the_order(tmp_path: Path, clean: dict[str, str]) -> None:
    """Output and errors to the same file keep their order."""
    script = "for i in 1 2 3 4 5; do echo o$i; echo e$i >&2; done"
    done = subprocess.run(
        [*SPRINTLOG, "wrap", "--", "sh", "-c", script],
        cwd=tmp_path,
        env=clean,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=True,
    )
    assert done.stdout.split() == [f"{x}{i}".encode() for i in range(1, 6) for x in "oe"]


def test_much_is_kept_as_head_and_tail(wrap: Wrap, events: Events) -> None:
    """Of long output, the record has both ends, its length and its digest."""
    done = wrap("--", "sh", "-c", "head -c 20000000 /dev/zero | tr '\\0' 'x'")
    assert len(done.stdout) == 20_000_000
    data = events("agent-ran")[0]["data"]
    assert data["output_bytes"] == 20_000_000
    assert data["output_sha256"] == hashlib.sha256(done.stdout).hexdigest()
    assert len(data["output"]) < 40_000


def test_a_sprint_is_made_where_there_is_none(
    wrap: Wrap, events: Events, tmp_path: Path
) -> None:
    """Without a log and a sprint, both are created; the work tree is not written."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert wrap("--", "true").returncode == 0
    types = [event["type"] for event in events()]
    assert types == [
        *("sprint-compiled", "sprint-started", "iteration-started"),
        *("agent-ran", "iteration-ended"),
    ]
    folder = re.sub(r"[^a-z0-9-]+", "-", tmp_path.name.lower())
    stream = events()[0]["stream"]
    assert re.fullmatch(rf"sprint/{re.escape(folder)}-\d{{4}}-\d\d-\d\d", stream)
    assert {path.name for path in tmp_path.iterdir()} == {".git"}


def test_every_command_is_an_iteration(wrap: Wrap, events: Events) -> None:
    """Each time it is another iteration of the same sprint, and none is idle."""
    for _ in range(5):
        assert wrap("--", "true").returncode == 0
    assert [e["data"]["number"] for e in events("iteration-ended")] == [1, 2, 3, 4, 5]
    assert len({e["stream"] for e in events()}) == 1
    assert events("reflection-started") == []


@pytest.mark.long
def test_iterations_that_nobody_measured_are_listed(
    wrap: Wrap, sprintlog: Callable[..., str]
) -> None:
    """The list has the outcome of each iteration, and the known usage."""
    said = FIXTURES / "claude-2.1.197-result.json"
    wrap("--", "cat", str(said))
    wrap("--", "sh", "-c", "echo too bad >&2; exit 3")
    head, first, second = sprintlog("list").splitlines()
    assert head.split() == ["iteration", "turns", "tokens", "cost", "time", "summary"]
    assert first.split()[:4] == ["1", "7", "1,710", "$0.02"]
    assert first.endswith("  completed: All done. RALPH_COMPLETE")
    assert second.split()[:4] == ["2", "-", "-", "-"]
    assert "  failed: " in second
    assert "too bad" in second
    one, other = json.loads(sprintlog("list", "--json"))
    assert (one["iteration"], one["status"], one["class"]) == (1, "completed", None)
    assert one["summary"] == "All done. RALPH_COMPLETE"
    assert (other["status"], other["version"]) == ("failed", 7)
    sprintlog("iteration", "measure", "--number", "2", "--metric", "test_count=1")
    lines = sprintlog("list").splitlines()
    assert "not measured: completed: All done." in lines[1]
    assert "not measured" not in lines[2]
    assert len(json.loads(sprintlog("list", "--last", "1", "--json"))) == 1


@pytest.mark.parametrize(("name", "status"), [("sync", "completed"), ("claude", "unknown")])
def test_silence_is_evidence_for_other_commands_alone(
    wrap: Wrap, events: Events, tmp_path: Path, name: str, status: str
) -> None:
    """A silent command that ends with 0 succeeded; an agent must answer."""
    program = tmp_path / name
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    assert wrap(str(program)).returncode == 0
    assert events("agent-ran")[0]["data"]["status"] == status


def test_a_person_is_told_that_the_last_ones_failed(
    wrap: Wrap, sprintlog: Callable[..., str]
) -> None:
    """`status` counts the failures in a row, until a command succeeds."""
    for code in (0, 1, 2):
        wrap("sh", "-c", f"exit {code}")
    assert "the last 2 runs did not complete" in sprintlog("status")
    wrap("true")
    assert "failed" not in sprintlog("status")


def test_a_person_is_told_whether_one_is_under_way(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str]
) -> None:
    """`status` shows whether an iteration is in progress, except if paused."""
    wrap("--", "true")
    assert events("iteration-ended")
    assert "now: iteration 1 ended, none is running; last event 20" in sprintlog("status")
    status = shlex.join([sys.executable, "-P", "-m", "sprintlog.cli", "status"])
    # A command is recorded while it is running.
    during = wrap("--", "sh", "-c", f"until {status} | grep 'iteration 2 is'; do :; done")
    assert b"now: iteration 2 is running; last event 20" in during.stdout
    sprintlog("sprint", "pause")
    assert "now: " not in sprintlog("status")


@pytest.mark.long
@pytest.mark.parametrize("status", ["paused", "completed"])
def test_whatever_the_status(
    wrap: Wrap, events: Events, sprintlog: Callable[..., str], tmp_path: Path, status: str
) -> None:
    """A paused sprint gets the iteration; after a completed one, a new sprint starts."""
    (tmp_path / "plan.yaml").write_text("phases:\n- id: a\n  prompt: do\n")
    sprintlog("init", "--here")
    sprintlog("sprint", "create", "s", "--plan", "plan.yaml")
    sprintlog("sprint", "start")
    if status == "paused":
        sprintlog("sprint", "pause")
    else:
        sprintlog("phase", "start")
        sprintlog("phase", "complete")
        sprintlog("sprint", "complete")
    assert wrap("--", "true").stderr == b""
    assert (events("iteration-ended")[0]["stream"] == "sprint/s") == (status == "paused")
    assert f'"status": "{status}"' in sprintlog(
        "status", "--sprint", "s", "--json"
    ).replace('":"', '": "')


def test_a_named_sprint(wrap: Wrap, sprintlog: Callable[..., str]) -> None:
    """A named sprint that does not exist is created with that name."""
    wrap("--sprint", "night", "--", "true")
    wrap("--", "true", SPRINTLOG_SPRINT="day")
    for name in ("night", "day"):
        assert '"iteration-ended"' in sprintlog("log", "--sprint", name, "--json")


def test_what_the_agent_says_is_recorded(wrap: Wrap, events: Events) -> None:
    """Tokens, cost, model, session, tools and final text are the agent's."""
    wrap("--", "cat", str(CLAUDE))
    data = events("agent-ran")[0]["data"]
    assert (data["status"], data["agent"], data["models"]) == (
        "completed",
        "claude",
        ["newer-model"],
    )
    assert data["usage"]["input_tokens"] == 1200
    assert data["usage"]["cost_usd"] == 0.0163
    assert data["tool_calls"] == 7
    assert events("iteration-ended")[0]["data"]["summary"] == "All done. RALPH_COMPLETE"


def test_plain_words_have_no_figures(wrap: Wrap, events: Events) -> None:
    """A command that prints plain text has no tokens, cost or tools: absent, not 0."""
    wrap("--", "echo", "fine")
    data = events("agent-ran")[0]["data"]
    assert not {"usage", "agent", "models", "sessions", "tool_calls"} & data.keys()


def test_where_git_stands(wrap: Wrap, events: Events, tmp_path: Path) -> None:
    """The commit and whether the tree differs from it, before the command and after."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "a").write_text("1")
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    wrap("--", "sh", "-c", "sleep 3; echo 2 > a")
    data = events("agent-ran")[0]["data"]
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True)
    commit = head.stdout.decode().strip()
    assert data["git_before"] == {"head": commit, "is_dirty": False}
    assert data["git_after"] == {"head": commit, "is_dirty": True}


def test_a_state_file_is_written_where_it_is_wanted(
    wrap: Wrap, sprintlog: Callable[..., str], tmp_path: Path
) -> None:
    """With `--state-files`, PROGRESS.yaml is written; an existing one is updated."""
    sprintlog("init", "--here")
    wrap("--state-files", "--", "true")
    file = tmp_path / "PROGRESS.yaml"
    assert "current-iteration: 1" in file.read_text()
    wrap("--", "true")
    assert "current-iteration: 2" in file.read_text()
    file.unlink()
    wrap("--", "true")
    assert not file.exists()


def test_a_log_that_cannot_be_used(wrap: Wrap, tmp_path: Path) -> None:
    """A failure of the record is one line, and does not affect the command."""
    (tmp_path / ".sprintlog").mkdir(mode=0o700)
    (tmp_path / ".sprintlog" / "log.db").write_bytes(b"no database at all" * 100)
    done = wrap("--", "sh", "-c", "echo fine; exit 4")
    assert (done.returncode, done.stdout) == (4, b"fine\n")
    assert done.stderr.startswith(b"sprintlog: not recorded: ")
    assert done.stderr.count(b"\n") == 1


def test_several_sprints_and_none_named(wrap: Wrap, sprintlog: Callable[..., str]) -> None:
    """Of two candidates none is guessed; the command runs nevertheless."""
    sprintlog("init", "--here")
    for name in ("one", "two"):
        sprintlog("sprint", "create", name, "--goal", "g", "--sprint-dir", name)
        sprintlog("sprint", "start", "--sprint", name)
    done = wrap("--", "echo", "fine")
    assert (done.returncode, done.stdout) == (0, b"fine\n")
    assert b"not recorded" in done.stderr


def test_two_at_once(
    wrap: Wrap, events: Events, tmp_path: Path, clean: dict[str, str]
) -> None:
    """Two simultaneous commands in an empty folder are two iterations of one sprint."""
    both = [
        subprocess.Popen(
            [*SPRINTLOG, "wrap", "--", "sh", "-c", f"sleep 0.3; echo {number}"],
            cwd=tmp_path,
            env=clean,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in (1, 2)
    ]
    for number, one in enumerate(both, start=1):
        out, err = one.communicate()
        assert (one.returncode, out, err) == (0, f"{number}\n".encode(), b"")
    assert sorted(e["data"]["number"] for e in events("iteration-ended")) == [1, 2]
    assert len({e["stream"] for e in events()}) == 1


def test_within_another_one(wrap: Wrap, events: Events) -> None:
    """A wrapped command that wraps another one adds to its own iteration."""
    inner = shlex.join([*SPRINTLOG, "wrap", "--", "echo", "inner"])
    done = wrap("--", "sh", "-c", f"sleep 0.5; {inner}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"inner\n", b"")
    assert len(events("iteration-started")) == 1
    assert [e["data"]["iteration"] for e in events("agent-ran")] == [1, 1]


def test_off(wrap: Wrap, tmp_path: Path) -> None:
    """With SPRINTLOG_OFF=1 the command runs, and there is no log."""
    done = wrap("--", "sh", "-c", "echo fine; exit 5", SPRINTLOG_OFF="1")
    assert (done.returncode, done.stdout) == (5, b"fine\n")
    assert not (tmp_path / ".sprintlog").exists()


def test_secrets_are_masked(wrap: Wrap, events: Events) -> None:
    """Output and arguments are masked before they are recorded."""
    token = "ghp_" + "a" * 36
    wrap("--", "echo", token)
    assert token not in str(events())
    assert "[masked: github-token " in events("agent-ran")[0]["data"]["output"]


def test_what_it_leaves_running_goes_on_printing(
    tmp_path: Path, clean: dict[str, str]
) -> None:
    """A child that outlives the command prints to the same file after wrap has ended."""
    script = "(sleep 1; echo late) & echo soon"
    started = subprocess.Popen(
        [*SPRINTLOG, "wrap", "--", "sh", "-c", script],
        cwd=tmp_path,
        env=clean,
        stdout=subprocess.PIPE,
    )
    assert started.wait() == 0
    assert started.stdout is not None
    assert started.stdout.read() == b"soon\nlate\n"
    started.stdout.close()


def test_a_reader_that_has_gone(tmp_path: Path, clean: dict[str, str]) -> None:
    """The command meets a closed pipe as without wrap: SIGPIPE ends it."""
    quoted = shlex.join([*SPRINTLOG, "wrap", "--", "yes"])
    script = f'{quoted} | head -n1 >/dev/null; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=clean, check=True, capture_output=True
    )
    assert done.stdout == b"141\n"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["--", "a", "--b"], WrapRequest(("a", "--b"))),
        (["a", "--sprint", "b"], WrapRequest(("a", "--sprint", "b"))),
        (
            ["--sprint", "s", "--snapshot", "--", "a"],
            WrapRequest(("a",), "s", snapshot=True),
        ),
        (["--sprint=s", "a"], WrapRequest(("a",), "s")),
        (
            ["--measure", "m", "--report", "x", "--report=y", "--no-mask", "--", "a"],
            WrapRequest(("a",), measure="m", reports=("x", "y"), no_mask=True),
        ),
        (["--state-files", "a"], WrapRequest(("a",), state_files=True)),
        (["--", "--", "a"], WrapRequest(("--", "a"))),
    ],
)
def test_both_ways_to_read_the_options(
    arguments: list[str], asked: WrapRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Options read before any import equal those read by click."""
    seen: list[WrapRequest] = []
    monkeypatch.setattr("sprintlog.cli.work.wrap.run", seen.append)
    typed_command.main(arguments, standalone_mode=False)
    assert [parse(arguments)] == seen == [asked]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--"], ["-h"], ["--sprint"], ["--unknown", "a"], ["--report", "x", "a"]],
)
def test_what_is_left_to_click(arguments: list[str]) -> None:
    """A command line that requires an error message is not run."""
    assert parse(arguments) is None


def test_nothing_heavy_before_the_command() -> None:
    """Before the command starts nothing of click, msgspec or sqlite3 is imported."""
    script = (
        "import sys, sprintlog.cli.wrapping.start;"
        "print(*sorted({'click','msgspec','sqlite3','json','subprocess'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, env={**os.environ}
    )
    assert done.stdout == b"\n"
