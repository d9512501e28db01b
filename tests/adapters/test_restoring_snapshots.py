"""Restores in place and into a new folder, without any loss."""

import random
from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots import one_file
from sprintlog.engine.adapters.snapshots.capture import Limits
from sprintlog.engine.adapters.snapshots.placement import place
from sprintlog.engine.adapters.snapshots.plan import (
    IGNORED_THEN,
    IN_THE_WAY,
    NOT_KNOWN,
    below,
    plan,
)
from sprintlog.engine.adapters.snapshots.store import Store

from .trees import (
    NOTHING,
    Picture,
    change,
    extracted,
    fill,
    git,
    picture,
    put,
    put_back,
    taken,
)


@pytest.mark.parametrize("lacks", ["nothing", "renameat2"])
def test_odd_tree_comes_back_in_place(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    """Whatever changed in a tree, a restore makes it identical again on any system."""
    if lacks == "renameat2":
        monkeypatch.setattr(one_file, "system_call", lambda name: None)
    fill(root)
    before = picture(root)
    first = taken(store, root)
    for path in sorted(root.iterdir()):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o640)
    (root / "plain.txt").unlink()
    put(root / "plain.txt/now/a/folder", b"x")
    (root / "links/to-file").unlink()
    put(root / "links/to-file", b"no link")
    (root / "bytes").write_bytes(b"other")
    put(root / "new/folder/file", b"new")
    (root / "a/b").chmod(0o755)
    (root / "empty/below/deep").rmdir()
    put_back(store, root, first.commit)
    assert picture(root) == before


def test_restore_can_itself_be_taken_back(root: Path, store: Store) -> None:
    """The files before a restore are in a snapshot, and can be restored from it."""
    fill(root)
    first = taken(store, root)
    put(root / "more", b"more")
    (root / "bytes").unlink()
    second = picture(root)
    before = taken(store, root)
    put_back(store, root, first.commit)
    put_back(store, root, before.commit)
    assert picture(root) == second


def test_any_of_many_iterations_comes_back(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """Each of several snapshots restores exactly its bytes, modes and links."""
    chance = random.Random(7)
    pictures: list[tuple[str, Picture]] = []
    for number in range(12):
        for _ in range(6):
            change(root, chance)
        pictures.append((taken(store, root).commit, picture(root)))
        if number == 6:
            with store.lock():
                store.tidy()
    for number, (commit, before) in enumerate(pictures):
        assert extracted(store, commit, tmp_path / f"new-{number}") == before
    chance.shuffle(pictures)
    for commit, before in pictures:
        put_back(store, root, commit)
        assert picture(root) == before


def test_chosen_paths_alone_come_back(root: Path, store: Store) -> None:
    """With paths, other files and folders remain unchanged."""
    for name in ("one/a", "one/b", "two/a", "three"):
        put(root / name, b"old")
    first = taken(store, root)
    for name in ("one/a", "one/b", "two/a", "three", "one/new", "two/new"):
        put(root / name, b"new")
    put_back(store, root, first.commit, "one", "three")
    found = {name: seen[2] for name, seen in picture(root).items() if seen[0] == "file"}
    old, new = ("one/a", "one/b", "three"), ("two/a", "two/new")
    assert found == {**dict.fromkeys(old, b"old"), **dict.fromkeys(new, b"new")}


def test_state_files_are_left_alone(root: Path, store: Store) -> None:
    """Paths of files that other code maintains are neither restored nor removed."""
    put(root / "PROGRESS.yaml", b"old")
    first = taken(store, root)
    put(root / "PROGRESS.yaml", b"new")
    put_back(store, root, first.commit, alone=("PROGRESS.yaml",))
    assert (root / "PROGRESS.yaml").read_bytes() == b"new"


def test_ignored_files_survive_a_restore(root: Path, store: Store) -> None:
    """Files ignored now, or when the snapshot was taken, are not removed."""
    git(root, "init", "-q")
    put(root / "seen", b"x")
    put(root / ".gitignore", b".env\nbuild/\n")
    put(root / ".env", b"secret")
    put(root / "build/out", b"out")
    ignoring = taken(store, root)
    (root / ".gitignore").unlink()
    put(root / "build/out", b"other")
    made, _ = put_back(store, root, ignoring.commit)
    assert made.skipped == [(".env", IGNORED_THEN), ("build/out", IGNORED_THEN)]
    assert (root / ".env").read_bytes() == b"secret"
    assert (root / "build/out").read_bytes() == b"other"
    assert (root / ".gitignore").exists()


def test_ignored_file_in_the_way_is_kept(root: Path, store: Store, tmp_path: Path) -> None:
    """An ignored file at a restored file's path is in the snapshot before the restore."""
    git(root, "init", "-q")
    put(root / "out", b"old")
    first = taken(store, root)
    put(root / ".gitignore", b"out\n")
    put(root / "out", b"new, and ignored")
    wanted = store.read(first.commit)
    before = taken(store, root, also=tuple(wanted.files))
    put_back(store, root, first.commit)
    assert (root / "out").read_bytes() == b"old"
    assert extracted(store, before.commit, tmp_path / "n")["out"][2] == b"new, and ignored"


def test_what_a_snapshot_left_out_is_not_removed(root: Path, store: Store) -> None:
    """A file that was too large for the snapshot remains when that snapshot is restored."""
    put(root / "large", b"x" * 2000)
    put(root / "a", b"a")
    first = taken(store, root, limits=Limits(file_bytes_max=1000))
    put(root / "a", b"b")
    made, placed = put_back(store, root, first.commit)
    assert made.skipped == [("large", f"{NOT_KNOWN}: larger than 1000 bytes")]
    assert (placed.written, placed.removed) == (1, 0)
    assert (root / "large").stat().st_size == 2000


def test_nested_repository_is_left_alone(root: Path, store: Store) -> None:
    """A nested repository is neither written to nor removed."""
    put(root / "inner/file", b"old")
    first = taken(store, root)
    git(root / "inner", "init", "-q")
    put(root / "inner/file", b"theirs")
    before = picture(root / "inner")
    made, _ = put_back(store, root, first.commit)
    assert made.skipped == [("inner/file", IN_THE_WAY)]
    assert picture(root / "inner") == before


def test_files_go_into_a_folder_of_the_tree(root: Path, store: Store) -> None:
    """Files can be restored below a folder, from which nothing is removed or lost."""
    put(root / "src/a", b"best", 0o755)
    first = taken(store, root)
    put(root / "src/a", b"worse")
    put(root / "out/src/a", b"earlier output")
    put(root / "out/other", b"other")
    wanted = store.read(first.commit)
    present = store.read(taken(store, root).commit)
    made = below(plan(wanted, NOTHING), "out", present)
    with store.blobs() as blob:
        place(root, made, blob, keep_in=store.folder / "kept")
    assert (root / "out/src/a").read_bytes() == b"best"
    assert (root / "out/src/a").stat().st_mode & 0o777 == 0o755
    assert (root / "src/a").read_bytes() == b"worse"
    assert (root / "out/other").read_bytes() == b"other"
