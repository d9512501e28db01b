"""A damaged snapshot store, and the files saved from it."""

import random
import shutil
import zlib
from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots.objects import DamagedError, surely_held
from sprintlog.engine.adapters.snapshots.store import Store
from sprintlog.engine.errors import SprintlogError

from .trees import extracted, fill, picture, put, taken

SEED = 20260115


@pytest.fixture
def filled(root: Path, store: Store) -> list[str]:
    """Fill a tree, and take three snapshots of it."""
    fill(root)
    first = taken(store, root)
    put(root / "more", b"more\n" * 99)
    second = taken(store, root)
    put(root / "more", b"other\n" * 99)
    return [first.commit, second.commit, taken(store, root).commit]


def flip(path: Path, chance: random.Random) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.chmod(0o600)
    path.write_bytes(content)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("number", range(40))
def test_a_bit_is_noticed_and_the_next_snapshot_is_whole(
    root: Path, store: Store, filled: list[str], tmp_path: Path, number: int
) -> None:
    """A flipped bit anywhere is found, and files that the tree still has are saved."""
    chance = random.Random(SEED + number)
    files = sorted(path for path in store.git.folder.rglob("*") if path.is_file())
    struck = chance.choice(files)
    flip(struck, chance)
    # A ref to a missing snapshot counts as a lost snapshot.
    assert len(store.unsound()) == 1 or "refs" in struck.parts
    put(root / "new", b"new")
    made = taken(store, root)
    assert store.unsound() == []
    wanted = picture(root)
    assert extracted(store, made.commit, tmp_path / "out") == wanted
    # In older snapshots, at most the one file is lost whose only copy was damaged.
    for commit in filled:
        try:
            files_then = store.read(commit).files
        except SprintlogError:
            continue
        damaged = store.damaged(entry.oid for entry in files_then.values())
        assert len(damaged) <= 1
    with store.lock():
        store.hold(filled)
        store.tidy()
    assert extracted(store, made.commit, tmp_path / "again") == wanted


def test_packs_can_be_cut_or_lost(root: Path, store: Store, filled: list[str]) -> None:
    """A truncated or unindexed pack is detected, and the next snapshot is complete."""
    packs = sorted((store.git.folder / "objects/pack").glob("*.pack"))
    packs[0].chmod(0o600)
    packs[0].write_bytes(packs[0].read_bytes()[:-30])
    packs[1].with_suffix(".idx").unlink()
    assert len(store.unsound()) == 2
    made = taken(store, root)
    assert store.unsound() == []
    files = store.read(made.commit).files
    assert store.damaged(entry.oid for entry in files.values()) == set()


def test_damaged_count_of_an_index(root: Path, store: Store, filled: list[str]) -> None:
    """A pack whose index claims billions of objects is damaged, and is not searched."""
    index = sorted((store.git.folder / "objects/pack").glob("*.idx"))[0]
    content = bytearray(index.read_bytes())
    content[8 + 255 * 4] = 0xFF
    index.chmod(0o600)
    index.write_bytes(content)
    assert surely_held(store.git.folder, ["00" * 20]) == set()


def test_what_is_sound_is_left_as_it_is(store: Store, filled: list[str]) -> None:
    """Repairing an undamaged store changes nothing."""
    before = picture(store.git.folder)
    with store.lock():
        store.mend()
    assert picture(store.git.folder) == before


def test_bytes_are_compared_with_their_id(root: Path, store: Store) -> None:
    """Content that does not match its id is never used, even if git returns it."""
    put(root / "one", b"one")
    oid = store.read(taken(store, root).commit).files["one"].oid
    shutil.rmtree(store.git.folder / "objects/pack")
    loose = store.git.folder / "objects" / oid[:2] / oid[2:]
    loose.parent.mkdir()
    loose.write_bytes(zlib.compress(b"blob 3\0two"))
    assert store.git.run("cat-file", "blob", oid) == b"two"
    assert store.damaged([oid]) == {oid}
    with store.blobs() as blob, pytest.raises(DamagedError):
        blob(oid)
