"""In-place restores that are killed at any system call."""

import os
import shutil
import signal
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.adapters.replace import system_call
from sprintlog.engine.adapters.snapshots import halves, one_file, placement
from sprintlog.engine.adapters.snapshots.objects import object_id
from sprintlog.engine.adapters.snapshots.plan import PlacementPlan, plan
from sprintlog.engine.adapters.snapshots.store import Store

from .trees import picture, put, taken

CALLS = ("open", "rename", "link", "unlink", "mkdir", "rmdir", "fchmod", "symlink", "write")


class Killed(BaseException):
    """The process ends here."""


def _kill_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Make the system call with this number end the process."""
    called: list[str] = []

    def killing(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            called.append(name)
            if len(called) == number:
                raise Killed
            return real(*given, **named)

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, killing(name, getattr(os, name)))
    for module, name in ((placement, "exchange"), (one_file, "put")):
        monkeypatch.setattr(module, name, killing(name, getattr(module, name)))


@pytest.mark.parametrize("edited", [None, b"an edit", b"first ch"])
@pytest.mark.parametrize("syncs", ["in one pass", "one by one"])
def test_a_restore_that_is_killed_at_any_call_loses_nothing(
    root: Path,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    syncs: str,
    edited: bytes | None,
) -> None:
    """After the kill, a repeated restore completes; an edit that no snapshot has is saved.

    An edit that equals the first bytes of the wanted file may be mistaken for a draft.
    """
    monkeypatch.setattr(placement, "BATCH_FILES", 2)
    if syncs == "one by one":
        monkeypatch.setattr(
            one_file,
            "system_call",
            lambda name: None if name == "syncfs" else system_call(name),
        )
    for name in ("changed", "sub/a", "sub/deep/b", "gone"):
        put(root / name, b"first " + name.encode())
    (root / "link").symlink_to("changed")
    wanted, then = store.read(taken(store, root).commit), picture(root)
    shutil.rmtree(root / "sub/deep")
    for name in ("changed", "gone", "link"):
        (root / name).unlink()
    for name in ("changed", "sub/a", "new/c"):
        put(root / name, b"second " + name.encode())
    (root / "link").symlink_to("new")
    made = plan(wanted, store.read(taken(store, root).commit))
    if edited is not None:
        put(root / "changed", edited)
    shutil.copytree(root, tmp_path / "before", symlinks=True)
    number, is_killed = 0, True
    while is_killed:
        number += 1
        shutil.rmtree(root)
        shutil.copytree(tmp_path / "before", root, symlinks=True)
        with store.blobs() as blob, monkeypatch.context() as patched:
            # Start git before the interrupt: before 3.11.4, interrupted Python leaves pipes
            # open.
            blob(object_id("blob", b"first changed"))
            _kill_at(patched, number)
            try:
                kept = store.folder / "kept"
                placement.place(root, made, blob, keep_in=kept, is_new=True)
                is_killed = False
            except Killed:
                patched.undo()
                placement.place(root, made, blob, keep_in=store.folder / "kept")
        assert picture(root) == then, number
        copies = [copy.read_bytes() for copy in (store.folder / "kept").glob("[!.]*")]
        assert copies == [edited] * len(copies)
        assert copies or edited in (None, b"first ch"), number
        shutil.rmtree(store.folder / "kept", ignore_errors=True)
    assert number > 30


@pytest.mark.parametrize("end", ["ended", "killed", "not started", "not awaited"])
def test_two_processes_place_the_files_of_a_plan(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """If the second process fails, the first one also places its half.

    A folder that becomes read-only stays writable until both halves are placed.
    """
    monkeypatch.setattr(halves, "FILES_MIN", 1)
    monkeypatch.setattr(halves, "may_fork", lambda: True)
    names = ["one/a", "one/b", "two/a", "two/b\udcff"]
    for name in names:
        put(root / name, b"first")
    (root / "one").chmod(0o500)
    wanted, then = store.read(taken(store, root).commit), picture(root)
    for name in (*names, "new/a"):
        put(root / name, b"second")
    made = plan(wanted, store.read(taken(store, root).commit))
    put(root / names[-1], b"an edit")
    own, placing = os.getpid(), list[int]()

    def place(part: PlacementPlan, is_new: bool) -> placement.PlacedFiles:
        with store.blobs() as blob:
            keep_in = store.folder / "kept"
            done = placement.place(root, part, blob, keep_in=keep_in, is_new=is_new)
        placing.append(len(part.writes))
        assert not part.writes or (root / "one").stat().st_mode & stat.S_IWUSR
        if end == "killed" and os.getpid() != own:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def fork() -> int:
        raise BlockingIOError

    if end == "not started":
        monkeypatch.setattr(os, "fork", fork)
    ignored = signal.SIG_IGN if end == "not awaited" else signal.SIG_DFL
    before = signal.signal(signal.SIGCHLD, ignored)
    try:
        done = halves.place_halves(made, place, is_new=True)
    finally:
        signal.signal(signal.SIGCHLD, before)
    is_repeated = end in ("killed", "not started")
    assert placing == ([0, 2, 2, 0] if is_repeated else [0, 2, 0])
    assert picture(root) == then
    assert (done.written, done.removed, done.skipped) == (4, 1, [])
    assert end == "killed" or [kept.path for kept in done.kept] == names[-1:]
    assert [copy.read_bytes() for copy in (store.folder / "kept").iterdir()] == [b"an edit"]
