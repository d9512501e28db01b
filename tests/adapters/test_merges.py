"""Three-way merges of snapshots: a table for one path, and git's results for trees."""

import random
import stat
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError

import pytest

from sprintlog.engine.adapters.snapshots.entries import Snapshot, TreeEntry
from sprintlog.engine.adapters.snapshots.merge import (
    Merge,
    Resolution,
    keep_merged,
    merge,
    resolve,
)
from sprintlog.engine.adapters.snapshots.store import Store

from .trees import Picture, extracted, git, picture, put, taken

LABEL = "other@1"
A, B, C = (TreeEntry(stat.S_IFREG | 0o640, name * 40, 1) for name in "abc")
PROGRAM, LINK = A._replace(mode=stat.S_IFREG | 0o755), A._replace(mode=stat.S_IFLNK)
OTHER_LINK = LINK._replace(oid=B.oid)


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "expected"),
    [
        (A, A, A, (A, "")),
        (A, B, A, (B, "")),
        (A, A, B, (B, "")),
        (A, B, B, (B, "")),
        (A, None, A, (None, "")),
        (A, A, None, (None, "")),
        (A, None, None, (None, "")),
        (None, None, B, (B, "")),
        (None, B, None, (B, "")),
        (None, B, B, (B, "")),
        (A, B, C, (B, "content")),
        (None, B, C, (B, "add/add")),
        (A, B, None, (B, "modify/delete")),
        (A, None, B, (B, "modify/delete")),
        (LINK, OTHER_LINK, LINK._replace(oid=C.oid), (OTHER_LINK, "content")),
        (B, A, OTHER_LINK, (A, "distinct types")),
        (A, A, OTHER_LINK, (OTHER_LINK, "")),
        # Permissions other than for execution stay.
        (A, A, PROGRAM, (A._replace(mode=stat.S_IFREG | 0o750), "")),
        (A, PROGRAM, B, (B._replace(mode=PROGRAM.mode), "")),
        (PROGRAM, B, PROGRAM, (B, "")),
        (PROGRAM, PROGRAM, B, (B._replace(mode=stat.S_IFREG | 0o644), "")),
        (None, A, PROGRAM, (A, "add/add")),
    ],
)
def test_one_path(
    base: TreeEntry | None,
    ours: TreeEntry | None,
    theirs: TreeEntry | None,
    expected: Resolution,
) -> None:
    """A change of one side wins; different changes of both are merged or conflict."""
    assert resolve(base, ours, theirs) == expected


def _merged(
    store: Store, sides: list[str], target: Path
) -> tuple[Merge, Picture, Snapshot]:
    base, ours, theirs = map(store.read, sides)
    with store.lock(), store.blobs() as blob:
        made = merge(*(store, base, ours, theirs), lambda _: True, blob=blob, label=LABEL)
        kept, _ = keep_merged(store, ours, made, at_seconds=1)
    return made, extracted(store, kept, target), ours


def _vary(root: Path, chance: random.Random) -> None:
    """Change some files of a tree with a few paths, all of which conflict easily."""
    for name in ("a", "b", "d/e", "d/g", "h\ni"):
        path, kind = root / name, chance.randrange(9)
        if kind > 5:
            continue
        path.unlink(missing_ok=True)
        if kind == 0:
            continue
        if kind == 1:
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(chance.choice("xyz"))
            continue
        lines = [f"{number}\n" for number in range(9)]
        lines[chance.choice((0, 8))] = chance.choice("pq") + "\n"
        end = b"\0" if kind == 2 else b""
        put(path, "".join(lines).encode() + end, chance.choice((0o644, 0o755)))


@pytest.mark.sampled(8, 80)
@pytest.mark.parametrize("seed", range(400))
def test_result_is_that_of_git(root: Path, store: Store, tmp_path: Path, seed: int) -> None:
    """Random trees merge into the files, and conflict in the paths, that git determines."""
    chance, sides = random.Random(seed), []
    git(root, "init", "-q")
    put(root / "stays", b"x\n")
    for branch, start in (("base", ""), ("ours", "base"), ("theirs", "base")):
        git(root, "checkout", "-q", "-b", branch, *filter(None, [start]))
        _vary(root, chance)
        git(root, "add", "-A")
        git(root, "commit", "-q", "--allow-empty", "-m", branch)
        sides.append(taken(store, root).commit)
    made, merged, _ = _merged(store, sides, tmp_path / "merged")
    git(root, "checkout", "-q", "ours")
    with suppress(CalledProcessError):
        # In some versions, the default strategy always detects renames.
        options = ("-s", "recursive", "-Xno-renames", "--no-commit", "--no-ff")
        git(root, "merge", "-q", *options, "theirs")
    unmerged = {
        name.split("~")[0]
        for name in git(root, "diff", "-z", "--name-only", "--diff-filter=U").split("\0")
    } - {""}
    assert {conflict.path for conflict in made.conflicts} == unmerged
    expected = picture(root, without=(".git",))
    for name in {*merged, *expected}:
        if name.split("~")[0] not in unmerged and merged.get(name, "")[0] != "folder":
            assert merged.get(name) == expected.get(name), name


def _trio(
    root: Path, store: Store, *sides: dict[str, bytes], target: Path
) -> tuple[Merge, Picture]:
    commits = []
    for files in sides:
        for path in sorted(root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        for name, content in files.items():
            put(root / name, content)
        commits.append(taken(store, root).commit)
    made, merged, _ = _merged(store, commits, target)
    return made, merged


def test_conflict_has_gits_message_and_markers(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """The contents name both sides; a second merge leaves the markers unchanged."""
    sides = ({"f": b"1\n2\n"}, {"f": b"1\nours\n"}, {"f": b"1\ntheirs\n"})
    made, merged = _trio(root, store, *sides, target=tmp_path / "one")
    (conflict,) = made.conflicts
    assert conflict.message == "CONFLICT (content): Merge conflict in f"
    hunk = b"<<<<<<< work tree\nours\n=======\ntheirs\n>>>>>>> other@1\n"
    assert (conflict.hunks, merged["f"][2]) == (hunk, b"1\n" + hunk)
    again = ({"f": b"1\n2\n"}, {"f": merged["f"][2]}, {"f": b"1\ntheirs\n"})
    made, once_more = _trio(root, store, *again, target=tmp_path / "two")
    assert "still contains conflict markers" in made.conflicts[0].message
    assert once_more == merged


def test_folder_in_the_place_of_a_file(root: Path, store: Store, tmp_path: Path) -> None:
    """A file replaces the folder that it replaced there, unless something is added here."""
    base, theirs = {"a/b": b"x", "k": b"k"}, {"a": b"new", "k": b"k"}
    made, merged = _trio(root, store, base, base, theirs, target=tmp_path / "one")
    assert (made.conflicts, merged["a"][::2]) == ([], ("file", b"new"))
    ours = {**base, "a/c": b"ours"}
    made, merged = _trio(root, store, base, ours, theirs, target=tmp_path / "two")
    (conflict,) = made.conflicts
    said = f"CONFLICT (file/directory): directory in the way of a from {LABEL}"
    assert (conflict.message, merged["a/c"][2]) == (said, b"ours")
    made, merged = _trio(root, store, theirs, theirs, base, target=tmp_path / "three")
    assert (made.conflicts, merged["a/b"][2]) == ([], b"x")


def test_omitted_file_is_not_a_removed_one(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """A path that their snapshot omits is reported, and not removed."""
    put(root / "big", b"x")
    base = taken(store, root).commit
    (root / "big").unlink()
    (root / "big").mkdir()
    git(root / "big", "init", "-q")
    git(root / "big", "commit", "-q", "--allow-empty", "-m", "nested")
    theirs = taken(store, root).commit
    made, merged, _ = _merged(store, [base, base, theirs], tmp_path / "merged")
    assert (made.changes, [left.path for left in made.left]) == ({}, ["big"])
    assert merged["big"][2] == b"x"
