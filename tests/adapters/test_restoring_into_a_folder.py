"""Files restored into a new folder."""

from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots.one_file import extract
from sprintlog.engine.adapters.snapshots.plan import plan
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.errors import NotFoundError, RefusedError

from .trees import NOTHING, extracted, fill, picture, put, taken


def test_new_folder_must_be_new(root: Path, store: Store, tmp_path: Path) -> None:
    """Nothing is restored into an existing folder, not even an empty one."""
    put(root / "a", b"a")
    snapshot = store.read(taken(store, root).commit)
    (tmp_path / "there").mkdir()
    with store.blobs() as blob, pytest.raises(RefusedError, match="already exists"):
        extract(snapshot, plan(snapshot, NOTHING), tmp_path / "there", blob)


def test_leftover_of_a_killed_restore_is_no_obstacle(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """An incomplete new folder from an interrupted restore is started again."""
    fill(root)
    made = taken(store, root)
    put(tmp_path / ".new.sprintlog-new/half/done", b"x")
    (tmp_path / ".new.sprintlog-new/half").chmod(0o500)
    assert extracted(store, made.commit, tmp_path / "new") == picture(root)
    assert not (tmp_path / ".new.sprintlog-new").exists()


def test_link_in_place_of_a_leftover_is_not_followed(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """A link under the name of leftovers is refused, not emptied."""
    put(root / "a", b"a")
    put(tmp_path / "theirs/file", b"x")
    (tmp_path / ".new.sprintlog-new").symlink_to(tmp_path / "theirs")
    commit = taken(store, root).commit
    with pytest.raises(RefusedError, match="already exists"):
        extracted(store, commit, tmp_path / "new")
    assert (tmp_path / "theirs/file").exists()


def test_unknown_snapshot_is_not_found(store: Store, root: Path) -> None:
    """An id that the store does not contain is distinguished from a damaged store."""
    with pytest.raises(NotFoundError, match="does not contain snapshot"):
        store.read("0" * 40)
    taken(store, root)
    for commit in ("0" * 40, "HEAD", "--help", "refs/heads/x"):
        with pytest.raises(NotFoundError, match="does not contain snapshot"):
            store.read(commit)


def test_names_that_are_one_there_are_refused(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """If two names are the same there, neither file is lost: no folder is created."""
    put(root / "a", b"a")
    snapshot = store.read(taken(store, root).commit)._replace(collisions=[["A", "a"]])
    # The result on a file system that ignores case.
    made = plan(snapshot, NOTHING)._replace(folders={"a": 0o755}, modes={"a": 0o755})
    with (
        store.blobs() as blob,
        pytest.raises(RefusedError, match="A and a differ only in case"),
    ):
        extract(snapshot, made, tmp_path / "new", blob)
    assert [p.name for p in tmp_path.iterdir() if "new" in p.name] == []
