"""Obstacles for a restore, none of which is lost."""

import os
from pathlib import Path

from sprintlog.engine.adapters.snapshots.placement import FOLDER_THERE, SPECIAL_THERE, place
from sprintlog.engine.adapters.snapshots.plan import plan
from sprintlog.engine.adapters.snapshots.store import Store

from .trees import NOTHING, git, picture, put, put_back, taken


def test_edit_since_the_plan_is_kept(root: Path, store: Store) -> None:
    """A file written between plan and restore is saved if it is not stored elsewhere."""
    put(root / "a", b"first")
    put(root / "gone", b"x")
    first = taken(store, root)
    put(root / "a", b"second")
    put(root / "new", b"y")
    (root / "gone").unlink()
    wanted = store.read(first.commit)
    made = plan(wanted, store.read(taken(store, root).commit))
    put(root / "a", b"third, seen by nobody")
    put(root / "new", b"fourth")
    put(root / "gone", b"fifth")
    with store.blobs() as blob:
        placed = place(root, made, blob, keep_in=store.folder / "kept")
    kept = {k.path: (store.folder / "kept" / k.copy).read_bytes() for k in placed.kept}
    assert kept == {"a": b"third, seen by nobody", "new": b"fourth", "gone": b"fifth"}
    assert {n: seen[2] for n, seen in picture(root).items()} == {
        "a": b"first",
        "gone": b"x",
    }


def test_folder_with_other_files_stays(root: Path, store: Store) -> None:
    """A file cannot replace a folder that still contains other files."""
    git(root, "init", "-q")
    put(root / ".gitignore", b"*.log\n")
    put(root / "a", b"file")
    first = taken(store, root)
    (root / "a").unlink()
    put(root / "a/seen", b"x")
    put(root / "a/kept.log", b"x")
    _, placed = put_back(store, root, first.commit)
    assert placed.skipped == [("a", FOLDER_THERE)]
    assert [p.name for p in (root / "a").iterdir()] == ["kept.log"]


def test_special_file_is_left_where_it_stands(root: Path, store: Store) -> None:
    """A pipe at the path of a file is reported and not changed."""
    put(root / "a", b"file")
    first = taken(store, root)
    made = plan(store.read(first.commit), NOTHING)
    (root / "a").unlink()
    os.mkfifo(root / "a")
    with store.blobs() as blob:
        placed = place(root, made, blob, keep_in=store.folder / "kept")
    assert placed.skipped == [("a", SPECIAL_THERE)]


def test_link_on_the_way_is_not_followed(root: Path, store: Store, tmp_path: Path) -> None:
    """If a folder was replaced by a link, nothing is written through it."""
    put(root / "folder/file", b"inside")
    put(root / "folder/other", b"inside")
    first = taken(store, root)
    outside = tmp_path / "outside"
    put(outside / "file", b"outside")
    made = plan(store.read(first.commit), NOTHING)
    (root / "folder/file").unlink()
    (root / "folder/other").unlink()
    (root / "folder").rmdir()
    (root / "folder").symlink_to(outside)
    with store.blobs() as blob:
        placed = place(root, made, blob, keep_in=store.folder / "kept")
    assert {path for path, _ in placed.skipped} == {"folder", "folder/file", "folder/other"}
    assert picture(outside) == {"file": ("file", 0o644, b"outside")}


def test_links_out_are_brought_back_as_links(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """A link that leads out of the tree is restored as a link; its target is unchanged."""
    put(tmp_path / "outside", b"outside")
    (root / "link").symlink_to(tmp_path / "outside")
    first = taken(store, root)
    (root / "link").unlink()
    put(root / "link", b"a file now")
    put_back(store, root, first.commit)
    assert os.readlink(root / "link") == str(tmp_path / "outside")
    assert (tmp_path / "outside").read_bytes() == b"outside"


def test_folder_that_may_not_be_written_is_no_obstacle(root: Path, store: Store) -> None:
    """Files are restored in a read-only folder, which is read-only again afterwards."""
    put(root / "sealed/a", b"old")
    (root / "sealed").chmod(0o555)
    first = taken(store, root)
    (root / "sealed").chmod(0o755)
    put(root / "sealed/a", b"new")
    (root / "sealed").chmod(0o555)
    put_back(store, root, first.commit)
    assert (root / "sealed/a").read_bytes() == b"old"
    assert (root / "sealed").stat().st_mode & 0o777 == 0o555
    (root / "sealed").chmod(0o755)
