"""The contents of a snapshot, and its list of omitted paths."""

import mmap
import os
import shutil
import socket
from pathlib import Path

import pytest

from sprintlog.engine.adapters.git.command import GitError
from sprintlog.engine.adapters.snapshots import file_stats
from sprintlog.engine.adapters.snapshots.capture import Limits
from sprintlog.engine.adapters.snapshots.listing import SPECIAL
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.stores.descriptors import sync

from .trees import environment, extracted, fill, git, picture, put, reasons, store_in, taken


def test_everything_comes_back_exactly(root: Path, store: Store, tmp_path: Path) -> None:
    """Bytes, modes, links, empty folders and all names are restored exactly."""
    fill(root)
    made = taken(store, root)
    assert made.left_out == []
    assert extracted(store, made.commit, tmp_path / "new") == picture(root)


def test_repository_is_not_needed(root: Path, store: Store) -> None:
    """Trees without git, and trees inside a repository, can be saved."""
    put(root / "a", b"a")
    assert taken(store, root).files == 1
    git(root.parent, "init", "-q")
    assert taken(store, root).files == 1


def test_only_what_changed_is_read(root: Path, store: Store) -> None:
    """A second snapshot reads only the files that have changed since the first."""
    for number in range(20):
        put(root / f"folder/{number}", b"x")
        os.utime(root / f"folder/{number}", ns=(0, 0))
    assert taken(store, root).read == 20
    _settle(store, root)
    (root / "folder/3").write_bytes(b"y")
    (root / "folder/4").unlink()
    made = taken(store, root)
    assert (made.read, made.files) == (1, 19)


def _settle(store: Store, root: Path) -> None:
    """Make the store treat its last snapshot as old."""
    (cache,) = store.folder.glob("known-*")
    known = file_stats.load(cache)
    files = {
        name: (s.st_mode, s.st_size, s.st_ctime_ns, s.st_ino)
        for name in known.files
        if (s := (root / name).lstat())
    }
    file_stats.save(cache, known.tree, files)


def test_change_within_the_same_moment_is_seen(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """A file that changes right after its snapshot, with the same status, is read again."""
    put(root / "a", b"one")
    at = (root / "a").stat()
    taken(store, root)
    (root / "a").write_bytes(b"two")
    os.utime(root / "a", ns=(at.st_atime_ns, at.st_mtime_ns))
    made = taken(store, root)
    assert extracted(store, made.commit, tmp_path / "new")["a"][2] == b"two"


@pytest.mark.parametrize("kind", ["as it is", "unknown"])
def test_writes_through_a_map_are_seen(
    on_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A file written through a memory map between two snapshots is read by the second."""
    monkeypatch.setattr(file_stats, "SETTLED_NS", -(10**10))
    monkeypatch.setattr(file_stats, "TICK_NS", -(10**10))
    if kind == "unknown":
        monkeypatch.setattr(file_stats, "kind_of", lambda root: None)
        monkeypatch.setattr(file_stats, "is_being_written", lambda descriptor: False)
    root, store = on_disk, store_in(tmp_path)
    put(root / "mapped", b"-" * 8192)
    with open(root / "mapped", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    mapped[0:3] = b"one"
    taken(store, root)
    mapped[0:3] = b"two"
    made = taken(store, root)
    assert extracted(store, made.commit, tmp_path / "out")["mapped"][2][:3] == b"two"
    mapped.close()


def test_memory_is_read_whole(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If memory maps do not update a file's time, each snapshot reads every file."""
    put(root / "one", b"x")
    (root / "link").symlink_to("one")
    monkeypatch.setattr(file_stats, "SETTLED_NS", -(10**10))
    monkeypatch.setattr(file_stats, "TICK_NS", -(10**10))
    monkeypatch.setattr(file_stats, "kind_of", lambda root: "tmpfs")
    taken(store, root)
    assert taken(store, root).read == 1


def test_files_and_folders_change_places(root: Path, store: Store, tmp_path: Path) -> None:
    """A file that became a folder or a link is restored as such."""
    put(root / "a", b"file")
    put(root / "b/c/d", b"below")
    (root / "l").symlink_to("a")
    taken(store, root)
    (root / "a").unlink()
    put(root / "a/x/y", b"now below")
    (root / "b/c/d").unlink()
    (root / "b/c").rmdir()
    put(root / "b/c", b"now a file", 0o755)
    (root / "l").unlink()
    put(root / "l", b"no link")
    made = taken(store, root)
    assert extracted(store, made.commit, tmp_path / "new") == picture(root)


def test_special_files_are_named(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pipes, sockets and devices are named, and not waited for."""
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(root)
        listening.bind("socket")
    expected = {"pipe": SPECIAL, "socket": SPECIAL}
    try:
        os.mknod(root / "device", 0o600 | 0o020000, os.makedev(1, 3))
        expected["device"] = SPECIAL
    except PermissionError:
        pass  # Only root can create devices.
    assert reasons(taken(store, root)) == expected


def test_limits_say_what_was_left_out(root: Path, store: Store) -> None:
    """Files above the limits are named, and saved on request."""
    put(root / "large", b"x" * 2000)
    for number in range(3):
        put(root / f"small-{number}", b"x" * 400)
    limits = Limits(file_bytes_max=1000, read_bytes_max=900)
    made = taken(store, root, limits=limits)
    assert [*reasons(made)] == ["large", "small-2"]
    assert "larger than 1000 bytes" in reasons(made)["large"]
    again = taken(store, root, limits=limits, also=("large",))
    assert "large" in store.read(again.commit).files


def test_what_was_left_out_once_is_taken_later(root: Path, store: Store) -> None:
    """Reading continues where the last snapshot had to stop."""
    for number in range(4):
        put(root / f"file-{number}", b"x" * 400)
        os.utime(root / f"file-{number}", ns=(0, 0))
    limits = Limits(read_bytes_max=900)
    assert taken(store, root, limits=limits).files == 2
    _settle(store, root)
    made = taken(store, root, limits=limits)
    assert (made.files, made.left_out) == (4, [])


def test_names_alike_but_for_case_are_reported(root: Path, store: Store) -> None:
    """Names that differ only by case are saved and reported."""
    for name in ("Readme", "README", "sub/A/x", "sub/a/y", "other"):
        put(root / name, b"x")
    made = taken(store, root)
    assert sorted(made.collisions) == [["README", "Readme"], ["sub/A", "sub/a"]]
    assert made.files == 5


def test_store_in_the_tree_is_not_in_the_snapshot(root: Path) -> None:
    """A snapshot never contains the store that it is in."""
    store = store_in(root)
    put(root / "a", b"a")
    taken(store, root)
    assert [*store.read(taken(store, root).commit).files] == ["a"]


def test_lost_and_damaged_memory_costs_only_time(root: Path, store: Store) -> None:
    """If the cache is missing or damaged, every file is read again."""
    for number in range(3):
        put(root / str(number), b"x")
    first = taken(store, root)
    (cache,) = store.folder.glob("known-*")
    for damage in (b"", b"rubbish\n", cache.read_bytes()[:-3] + b"\xff\xff\xff"):
        cache.write_bytes(damage)
        made = taken(store, root)
        assert (made.read, made.tree) == (3, first.tree)


def test_dropped_snapshots_are_gone_and_others_stay(root: Path, store: Store) -> None:
    """A removed snapshot frees its space; snapshots that share its files are complete."""
    put(root / "shared", b"x" * 5000)
    put(root / "one", os.urandom(200_000))
    first = taken(store, root)
    (root / "one").unlink()
    second = taken(store, root)
    before = store.bytes_used()
    with store.lock():
        store.drop([first.commit])
        store.tidy()
    assert [*store.snapshots()] == [second.commit]
    assert store.bytes_used() < before - 150_000
    assert [*store.read(second.commit).files] == ["shared"]
    put(root / "one", b"again")
    assert taken(store, root).files == 2


def test_missing_git_is_said(root: Path, tmp_path: Path) -> None:
    """Without git, the error states that snapshots require it."""
    store = Store(tmp_path / "snapshots", {"PATH": str(tmp_path)})
    with pytest.raises(RefusedError, match="snapshots need git"):
        taken(store, root)


def test_store_is_its_owners_alone(root: Path, store: Store) -> None:
    """Only the owner can read the store, regardless of the umask."""
    put(root / "a", b"a")
    before = os.umask(0o000)
    try:
        taken(store, root)
    finally:
        os.umask(before)
    open_to_others = [p for p in store.folder.rglob("*") if p.lstat().st_mode & 0o077]
    assert open_to_others == []


def test_killed_git_is_no_obstacle(root: Path, tmp_path: Path) -> None:
    """If git dies during a snapshot, one error is raised; the next snapshot is complete."""
    put(root / "a", os.urandom(100_000))
    script = '#!/bin/sh\ncase "$*" in *fast-import*) head -c 2000 >&-; kill -9 $$;; esac\n'
    real = shutil.which("git")
    put(tmp_path / "bin/git", f'{script}exec {real} "$@"\n'.encode(), 0o755)
    path = f"{tmp_path / 'bin'}:{environment()['PATH']}"
    dying = Store(tmp_path / "snapshots", {**environment(), "PATH": path})
    with pytest.raises(GitError, match="git failed in the store of snapshots"):
        taken(dying, root)
    assert dying.snapshots() == {}
    store = store_in(tmp_path)
    made = taken(store, root)
    for left in ("packed-refs.lock", "HEAD.lock", "refs/snapshots/x.lock"):
        put(store.git.folder / left, b"")
    put(store.git.folder / "objects/pack/tmp_pack_x", b"half")
    with store.lock():
        store.drop([made.commit])
        store.tidy()
    assert store.snapshots() == {}
    assert taken(store, root).files == 1


def test_folder_that_cannot_be_synced_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed sync returns only a number, so the error adds the folder."""

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        sync(tmp_path)
    assert caught.value.filename == str(tmp_path)
