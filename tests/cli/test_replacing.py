"""Swapping state files: whole, and never over something unseen."""

from pathlib import Path
from typing import Any

import pytest

from sprintlog.projections import replacing
from sprintlog.projections.replacing import left_behind, swap_file


def test_returns_what_stood_there(tmp_path: Path) -> None:
    """A swap gives back the very bytes that it displaced."""
    target = tmp_path / "file"
    assert swap_file(target, b"one", mode=0o644) is None
    assert swap_file(target, b"two", mode=0o644) == b"one"
    assert target.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [target]


def test_works_where_files_cannot_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system without the exchange a file is still replaced whole."""
    monkeypatch.setattr(replacing, "_renameat2", lambda: None)
    target = tmp_path / "file"
    target.write_bytes(b"one")
    swap_file(target, b"two", mode=0o600)
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [target]


def test_knows_what_a_killed_swap_left(tmp_path: Path) -> None:
    """What was set aside when a swap was killed is found; a half-written draft is not."""
    target = tmp_path / "file"
    (tmp_path / ".file.sprintlog-new").write_bytes(b"ha")
    assert left_behind(target) is None
    (tmp_path / ".file.sprintlog-old").write_bytes(b"theirs")
    assert left_behind(target) == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == [".file.sprintlog-old"]


def test_keeps_an_edit_made_at_the_last_moment(
    sprint: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit that lands between the look and the write comes back and is kept."""
    file = sprint / "PROGRESS.yaml"
    write = replacing._write_beside

    def edit_meanwhile(target: Path, content: bytes, *, mode: int) -> Path:
        if target.name == file.name:
            file.write_text("edited: just now\n")
        return write(target, content, mode=mode)

    monkeypatch.setattr(replacing, "_write_beside", edit_meanwhile)
    assert "edited by somebody else" in done("phase", "start").err
    monkeypatch.undo()
    monkeypatch.chdir(sprint)
    (kept,) = (sprint / ".sprintlog" / "edits").iterdir()
    assert kept.read_text() == "edited: just now\n"
    assert "in-progress" in file.read_text()


def test_keeps_an_edit_that_a_kill_had_displaced(sprint: Path, done: Any) -> None:
    """Killed between exchange and record, the next command keeps the displaced edit."""
    (sprint / ".PROGRESS.yaml.sprintlog-old").write_text("edited: before the kill\n")
    done("sprint", "heartbeat")
    (kept,) = (sprint / ".sprintlog" / "edits").iterdir()
    assert kept.read_text() == "edited: before the kill\n"
    assert len(done("log", "--type", "edit-observed", "--json").lines) == 1
    assert not (sprint / ".PROGRESS.yaml.sprintlog-old").exists()
    done("sprint", "heartbeat")
    assert len(done("log", "--type", "edit-observed", "--json").lines) == 1
