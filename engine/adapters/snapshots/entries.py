"""A snapshot's contents: its files, and properties that a git tree cannot store."""

import os
import stat
from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import msgspec

Stat = tuple[int, int, int, int]
"""Mode, size in bytes, time of the last change of any kind in nanoseconds, and inode."""

LEFT_OUT_MAX = 10_000
"""The maximum number of omitted paths that are listed; all are counted."""


GIT_MODES = ("100644", "100755", "120000")
"""The modes of a file, an executable and a link in a git tree."""


class LeftOut(NamedTuple):
    """A path that a snapshot omits, and the reason."""

    path: str
    """The path from the root; bytes that are not UTF-8 are lone surrogates."""
    reason: str


def stat_of(status: os.stat_result) -> Stat:
    """Return the fields of a status that change when the file changes."""
    return status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino


def mark_of(status: Stat) -> str:
    """Return a marker for an omitted path's state; equal markers mean equal content."""
    kind = stat.S_IFMT(status[0])
    if kind in (stat.S_IFREG, stat.S_IFLNK, stat.S_IFDIR):
        return " ".join(map(str, status))
    return str(kind)


class TreeEntry(NamedTuple):
    """A file or link in a snapshot."""

    mode: int
    """The system's mode, including the file type."""
    oid: str
    """The id of the contents; for a link, the id of its target."""
    size: int

    @property
    def is_link(self) -> bool:
        """Return whether the entry is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    @property
    def permissions(self) -> int:
        """Return the entry's permission bits."""
        return self.mode & 0o777


class Manifest(msgspec.Struct, omit_defaults=True):
    """The properties that a git tree cannot store, in the same commit as the files.

    Paths are bytes, because names need not be UTF-8. Only modes that differ from the most
    common ones are stored.
    """

    format: int = 1
    file_mode: int = 0o644
    program_mode: int = 0o755
    """The usual mode of executable files."""
    folder_mode: int = 0o755
    modes: dict[bytes, int] = {}
    folder_modes: dict[bytes, int] = {}
    empty: list[bytes] = []
    """Folders that contain nothing that a git tree can store."""
    left_out: list[tuple[bytes, str]] = []
    left_out_count: int = 0
    marks: dict[bytes, str] = {}
    """The state of each omitted path, and of other requested paths."""
    collisions: list[list[bytes]] = []
    """Groups of paths that differ only in case."""
    unseen: list[bytes] = []
    """The paths that git ignored when the snapshot was taken; folders end with a slash."""


class Snapshot(NamedTuple):
    """A snapshot read from the store."""

    commit: str
    files: dict[str, TreeEntry]
    folders: dict[str, int]
    """All folders below the root, with their modes."""
    left_out: list[LeftOut]
    left_out_count: int
    collisions: list[list[str]]
    unseen: frozenset[str] = frozenset()
    """The paths that git ignored when the snapshot was taken; folders end with a slash."""
    marks: Mapping[str, str] = MappingProxyType({})
    """The state of omitted paths; older snapshots have none."""

    @property
    def size(self) -> int:
        """Return the total size of the snapshot's files in bytes."""
        return sum(entry.size for entry in self.files.values())


class Listing(NamedTuple):
    """The files in a work tree, and the subset that a snapshot includes."""

    files: dict[str, Stat]
    folders: dict[str, int]
    left_out: list[LeftOut]
    collisions: list[list[str]]
    marks: dict[str, str]
    """The state of each omitted path; see `mark_of`."""


def make_manifest(found: Listing, unseen: Iterable[str] = ()) -> Manifest:
    """Return the manifest of a listed tree, including the files that git ignores."""
    files, folders, left_out, collisions, marks = found
    counted = Counter(status[0] for status in files.values())
    modes = {mode: n for mode, n in counted.items() if not stat.S_ISLNK(mode)}
    manifest = Manifest(
        file_mode=_usual({m: n for m, n in modes.items() if not m & 0o100}, 0o644),
        program_mode=_usual({m: n for m, n in modes.items() if m & 0o100}, 0o755),
        folder_mode=_usual(Counter(folders.values()), 0o755),
    )
    usual = (manifest.file_mode, manifest.program_mode)
    odd = {mode for mode in modes if mode & 0o777 not in usual}
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
    manifest.marks = {os.fsencode(p): marks[p] for p in sorted(marks)[:LEFT_OUT_MAX]}
    manifest.collisions = [[os.fsencode(p) for p in sorted(one)] for one in collisions]
    manifest.unseen = [os.fsencode(p) for p in sorted(unseen)[:LEFT_OUT_MAX]]
    return manifest


def encode(manifest: Manifest) -> bytes:
    """Return a manifest in its stored format."""
    return msgspec.msgpack.encode(manifest)


def decode(stored: bytes) -> Manifest:
    """Return the decoded manifest; raise `msgspec.DecodeError` if it is invalid."""
    return msgspec.msgpack.decode(stored, type=Manifest)


def assemble(
    commit: str, tree: Iterable[tuple[str, str, str, int]], manifest: Manifest
) -> Snapshot:
    """Build a snapshot from its manifest and its git tree (path, git mode, id, size)."""
    usual = (stat.S_IFREG | manifest.file_mode, stat.S_IFREG | manifest.program_mode)
    modes = dict(zip(GIT_MODES, (*usual, stat.S_IFLNK), strict=True))
    files = {path: TreeEntry(modes[mode], oid, size) for path, mode, oid, size in tree}
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
        {os.fsdecode(name): mark for name, mark in manifest.marks.items()},
    )


def _usual(counted: Mapping[int, int], otherwise: int) -> int:
    """Return the most common permission bits, or `otherwise` if there are no modes."""
    most = max(counted, key=lambda mode: (counted[mode], -mode), default=otherwise)
    return most & 0o777


def parents_of(paths: Iterable[str]) -> set[str]:
    """Return all parent folders of the paths; the root is an empty string."""
    found: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in paths}:
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return found
