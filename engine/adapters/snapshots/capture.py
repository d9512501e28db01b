"""Takes snapshots: changed files are read once and passed to git as bytes."""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import msgspec

from ..folders import opened, opened_below, opened_file
from ..git.command import GitError, said_by
from . import file_stats
from .entries import LeftOut, Listing, Stat, encode, make_manifest, mark_of, stat_of
from .file_stats import Known, Quiet
from .listing import WantedPaths, list_tree, refusal, unseen
from .store import FILES, MANIFEST, REFS, Store

CHECKED_BYTES_MAX = 256 * 1024 * 1024
"""The number of bytes in the store that are checked before a new snapshot is taken."""
READS_MAX = 3
"""The maximum number of attempts to read a file that changes in the meantime."""


class Limits(NamedTuple):
    """The limits of a snapshot; files beyond them are omitted and reported."""

    file_bytes_max: int = 64 * 1024 * 1024
    read_bytes_max: int = 2 * 1024 * 1024 * 1024
    """The maximum number of bytes read for one snapshot."""
    files_max: int = 1_000_000
    patterns: Sequence[str] = ()
    """Patterns of ignored files that are nevertheless included."""


class TakenSnapshot(NamedTuple):
    """A snapshot that was taken."""

    commit: str
    tree: str
    files: int
    bytes: int
    read: int
    """The number of files that were read."""
    left_out: list[LeftOut]
    collisions: list[list[str]]


def take(
    store: Store,
    root: Path,
    *,
    at_seconds: int,
    limits: Limits,
    also: Iterable[str] = (),
    marked: Iterable[str] = (),
    without: Iterable[Path] = (),
    own: frozenset[str] = frozenset(),
    last: str = "",
    only: Callable[[str], bool] | None = None,
) -> TakenSnapshot:
    """Take a snapshot of the files below a root; the lock must be held.

    `last` is the id of the last snapshot's content. If it is passed and no file appears to
    have changed since, no snapshot is taken, and the returned commit is empty.

    `also` contains paths that are included regardless of their size, `marked` paths whose
    state is recorded although they are included, `without` ignored folders, and `own` paths
    that are ignored unless they are in `also`. With `only`, only the paths for which it
    returns true are included, even if git ignores them.
    """
    store.make()
    if not last and store.unsound(bytes_max=CHECKED_BYTES_MAX):
        store.mend()
    ignored, problem = unseen(store.git, root)
    ours = [*without, store.folder]
    wanted = WantedPaths(
        ignored if only is None else frozenset(p for p in ignored if p.endswith("/")),
        tuple(limits.patterns),
        frozenset(also),
        frozenset((s.st_dev, s.st_ino) for s in map(_status, ours) if s is not None),
        limits.files_max,
        own,
    )
    cache = file_stats.cache_of(store.folder, root, is_partial=only is not None)
    now_ns = time.time_ns()
    listing = list_tree(root, wanted)
    if only is not None:
        files = {path: one for path, one in listing.files.items() if only(path)}
        left = [one for one in listing.left_out if only(one.path)]
        listing = Listing(files, {}, left, [], {})
        wanted = wanted._replace(unseen=frozenset())
    if problem is not None:
        listing.left_out.append(LeftOut("", problem))
    known = file_stats.load(cache)
    if last and last == known.tree and known.files == listing.files:
        return TakenSnapshot("", last, len(known.files), 0, 0, [], [])
    if last and store.unsound(bytes_max=CHECKED_BYTES_MAX):
        store.mend()
        known = file_stats.load(cache)
    known_marks = (path for path in marked if path in listing.files)
    listing.marks.update((path, mark_of(listing.files[path])) for path in known_marks)
    taker = _Taker(store, root, wanted, listing, limits, Quiet(root))
    try:
        made = taker.make(known, at_seconds)
    except GitError:
        if not known.tree:
            raise
        # The known snapshot may have been dropped; then all files are read again.
        made = taker.make(Known("", {}), at_seconds)
    is_local = taker.quiet.is_local
    looked = {
        path: file_stats.settled(one, now_ns, is_local=is_local)
        for path, one in taker.held.files.items()
    }
    file_stats.save(cache, made.tree, looked)
    store.gather()
    return made


class _Taker(msgspec.Struct):
    """Creates one commit from a listing and the previous snapshot."""

    store: Store
    root: Path
    wanted: WantedPaths
    listing: Listing
    limits: Limits
    quiet: Quiet
    held: Listing = Listing({}, {}, [], [], {})
    """The contents of the snapshot, with the stats from when they were read, and omitted
    files."""

    def make(self, known: Known, at_seconds: int) -> TakenSnapshot:
        """Read the changed files and create the commit."""
        files, left = dict(self.listing.files), [*self.listing.left_out]
        self.held = self.listing._replace(files=files, left_out=left)
        before = known.files
        changed = sorted(p for p, status in files.items() if before.get(p) != status)
        lines = self._lines(before, changed)
        commit, tree = make_commit(self.store, known.tree, at_seconds, lines)
        size = sum(status[1] for status in files.values())
        read, alike = sum(path in files for path in changed), self.held.collisions
        return TakenSnapshot(commit, tree, len(files), size, read, sorted(left), alike)

    def _lines(self, before: Collection[str], changed: Sequence[str]) -> Iterator[bytes]:
        """Yield git's input for the differences from the previous snapshot."""
        # A path whose type changes is removed before its replacement is added.
        gone = sorted({*before} - self.held.files.keys())
        yield from (b"D %s\n" % quoted(path) for path in gone)
        yield from self._changed(changed)
        left_now = (
            path for path in changed if path not in self.held.files and path in before
        )
        yield from (b"D %s\n" % quoted(path) for path in left_now)
        manifest = make_manifest(self.held, self.wanted.unseen)
        yield from put(b"100644", MANIFEST.encode(), encode(manifest))

    def _changed(self, changed: Sequence[str]) -> Iterator[bytes]:
        """Yield git's input for the changed files, and record those that are omitted."""
        room = self.limits.read_bytes_max
        with opened(self.root) as root:
            for path in changed:
                size = self.held.files[path][1]
                reason = None
                if path not in self.wanted.also:
                    if size > self.limits.file_bytes_max:
                        reason = f"larger than {self.limits.file_bytes_max} bytes"
                    elif size > room:
                        reason = f"{self.limits.read_bytes_max} bytes were read already"
                if reason is None:
                    try:
                        status, content = _read(root, path, size, self.quiet)
                    except OSError as error:
                        reason = refusal(path, error)
                if reason is not None:
                    self.held.marks[path] = mark_of(self.held.files[path])
                    del self.held.files[path]
                    self.held.left_out.append(LeftOut(path, reason))
                    continue
                room -= len(content)
                self.held.files[path] = status
                yield from put(git_mode(status[0]), quoted(path), content)


def _read(root: int, path: str, size: int, quiet: Quiet) -> tuple[Stat, bytes]:
    """Return a file's stat and bytes; for a link, the bytes are its target.

    If the file might change without a change in its stat, the returned stat has no valid
    time.
    """
    folder, _, name = path.rpartition("/")
    with opened_below(root, folder) as inner:
        seen = os.stat(name, dir_fd=inner, follow_symlinks=False)
        if stat.S_ISLNK(seen.st_mode):
            return stat_of(seen), os.fsencode(os.readlink(name, dir_fd=inner))
        with opened_file(inner, name) as descriptor:
            quiet.prepare(descriptor)
            for _ in range(READS_MAX):
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    raise FileNotFoundError(ENOENT, "no longer a file")
                os.lseek(descriptor, 0, os.SEEK_SET)
                with open(descriptor, "rb", closefd=False) as file:
                    content = file.read(2 * max(size, before.st_size) + 4096)
                after = os.fstat(descriptor)
                if stat_of(before) == stat_of(after) and len(content) == after.st_size:
                    if quiet.is_kept(descriptor, after.st_dev):
                        return stat_of(after), content
                    break
    # The file is changing or may change: the next snapshot reads it again.
    mode, length, _, inode = stat_of(after)
    return (mode, length, -1, inode), content


def _status(folder: Path) -> os.stat_result | None:
    try:
        return folder.stat()
    except OSError:
        return None


def git_mode(mode: int) -> bytes:
    """Return the mode with which git stores a file or a link."""
    if stat.S_ISLNK(mode):
        return b"120000"
    return b"100755" if mode & 0o100 else b"100644"


def make_commit(
    store: Store, tree: str, at_seconds: int, lines: Iterable[bytes]
) -> tuple[str, str]:
    """Create a snapshot by applying changes to another snapshot's content, if any.

    Return the snapshot's id and the id of its content.
    """
    # The commit contains its ref's name, so that two snapshots never share a commit.
    name = uuid4().hex.encode()
    call = ("fast-import", "--quiet", "--done", "--date-format=raw", "--depth=0")
    with store.git.start(*call) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        # If git has ended, its error states the reason.
        with suppress(BrokenPipeError), process.stdin as stream:
            stream.write(
                b"commit %s%s\nmark :1\ncommitter sprintlog <> %d +0000\ndata %d\n%s\n"
                % (REFS.encode(), name, at_seconds, len(name), name)
            )
            if tree:
                stream.write(b"M 040000 %s \n" % tree.encode())
            stream.writelines(lines)
            stream.write(b"get-mark :1\nls :1 \ndone\n")
        answer, said = process.stdout.read().split(), process.stderr.read()
    if process.returncode or len(answer) < 4:
        raise GitError(said_by(said, process.returncode))
    store.sync()
    return answer[0].decode(), answer[3].decode()


def put(mode: bytes, path: bytes, content: bytes) -> Iterator[bytes]:
    """Yield git's input for a file."""
    yield b"M %s inline %s\ndata %d\n" % (mode, path, len(content))
    yield content
    yield b"\n"


def quoted(path: str) -> bytes:
    """Return the path of a file in a snapshot, quoted for git."""
    name = os.fsencode(f"{FILES}/{path}")
    name = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % name
