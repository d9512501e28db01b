"""A hook's command: its input, its stored output, and the end of its processes."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters.processes import programs
from sprintlog.engine.adapters.processes.programs import run_hook_command


def run(folder: Path, command: str, **more: Any) -> str | None:
    """Run a command as a hook in a folder."""
    given: dict[str, Any] = {
        "prompt": "",
        "folder": folder,
        "environment": dict(os.environ),
        "timeout_seconds": 20,
        "transcript": folder / "t" / "x.jsonl",
        **more,
    }
    return run_hook_command(command, **given)


def test_keeps_both_outputs(tmp_path: Path) -> None:
    """The transcript contains both outputs, and only its owner can read it."""
    assert run(tmp_path, "cat; echo to err >&2", prompt="Do: 'it'\n") is None
    kept = tmp_path / "t" / "x.jsonl"
    assert kept.read_text() == "Do: 'it'\nto err\n"
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("command", "seconds", "error"),
    [
        ("exit 3", 20, "exit code 3"),
        ("kill -9 $$", 20, "ended by signal 9"),
        ("sleep 30", 0.2, "ended at its time limit of 0.2 s"),
        ("no-such-command", 20, "exit code 127"),
    ],
)
def test_tells_how_it_failed(
    tmp_path: Path, command: str, seconds: float, error: str
) -> None:
    """An exit code, a signal and the time limit are distinguished."""
    assert run(tmp_path, command, timeout_seconds=seconds) == error


def test_a_transcript_is_optional(tmp_path: Path) -> None:
    """Without a transcript path, the output is read but not stored."""
    assert run(tmp_path, "echo x", transcript=None) is None
    assert list(tmp_path.iterdir()) == []


def test_a_transcript_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output beyond the limit is omitted, and this is reported."""
    monkeypatch.setattr(programs, "TRANSCRIPT_BYTES_MAX", 10)
    assert (
        run(tmp_path, "printf 0123456789; sleep 0.1; printf more; sleep 0.1; echo x")
        is None
    )
    kept = (tmp_path / "t" / "x.jsonl").read_text()
    assert kept == "0123456789\n[sprintlog: the rest is left out]\n"


def test_is_ended_from_outside(tmp_path: Path) -> None:
    """The end of `stop` ends it with all it started; until then its process is known."""
    pids: list[int] = []
    reading, writing = os.pipe()
    began = threading.Event()

    def started(pid: int) -> None:
        pids.append(pid)
        began.set()

    found: list[str | None] = []
    more = {"stop": reading, "started": started}
    work = threading.Thread(
        target=lambda: found.append(run(tmp_path, "sleep 60 & sleep 60", **more))
    )
    work.start()
    assert began.wait(20)
    os.kill(pids[0], 0)
    os.close(writing)
    work.join(20)
    os.close(reading)
    assert found == ["it was ended before its time"]
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.parametrize("place", [".git/hooks/x", "link/x", ".sprintlog/x"])
def test_no_transcript_goes_elsewhere(tmp_path: Path, place: str) -> None:
    """Links, git folders and log folders are refused as targets; nothing is run."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert run(tmp_path, "touch ran", transcript=tmp_path / place) is not None
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["link", "real"]
    assert list((tmp_path / "real").iterdir()) == []
