"""Sessions that `sprintlog watch` records from the transcripts of agents without hooks."""

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections.health.kept_text import KEPT_TEXT
from sprintlog.projections.health.text_places import Needle
from sprintlog.projections.workspace import Workspace

from .conftest import FIXTURES, SPRINTLOG, events_of

Play = Callable[..., Path]
Ask = Callable[..., str]
SESSION = "a2b3ae1d-1d30-45c1-8f38-aeadd35db196"
PLACES = {
    "claude-2.1.330-transcript": f".claude/projects/-w/{SESSION}.jsonl",
    "codex-rollout": ".codex/sessions/2026/11/22/rollout-1.jsonl",
    "gemini-session": ".gemini/tmp/shop/chats/session-1.jsonl",
    "copilot-events": ".copilot/session-state/1/events.jsonl",
    "droid-session": ".factory/sessions/-w/1.jsonl",
    "antigravity-transcript": (
        ".gemini/antigravity-cli/brain/c-1/.system_generated/logs/transcript_full.jsonl"
    ),
}
"""The place of each recorded transcript in the home folder."""
CALLS = {"claude": 6, "codex": 4, "gemini": 3, "copilot": 3, "droid": 2, "antigravity": 2}


def now() -> str:
    """Return the current time as agents write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dated(value: Any) -> Any:
    """Return a message with the current time in place of all its times."""
    if isinstance(value, list):
        return [dated(one) for one in value]
    if not isinstance(value, dict):
        return value
    times = ("timestamp", "created_at", "startTime")
    return {key: now() if key in times else dated(one) for key, one in value.items()}


@pytest.fixture
def home(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the home folder of a user with a log in a work tree."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def play(home: Path, folder: Path) -> Play:
    """Return a function that writes lines of a transcript, dated now, to its place."""

    def write(name: str, first: int = 0, last: int | None = None, root: str = "") -> Path:
        (source,) = FIXTURES.glob(f"[at]*/{name}.jsonl")
        text, file = source.read_text(), home / PLACES[name]
        for old in ("/w/shop", "/tree"):
            text = text.replace(f'"{old}', f'"{root or folder}')
        digest = hashlib.sha256((root or str(folder)).encode()).hexdigest()
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as held:
            for line in text.splitlines()[first:last]:
                message = dated(json.loads(line))
                if "projectHash" in message:
                    message["projectHash"] = digest
                held.write(json.dumps(message) + "\n")
        if name.startswith("antigravity"):
            said = {"workspace": root or str(folder), "conversationId": "c-1"}
            index = home / ".gemini/antigravity-cli/history.jsonl"
            index.write_text(json.dumps(said) + "\n")
        return file

    return write


@pytest.fixture
def ask(folder: Path, home: Path) -> Ask:
    """Return a function that runs a command in the work tree and returns its output."""

    def run(*words: str) -> str:
        done = subprocess.run(
            [*SPRINTLOG, *words], cwd=folder, capture_output=True, text=True, check=True
        )
        assert done.stderr == "" or words[0] != "watch", done.stderr
        return done.stdout

    return run


def types(log: Path, kind: str) -> list[str]:
    """Return the streams of all events of a type."""
    return [event.stream for event in events_of(log) if event.type == kind]


@pytest.mark.parametrize("name", PLACES)
def test_a_session_becomes_an_iteration(
    name: str, log: Path, play: Play, ask: Ask, home: Path
) -> None:
    """A transcript of each agent results in a session and an iteration, once."""
    play(name)
    agent = name.partition("-")[0]
    (answer,) = map(json.loads, ask("watch", "--once", "--json").splitlines())
    assert answer["session"].startswith(f"{agent}-")
    assert answer["calls"] == len(types(log, "tool-called")) == CALLS[agent]
    assert len(types(log, "iteration-ended")) == 1
    before = len(events_of(log))
    assert ask("watch", "--once") == ""
    assert len(events_of(log)) == before


def test_sessions_of_other_trees_are_ignored(
    log: Path, play: Play, ask: Ask, tmp_path: Path, home: Path, folder: Path
) -> None:
    """Sessions in another folder or repository, and files behind links, are not read."""
    (folder / "inner" / ".git").mkdir(parents=True)
    for name in PLACES:
        play(name, root=str(tmp_path))
    file = home / PLACES["droid-session"]
    file.unlink()
    play("droid-session", root=str(folder / "inner"))
    real = play("claude-2.1.330-transcript").rename(tmp_path / "real.jsonl")
    (home / PLACES["claude-2.1.330-transcript"]).symlink_to(real)
    subprocess.run([*SPRINTLOG, "watch", "--once"], cwd=folder, check=True)
    assert events_of(log) == []


def test_a_subfolder_belongs_to_the_tree(
    log: Path, play: Play, ask: Ask, folder: Path
) -> None:
    """A session in a subfolder is recorded in the log of its tree."""
    (folder / "sub").mkdir()
    play("codex-rollout", root=str(folder / "sub"))
    ask("watch", "--once")
    assert len(types(log, "iteration-ended")) == 1


def test_turns_before_the_log_are_ignored(
    log: Path, play: Play, ask: Ask, home: Path
) -> None:
    """Only turns after the log's first event are recorded."""
    file = play("claude-2.1.330-transcript", last=18)
    old = "2020-01-01T00:00:00.000Z"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**x, "timestamp": old}) + "\n" for x in lines))
    play("claude-2.1.330-transcript", first=2)
    ask("watch", "--once")
    assert len(types(log, "prompt-given")) == 2
    os.utime(file, (1, 1))
    file.with_name("other.jsonl").write_text(file.read_text().replace(SESSION, "other"))
    os.utime(file.with_name("other.jsonl"), (1, 1))
    assert ask("watch", "--once") == ""


def test_hooks_and_watch_record_once(log: Path, play: Play, ask: Ask, folder: Path) -> None:
    """A session whose hooks run while it is watched is recorded once."""
    lines = (FIXTURES / "hooks" / "claude-2.1.330.jsonl").read_bytes().splitlines()
    play("claude-2.1.330-transcript", last=10)
    ask("watch", "--once")
    for line in lines:
        subprocess.run(
            [*SPRINTLOG, "hook", "claude"], cwd=folder, input=line, capture_output=True
        )
    play("claude-2.1.330-transcript", first=10)
    ask("watch", "--once")
    assert len(types(log, "prompt-given")) == len(types(log, "turn-ended")) == 2
    assert len(types(log, "session-started")) == 1
    calls = [
        json.loads(x.payload or b"") for x in events_of(log) if x.type == "tool-called"
    ]
    assert len(calls) == len({call["call"] for call in calls}) == 7
    assert len(types(log, "iteration-started")) == 1


def test_hooks_report_the_ends_of_their_turns(
    log: Path, play: Play, ask: Ask, folder: Path
) -> None:
    """The end of a turn in a session with hooks is left to the hook, which can answer."""
    first, *_ = (FIXTURES / "hooks" / "claude-2.1.330.jsonl").read_bytes().splitlines()
    hook = [*SPRINTLOG, "hook", "claude"]
    subprocess.run(hook, cwd=folder, input=first, capture_output=True, check=True)
    play("claude-2.1.330-transcript")
    watch = [*SPRINTLOG, "watch", "--json"]
    with subprocess.Popen(watch, cwd=folder, stdout=subprocess.PIPE) as following:
        assert following.stdout is not None
        assert json.loads(following.stdout.readline())["recorded"] > 2
        following.terminate()
    # The first turn is over, because the next prompt was given.
    assert len(types(log, "turn-ended")) == 1
    ask("watch", "--once")
    assert len(types(log, "turn-ended")) == 2


def test_a_session_within_wrap_is_not_an_iteration(
    log: Path, play: Play, ask: Ask, folder: Path, home: Path
) -> None:
    """A session that a wrapped command started belongs to the wrap's iteration."""
    file = play("droid-session")
    copy = later(file, folder)
    file.unlink()
    subprocess.run(
        [*SPRINTLOG, "wrap", "--", "sh", "-c", f"cp {copy} {file}; sleep 2"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    ask("watch", "--once")
    assert len(types(log, "tool-called")) == 2
    assert len(types(log, "iteration-started")) == 1


def later(file: Path, folder: Path) -> Path:
    """Copy a transcript, with times a second from now."""
    copy, moment = folder / "copy.jsonl", datetime.fromtimestamp(time.time() + 1, UTC)
    at = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    said = [{**x, "timestamp": at} if "timestamp" in x else x for x in lines]
    copy.write_text("".join(json.dumps(x) + "\n" for x in said))
    return copy


def test_a_rewritten_transcript_adds_nothing(
    log: Path, play: Play, ask: Ask, home: Path
) -> None:
    """A transcript that is truncated, replaced or moved is not recorded again."""
    file = play("codex-rollout")
    ask("watch", "--once")
    before, lines = len(events_of(log)), file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:5]))
    assert ask("watch", "--once") == ""
    file.unlink()
    file.with_name("rollout-2.jsonl").write_text("".join(lines))
    assert ask("watch", "--once") == ""
    assert len(events_of(log)) == before


def test_a_growing_transcript_is_followed(
    log: Path, play: Play, folder: Path, home: Path
) -> None:
    """Lines are recorded while they are written, until SIGTERM or SIGINT."""
    for kind, status in ((signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 130)):
        watch = subprocess.Popen(
            [*SPRINTLOG, "watch", "--json"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            assert watch.stdout is not None
            if kind == signal.SIGTERM:
                (home / ".claude" / "projects" / "-w").mkdir(parents=True)
                play("claude-2.1.330-transcript", last=3)
                assert json.loads(watch.stdout.readline())["recorded"] == 2
                assert types(log, "iteration-ended") == []
                play("claude-2.1.330-transcript", first=3)
            else:
                play("codex-rollout")
            assert json.loads(watch.stdout.readline())["recorded"] > 2
        finally:
            watch.send_signal(kind)
            output, errors = watch.communicate(timeout=20)
        assert (watch.returncode, errors.strip()) == (status, ""), output
    assert len(types(log, "iteration-ended")) == 2


SECRETS = {
    "github": "ghp_" + "a1" * 18,
    "web": "eyJ" + "a" * 12 + "." + "b" * 12 + "." + "c" * 12,
    "address": "http://bo:pass9word@host",
    "key": "-----BEGIN PRIVATE KEY-----\n" + "Ab3+" * 16,
    "DB_PASSWORD": "correct-horse-battery",
}


def kept(log: Path) -> dict[str, str]:
    """Return the copies of transcripts, by name."""
    return {x.name: x.read_text() for x in (log / "transcripts").glob("*")}


def trust_copies(folder: Path, ask: Ask, most: int = 1) -> None:
    """Choose copies of transcripts in a trusted settings file."""
    (folder / "sprintlog.toml").write_text(f"[hooks]\ncopy-transcripts = {most}\n")
    ask("config", "--trust")


def test_copies_are_masked(
    log: Path, play: Play, ask: Ask, folder: Path, home: Path
) -> None:
    """A copy contains the transcript without secrets, for the user alone, and is erased."""
    file = play("droid-session")
    with file.open("a") as held:
        held.write(json.dumps({"type": "todo_state", **SECRETS}) + "\n")
        held.write(json.dumps({"type": "x", "text": json.dumps(SECRETS)}) + "\n")
        held.write(f"not JSON {SECRETS['github']}\n")
    (folder / "sprintlog.toml").write_text("[hooks]\ncopy-transcripts = 1\n")
    ask("watch", "--once")
    assert kept(log) == {}
    trust_copies(folder, ask)
    ask("watch", "--once")
    ((name, text),) = kept(log).items()
    assert name == "droid-0198c0de-0000-7000-8000-000000000003.jsonl"
    assert "All done. RALPH_COMPLETE" in text
    assert [one for one in ("a1a1", "bbbb", "9word", "Ab3", "horse") if one in text] == []
    assert len(text.splitlines()) == len(file.read_text().splitlines())
    assert (log / "transcripts" / name).stat().st_mode & 0o777 == 0o600
    with Workspace.open(folder) as workspace:
        needle = Needle("I look.")
        (place,) = (x for x in KEPT_TEXT if x.name == "copies of transcripts")
        assert place.scan(workspace, needle) == [f"transcripts/{name}"]
        assert place.erase(workspace, needle).gone == (f"transcripts/{name}",)
    assert kept(log) == {}


def test_the_oldest_copies_are_deleted(
    log: Path, play: Play, ask: Ask, folder: Path, home: Path
) -> None:
    """The copies never exceed the limit, and a longer transcript is not copied."""
    trust_copies(folder, ask)
    file = play("droid-session")
    text = file.read_text()
    file.unlink()
    filler = json.dumps({"type": "todo_state", "text": "word " * 80_000}) + "\n"
    for number in (3, 4, 5):
        file = home / PLACES["droid-session"].replace("1.jsonl", f"{number}.jsonl")
        id_ = f"0198c0de-0000-7000-8000-00000000000{number}"
        said = text.replace("0198c0de-0000-7000-8000-000000000003", id_)
        file.write_text(said + filler * (9 if number == 4 else 1))
        os.utime(file, (time.time() + number, time.time() + number))
        ask("watch", "--once")
        names = [name[-7:] for name in sorted(kept(log))]
        assert names == {3: ["3.jsonl"], 4: ["3.jsonl"], 5: ["3.jsonl", "5.jsonl"]}[number]
    os.utime(file, (time.time() + 9, time.time() + 9))
    file = home / PLACES["droid-session"].replace("1.jsonl", "6.jsonl")
    file.write_text(said.replace("00005", "00006") + filler)
    os.utime(file, (time.time() + 20, time.time() + 20))
    ask("watch", "--once")
    assert [name[-7:] for name in sorted(kept(log))] == ["5.jsonl", "6.jsonl"]


def test_nothing_is_recorded_while_recording_is_off(
    log: Path, play: Play, folder: Path
) -> None:
    """With SPRINTLOG_OFF, the command records nothing and exits with 0."""
    play("droid-session")
    off = {**os.environ, "SPRINTLOG_OFF": "1"}
    watch = [*SPRINTLOG, "watch"]
    subprocess.run(watch, cwd=folder, env=off, check=True, timeout=20)
    assert events_of(log) == []


def test_only_transcripts_of_this_tree_are_copied(
    log: Path, play: Play, ask: Ask, folder: Path, tmp_path: Path
) -> None:
    """A hook that names the transcript of another folder's session causes no copy."""
    trust_copies(folder, ask)
    for root, copies in ((tmp_path, 0), (folder, 1)):
        file = play("claude-2.1.330-transcript", root=str(root))
        given = {"session_id": SESSION, "transcript_path": str(file), "cwd": str(folder)}
        for name in ("SessionStart", "UserPromptSubmit", "Stop"):
            said = json.dumps({**given, "hook_event_name": name, "prompt": str(root)})
            hook = [*SPRINTLOG, "hook", "claude"]
            subprocess.run(hook, cwd=folder, input=said.encode(), capture_output=True)
        until = time.monotonic() + (5 if copies else 1)
        while len(kept(log)) != copies or (not copies and time.monotonic() < until):
            assert time.monotonic() < until + 5
            time.sleep(0.05)
        file.unlink()
