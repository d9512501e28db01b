"""Replacing state files: completely, and never over unread content."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.adapters import replace
from sprintlog.engine.adapters.folders import opened
from sprintlog.engine.adapters.replace import (
    FilePlace,
    NotPlainError,
    forget_left_behind,
    left_behind,
    read_file,
    replace_in,
    swap_file,
)
from tests import needs


@pytest.fixture
def spot(tmp_path: Path) -> Iterator[FilePlace]:
    """Provide a file's location in an open folder."""
    with opened(tmp_path) as folder:
        yield FilePlace(folder, "file")


def test_returns_what_stood_there(spot: FilePlace, tmp_path: Path) -> None:
    """A swap returns the displaced bytes, and stores them until they are released."""
    assert swap_file(spot, b"one") is None
    assert swap_file(spot, b"two") == b"one"
    assert left_behind(spot) == b"one"
    forget_left_behind(spot)
    assert (tmp_path / "file").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("edit", [None, b"an edit"])
def test_an_edit_in_the_middle_of_a_swap_is_returned(
    spot: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: bytes | None
) -> None:
    """A file that is removed, and perhaps recreated, between two steps is not lost."""
    (tmp_path / "file").write_bytes(b"one")
    exchange = replace.exchange

    def exchange_late(folder: int, one: str, other: str) -> bool | None:
        monkeypatch.setattr(replace, "exchange", exchange)
        (tmp_path / "file").unlink()
        is_exchanged = exchange(folder, one, other)
        if edit is not None:
            (tmp_path / "file").write_bytes(edit)
        return is_exchanged

    monkeypatch.setattr(replace, "exchange", exchange_late)
    assert swap_file(spot, b"two") == edit
    assert (tmp_path / "file").read_bytes() == b"two"


@pytest.mark.parametrize("size", [0, 1, replace.PIECE, 3 * replace.PIECE + 7])
def test_file_that_is_known_is_read_in_pieces(
    spot: FilePlace, tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The complete file is compared, without being in memory twice."""
    known = os.urandom(size)
    (tmp_path / "file").write_bytes(known)
    pieces: list[int] = []

    def reading(descriptor: int, at_most: int) -> bytes:
        pieces.append(len(piece := read(descriptor, at_most)))
        return piece

    read = os.read
    monkeypatch.setattr(os, "read", reading)
    assert read_file(spot, like=known) is known
    assert (sum(pieces), max(pieces) <= replace.PIECE) == (size, True)


@pytest.mark.parametrize("place", [0, replace.PIECE - 1, replace.PIECE, -1])
def test_no_byte_of_a_file_is_believed(spot: FilePlace, tmp_path: Path, place: int) -> None:
    """A file that differs anywhere, or in its length, is returned unchanged."""
    known = os.urandom(2 * replace.PIECE)
    edited = bytearray(known)
    edited[place] ^= 1
    for content in (bytes(edited), known[:-1], known + b"x", b""):
        (tmp_path / "file").write_bytes(content)
        assert read_file(spot, like=known) == content
        assert swap_file(spot, b"ours", like=known) == content
        forget_left_behind(spot)


def test_works_where_files_cannot_be_exchanged(
    spot: FilePlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a system without the exchange a file is still replaced whole."""
    monkeypatch.setattr(replace, "system_call", lambda name: None)
    (tmp_path / "file").write_bytes(b"one")
    swap_file(spot, b"two")
    assert (tmp_path / "file").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "found", [replace._called_directly, replace._called_by_ctypes], ids=["inner", "ctypes"]
)
def test_the_exchange_is_the_same_with_and_without_ctypes(
    tmp_path: Path, found: Any
) -> None:
    """Both implementations exchange two files, and report errors."""
    exchange = found("renameat2")
    if exchange is None:
        needs.skip("renameat2", "run the tests on Linux")
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    with opened(tmp_path) as folder:
        assert exchange(folder, b"a", folder, b"b", 2) == 0
        assert exchange(folder, b"a", folder, b"none", 2) == errno.ENOENT
    assert (tmp_path / "a").read_bytes() == b"two"
    assert found("no_such_call") is None


def test_knows_what_a_killed_swap_left(spot: FilePlace, tmp_path: Path) -> None:
    """A file set aside by a killed swap is found; a half-written draft is not."""
    (tmp_path / ".file.sprintlog-new").write_bytes(b"ha")
    assert left_behind(spot) is None
    (tmp_path / ".file.sprintlog-old").write_bytes(b"theirs")
    assert left_behind(spot) == b"theirs"
    assert os.listdir(tmp_path) == [".file.sprintlog-old"]


@pytest.mark.parametrize("write", [swap_file, replace_in])
def test_mode_of_a_file_is_kept(spot: FilePlace, tmp_path: Path, write: Any) -> None:
    """A file keeps its mode; a new one follows the umask."""
    before = os.umask(0o027)
    try:
        write(spot, b"one")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    (tmp_path / "file").chmod(0o604)
    write(spot, b"two")
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o604


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("x", path)])
def test_only_plain_files_are_read(spot: FilePlace, tmp_path: Path, make: Any) -> None:
    """A pipe does not block, and links are not followed, even for displaced files."""
    (tmp_path / "x").write_text("elsewhere")
    for name in ("file", ".file.sprintlog-old"):
        make(tmp_path / name)
    with pytest.raises(NotPlainError):
        read_file(spot)
    assert left_behind(spot) is None


def test_link_in_the_place_of_a_file_is_replaced(spot: FilePlace, tmp_path: Path) -> None:
    """Nothing is written to a link's target."""
    (tmp_path / "x").write_text("elsewhere")
    for name in ("file", ".file.sprintlog-new", ".file.sprintlog-old"):
        (tmp_path / name).symlink_to("x")
    assert swap_file(spot, b"ours") is None
    forget_left_behind(spot)
    assert (tmp_path / "x").read_text() == "elsewhere"
    assert not (tmp_path / "file").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["file", "x"]


def test_keeps_an_edit_made_at_the_last_moment(
    sprint: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An edit between the read and the write is returned and stored."""
    file = sprint / "PROGRESS.yaml"
    fill = replace._fill

    def edit_meanwhile(number: int, draft: FilePlace, content: bytes, **mode: Any) -> None:
        if file.name in draft.name:
            file.write_text("edited: just now\n")
        fill(number, draft, content, **mode)

    monkeypatch.setattr(replace, "_fill", edit_meanwhile)
    assert "edited by others" in done("phase", "start").err
    monkeypatch.undo()
    monkeypatch.chdir(sprint)
    (kept,) = (sprint / ".sprintlog" / "edits").iterdir()
    assert kept.read_text() == "edited: just now\n"
    assert "in-progress" in file.read_text()
    assert not (sprint / ".PROGRESS.yaml.sprintlog-old").exists()
    # The edit is based on the earlier file, not on the one that displaced it.
    event = done("log", "--type", "edit-observed", "--json").json["data"]
    assert event["since"] == 2


def test_keeps_an_edit_that_a_kill_had_displaced(sprint: Path, done: Any) -> None:
    """After a kill between exchange and record, the next command stores the edit."""
    (sprint / ".PROGRESS.yaml.sprintlog-old").write_text("edited: before the kill\n")
    done("sprint", "heartbeat")
    (kept,) = (sprint / ".sprintlog" / "edits").iterdir()
    assert kept.read_text() == "edited: before the kill\n"
    assert len(done("log", "--type", "edit-observed", "--json").lines) == 1
    assert not (sprint / ".PROGRESS.yaml.sprintlog-old").exists()
    done("sprint", "heartbeat")
    assert len(done("log", "--type", "edit-observed", "--json").lines) == 1
