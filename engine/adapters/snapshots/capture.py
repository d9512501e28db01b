"""Taking a snapshot: what changed is read once, and handed to git as bytes."""

import os
import stat
import time
from collections.abc import Iterable, Sequence
from errno import ENOENT
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple
from uuid import uuid4

from ..folders import opened, opened_below, opened_file
from ..git.command import GitError, said_by
from . import known_stats
from .entries import LeftOut, Manifest, Stat, encode, make_manifest
from .ignored import unseen
from .known_stats import Known
from .listing import Listing, WantedPaths, list_tree, refusal
from .quiet import Quiet
from .store import FILES, MANIFEST, REFS, Store

CHECKED_BYTES_MAX = 256 * 1024 * 1024
"""How much of the store is looked at before another snapshot builds on it."""
READS_MAX = 3
"""How often a file is read that changes while it is read."""


class Limits(NamedTuple):
    """What a snapshot takes at most; what is beyond is left out, and said so."""

    file_bytes_max: int = 64 * 1024 * 1024
    read_bytes_max: int = 2 * 1024 * 1024 * 1024
    """How much one snapshot reads anew."""
    files_max: int = 1_000_000


class TakenSnapshot(NamedTuple):
    """A snapshot that was taken."""

    commit: str
    tree: str
    files: int
    bytes: int
    read: int
    """How many files had to be read."""
    left_out: list[LeftOut]
    collisions: list[list[str]]


def take(
    store: Store,
    root: Path,
    *,
    at_seconds: int,
    limits: Limits = Limits(),  # noqa: B008 - it is a constant
    patterns: Sequence[str] = (),
    also: Iterable[str] = (),
    without: Iterable[Path] = (),
    own: frozenset[str] = frozenset(),
) -> TakenSnapshot:
    """Take a snapshot of what stands below a root; the lock must be held.

    `patterns` name ignored files that are wanted too, `also` paths that are taken
    whatever their size, `without` folders that are left alone, and `own` paths below the
    root that are left alone, unless they are in `also`.
    """
    store.make()
    if store.unsound(bytes_max=CHECKED_BYTES_MAX):
        store.mend()
    ignored, problem = unseen(store.git, root)
    ours = [*without, store.folder]
    wanted = WantedPaths(
        ignored,
        tuple(patterns),
        frozenset(also),
        frozenset((s.st_dev, s.st_ino) for s in map(_status, ours) if s is not None),
        limits.files_max,
        own,
    )
    cache = store.folder / f"known-{sha256(os.fsencode(root)).hexdigest()[:16]}"
    now_ns = time.time_ns()
    listing = list_tree(root, wanted)
    if problem is not None:
        listing.left_out.append(LeftOut("", problem))
    known = known_stats.load(cache)
    taker = _Taker(store, root, listing, ignored, limits, wanted.also)
    try:
        made = taker.make(known, at_seconds)
    except GitError:
        if not known.tree:
            raise
        # The snapshot that is known may have been dropped; all is read anew then.
        made = taker.make(Known("", {}), at_seconds)
    known_stats.save(cache, made.tree, taker.files, now_ns=now_ns)
    store.gather()
    return made


class _Taker:
    """Makes one commit from a listing and what is known of the one before."""

    def __init__(
        self,
        store: Store,
        root: Path,
        listing: Listing,
        unseen: frozenset[str],
        limits: Limits,
        also: frozenset[str],
    ) -> None:
        self._store = store
        self._root = root
        self._listing = listing
        self._unseen = unseen
        self._limits = limits
        self._also = also
        self._quiet = Quiet(root)
        self.files: dict[str, Stat] = {}
        """What is in the snapshot, as it looked when it was read."""

    def make(self, known: Known, at_seconds: int) -> TakenSnapshot:
        """Read what changed and make the commit."""
        self.files = dict(self._listing.files)
        before = known.files
        files = self.files.items()
        changed = sorted(p for p, status in files if before.get(p) != status)
        process = self._store.git.start(
            "fast-import", "--quiet", "--done", "--date-format=raw", "--depth=0"
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        left = list(self._listing.left_out)
        try:
            with process.stdin as stream:
                begin(stream, known.tree, at_seconds)
                # What changes its kind must be gone before what comes in its place.
                gone = sorted(before.keys() - self.files.keys())
                stream.writelines(b"D %s\n" % quoted(p) for p in gone)
                left += self._write_changed(stream, changed)
                stream.writelines(
                    b"D %s\n" % quoted(p)
                    for p in changed
                    if p not in self.files and p in before
                )
                put(stream, b"100644", MANIFEST.encode(), encode(self._manifest(left)))
                stream.write(b"get-mark :1\nls :1 \ndone\n")
            answer = process.stdout.read().split()
        except BrokenPipeError:
            answer = []
        finally:
            said = process.stderr.read()
            process.stdout.close()
            process.stderr.close()
            code = process.wait()
        if code or len(answer) < 4:
            raise GitError(said_by(said, code))
        self._store.sync()
        size = sum(status[1] for status in self.files.values())
        read = sum(path in self.files for path in changed)
        return TakenSnapshot(
            answer[0].decode(), answer[3].decode(), len(self.files), size, read,
            sorted(left), self._listing.collisions,
        )  # fmt: skip

    def _manifest(self, left: Sequence[LeftOut]) -> Manifest:
        listing = self._listing
        return make_manifest(
            self.files, listing.folders, left, listing.collisions, self._unseen
        )

    def _write_changed(self, stream: IO[bytes], changed: Sequence[str]) -> list[LeftOut]:
        """Hand over the bytes of files that changed; return what had to be left out."""
        left = []
        room = self._limits.read_bytes_max
        with opened(self._root) as root:
            for path in changed:
                size = self.files[path][1]
                reason = None
                if path not in self._also:
                    if size > self._limits.file_bytes_max:
                        reason = f"larger than {self._limits.file_bytes_max} bytes"
                    elif size > room:
                        reason = f"{self._limits.read_bytes_max} bytes were read already"
                if reason is None:
                    try:
                        status, content = _read(root, path, size, self._quiet)
                    except OSError as error:
                        reason = refusal(path, error)
                if reason is not None:
                    del self.files[path]
                    left.append(LeftOut(path, reason))
                    continue
                room -= len(content)
                self.files[path] = status
                put(stream, _git_mode(status[0]), quoted(path), content)
        return left


def _read(root: int, path: str, size: int, quiet: Quiet) -> tuple[Stat, bytes]:
    """Return a file as it was when its bytes were read, or a link and its target.

    One that may change without looking so has no time.
    """
    folder, _, name = path.rpartition("/")
    with opened_below(root, folder) as inner:
        seen = os.stat(name, dir_fd=inner, follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            return _stat(seen), os.fsencode(os.readlink(name, dir_fd=inner))
        with opened_file(inner, name) as descriptor:
            quiet.prepare(descriptor)
            for _ in range(READS_MAX):
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    raise FileNotFoundError(ENOENT, "it is no file any more")
                os.lseek(descriptor, 0, os.SEEK_SET)
                with open(descriptor, "rb", closefd=False) as file:
                    content = file.read(2 * max(size, before.st_size) + 4096)
                after = os.fstat(descriptor)
                if _stat(before) == _stat(after) and len(content) == after.st_size:
                    if quiet.is_kept(descriptor, after.st_dev):
                        return _stat(after), content
                    break
    # It goes on changing, or may: its next snapshot reads it again.
    mode, length, _, inode = _stat(after)
    return (mode, length, -1, inode), content


def _stat(status: os.stat_result) -> Stat:
    return status.st_mode, status.st_size, status.st_ctime_ns, status.st_ino


def _status(folder: Path) -> os.stat_result | None:
    try:
        return folder.stat()
    except OSError:
        return None


def _git_mode(mode: int) -> bytes:
    if stat.S_ISLNK(mode):
        return b"120000"
    return b"100755" if mode & 0o100 else b"100644"


def begin(stream: IO[bytes], tree: str, at_seconds: int) -> None:
    """Begin a snapshot, on the content of another one where there is one."""
    # Its own name is in it: no two snapshots are one commit, dropped with either of them.
    name = uuid4().hex.encode()
    stream.write(
        b"commit %s%s\nmark :1\ncommitter sprintlog <> %d +0000\ndata %d\n%s\n"
        % (REFS.encode(), name, at_seconds, len(name), name)
    )
    if tree:
        stream.write(b"M 040000 %s \n" % tree.encode())


def put(stream: IO[bytes], mode: bytes, path: bytes, content: bytes) -> None:
    """Put a file into it."""
    stream.write(b"M %s inline %s\ndata %d\n" % (mode, path, len(content)))
    stream.write(content)
    stream.write(b"\n")


def quoted(path: str) -> bytes:
    """Return the path of a file in a snapshot as git is told it."""
    name = os.fsencode(f"{FILES}/{path}")
    name = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % name
