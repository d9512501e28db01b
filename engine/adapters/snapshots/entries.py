"""What a snapshot says of a work tree: its files, and what a git tree cannot hold."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

Stat = tuple[int, int, int, int]
"""Mode, bytes, time of the last change of any kind in nanoseconds, and inode."""

LEFT_OUT_MAX = 10_000
"""How many paths that were left out are named; more are only counted."""


class LeftOut(NamedTuple):
    """Something in the tree that a snapshot does not hold, and why."""

    path: str
    """From the root, as the system gives it (bytes beyond UTF-8 as surrogates)."""
    reason: str


class TreeEntry(NamedTuple):
    """A file or a link as a snapshot holds it."""

    mode: int
    """With its kind, as the system gives it."""
    oid: str
    """The id of its bytes; of a link those of its target."""
    size: int

    @property
    def is_link(self) -> bool:
        """Tell whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def permissions(self) -> int:
        """Return who may do what with it."""
        return self.mode & 0o777


class Manifest(msgspec.Struct, omit_defaults=True):
    """What a git tree cannot hold; it lies beside the files in the same commit.

    Paths are bytes, because names need not be UTF-8. Only what differs from the usual
    modes is written down.
    """

    format: int = 1
    file_mode: int = 0o644
    program_mode: int = 0o755
    """The usual mode of what may be executed."""
    folder_mode: int = 0o755
    modes: dict[bytes, int] = {}
    folder_modes: dict[bytes, int] = {}
    empty: list[bytes] = []
    """Folders in which there is nothing that a git tree would hold."""
    left_out: list[tuple[bytes, str]] = []
    left_out_count: int = 0
    collisions: list[list[bytes]] = []
    """Paths that are one and the same where case does not matter."""
    unseen: list[bytes] = []
    """What git ignored then; folders end with a slash."""


class Snapshot(NamedTuple):
    """A snapshot as it is read."""

    commit: str
    files: dict[str, TreeEntry]
    folders: dict[str, int]
    """Every folder below the root with its mode."""
    left_out: list[LeftOut]
    left_out_count: int
    collisions: list[list[str]]
    unseen: frozenset[str] = frozenset()
    """What git ignored when it was taken; folders end with a slash."""

    @property
    def size(self) -> int:
        """Return how many bytes its files have."""
        return sum(entry.size for entry in self.files.values())


def make_manifest(
    files: Mapping[str, Stat],
    folders: Mapping[str, int],
    left_out: Iterable[LeftOut],
    collisions: Iterable[Iterable[str]],
    unseen: Iterable[str] = (),
) -> Manifest:
    """Return the manifest of a tree as it was listed."""
    counted = Counter([status[0] for status in files.values()])
    plain: Counter[int] = Counter()
    programs: Counter[int] = Counter()
    for mode, count in counted.items():
        if not stat.S_ISLNK(mode):
            (programs if mode & 0o100 else plain)[mode & 0o777] += count
    manifest = Manifest(
        file_mode=_usual(plain, 0o644),
        program_mode=_usual(programs, 0o755),
        folder_mode=_usual(Counter(folders.values()), 0o755),
    )
    usual = (manifest.file_mode, manifest.program_mode)
    odd = {
        mode
        for mode in counted
        if not stat.S_ISLNK(mode) and mode & 0o777 != usual[bool(mode & 0o100)]
    }
    if odd:
        manifest.modes = {
            os.fsencode(path): status[0] & 0o777
            for path, status in files.items()
            if status[0] in odd
        }
    manifest.folder_modes = {
        os.fsencode(path): mode
        for path, mode in folders.items()
        if mode != manifest.folder_mode
    }
    filled = parents_of([*files])
    inner = {path.rpartition("/")[0] for path in folders}
    manifest.empty = [os.fsencode(p) for p in sorted(folders) if p not in filled | inner]
    named = sorted(left_out)
    manifest.left_out = [(os.fsencode(p), reason) for p, reason in named[:LEFT_OUT_MAX]]
    manifest.left_out_count = len(named)
    manifest.collisions = [[os.fsencode(p) for p in sorted(one)] for one in collisions]
    manifest.unseen = [os.fsencode(p) for p in sorted(unseen)[:LEFT_OUT_MAX]]
    return manifest


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as it is stored."""
    return msgspec.msgpack.encode(manifest)


def decode(stored: bytes) -> Manifest:
    """Return a manifest; raise `msgspec.DecodeError` for anything else."""
    return msgspec.msgpack.decode(stored, type=Manifest)


def assemble(
    commit: str, tree: Iterable[tuple[str, int, str, int]], manifest: Manifest
) -> Snapshot:
    """Return a snapshot from its git tree (path, git mode, id, bytes) and its manifest."""
    files = {}
    for path, git_mode, oid, size in tree:
        mode = git_mode
        if not stat.S_ISLNK(git_mode):
            usual = manifest.program_mode if git_mode & 0o100 else manifest.file_mode
            mode = stat.S_IFREG | usual
        files[path] = TreeEntry(mode, oid, size)
    for name, mode in manifest.modes.items():
        path = os.fsdecode(name)
        if path in files:
            files[path] = files[path]._replace(mode=stat.S_IFREG | mode)
    named = parents_of([*files, *(f"{os.fsdecode(name)}/" for name in manifest.empty)])
    folders = dict.fromkeys(sorted(named - {""}), manifest.folder_mode)
    folders |= {os.fsdecode(name): mode for name, mode in manifest.folder_modes.items()}
    return Snapshot(
        commit,
        files,
        folders,
        [LeftOut(os.fsdecode(name), reason) for name, reason in manifest.left_out],
        manifest.left_out_count,
        [[os.fsdecode(name) for name in one] for one in manifest.collisions],
        frozenset(map(os.fsdecode, manifest.unseen)),
    )


def _usual(counted: "Counter[int]", otherwise: int) -> int:
    return max(counted, key=lambda mode: (counted[mode], -mode)) if counted else otherwise


def parents_of(paths: Iterable[str]) -> set[str]:
    """Return every folder that the paths lie in, the root as an empty text."""
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in paths}:
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
