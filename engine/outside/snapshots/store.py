"""The store of snapshots: a bare git repository, in which each stands alone."""

import fcntl
import os
import re
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ...errors import BusyError, NotFoundError, RefusedError, UnreadableError
from ...log.stores.descriptors import give_back
from ..folders import is_gits_own, opened
from ..git import Git, GitError
from .entries import Snapshot, assemble, decode

FILES, MANIFEST = "files", "manifest"
"""What a commit's tree holds: the work tree's files, and what a git tree cannot say."""
REFS = "refs/snapshots/"
WAIT_SECONDS_MAX = 30.0
PACKS_MAX = 40
"""More packs than this are put together."""
_held: set[tuple[int, Path]] = set()
"""The locks of this process, by thread: whoever holds one may take it again."""
_ID = re.compile(r"[0-9a-f]{40}", re.ASCII)


class Store:
    """Keeps snapshots in a folder; nothing of it is ever inside of a snapshot."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.git = Git(folder / "store.git", environment)

    @property
    def exists(self) -> bool:
        """Tell whether a snapshot was ever taken."""
        return self.git.folder.is_dir()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the one lock under which snapshots are made, dropped and brought back."""
        own = threading.get_ident(), self.folder
        if own in _held:
            yield
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(
            self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
        )
        try:
            try:
                _wait_for(descriptor)
            except OSError as error:
                place = self.folder / "lock"
                raise RefusedError(f"{place}: no lock: {error.strerror}") from error
            _held.add(own)
            yield
        finally:
            _held.discard(own)
            give_back(descriptor)

    def make(self) -> None:
        """Make the store where there is none; the lock must be held."""
        if self.exists:
            return
        draft = Git(self.folder / "store.new", self.git.environment)
        shutil.rmtree(draft.folder, ignore_errors=True)
        draft.folder.mkdir(mode=0o700)
        draft.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        draft.folder.rename(self.git.folder)
        sync_folder(self.folder)

    def sync(self) -> None:
        """Make the names of what git wrote durable; it sees to the bytes itself."""
        for name in ("refs", "refs/snapshots", "objects/pack"):
            sync_folder(self.git.folder / name)

    def snapshots(self) -> dict[str, str]:
        """Return every snapshot's commit with the name of its ref."""
        if not self.exists:
            return {}
        listed = self.git.run("for-each-ref", "--format=%(objectname) %(refname)", REFS)
        return dict(line.split(" ", 1) for line in listed.decode().splitlines())

    def read(self, commit: str) -> Snapshot:
        """Return a snapshot; raise `NotFoundError` when the store does not hold it."""
        if not _ID.fullmatch(commit) or not self.exists:
            raise _missing(commit)
        try:
            listed = self.git.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        except GitError as error:
            raise _missing(commit) from error
        files = []
        manifest = ""
        for line in filter(None, listed.split(b"\0")):
            about, _, name = line.partition(b"\t")
            mode, _, oid, size = about.split()
            path = os.fsdecode(name)
            if path == MANIFEST:
                manifest = oid.decode()
            elif path.startswith(f"{FILES}/") and _is_sound(path):
                files.append((path[6:], int(mode, 8), oid.decode(), int(size)))
            else:
                raise UnreadableError(
                    f"snapshot {commit}: {path!r} cannot be a file's path"
                )
        stored = self.git.run("cat-file", "blob", manifest)
        return assemble(commit, files, decode(stored))

    @contextmanager
    def blobs(self) -> Iterator[Callable[[str], bytes]]:
        """Give a function from ids to bytes, for as long as this is held."""
        with blobs_of(self.git) as blob:
            yield blob

    def diff(
        self, one: str, other: str, paths: Sequence[str], *, without: Iterable[str] = ()
    ) -> bytes:
        """Return the lines in which the files of two snapshots differ."""
        call = ["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-renames"]
        call += ["--no-color", "--src-prefix=", "--dst-prefix="]
        meant = [f":(literal){FILES}/{path}" for path in paths or [""]]
        meant += [f":(literal,exclude){FILES}/{path}" for path in sorted(without)]
        return self.git.run(*call, one, other, "--", *meant)

    def drop(self, commits: Sequence[str]) -> None:
        """Forget snapshots; the lock must be held."""
        known = self.snapshots()
        self._unlock()
        wish = "".join(f"delete {known[c]}\0{c}\0" for c in commits if c in known)
        if wish:
            self.git.run("update-ref", "-z", "--stdin", given=wish.encode())

    def tidy(self) -> None:
        """Give back the room of what was dropped; the lock must be held."""
        for left in (self.git.folder / "objects" / "pack").glob("tmp_*"):
            left.unlink(missing_ok=True)
        self.git.run("repack", "-a", "-d", "-q", "--no-write-bitmap-index")
        self.git.run("prune", "--expire=now")

    def _unlock(self) -> None:
        """Remove locks of a git that was killed: whoever holds ours is alone here."""
        for left in (
            *self.git.folder.glob("*.lock"),
            *self.git.folder.glob("refs/**/*.lock"),
        ):
            left.unlink(missing_ok=True)

    def gather(self) -> None:
        """Put packs together when there are many; the lock must be held."""
        packs = list((self.git.folder / "objects" / "pack").glob("*.pack"))
        if len(packs) > PACKS_MAX:
            self.git.run("repack", "--geometric=2", "-d", "-q")

    def bytes_used(self) -> int:
        """Return how much room the store takes."""
        return sum(
            status.st_size
            for path in self.git.folder.rglob("*")
            if stat.S_ISREG((status := path.lstat()).st_mode)
        )


@contextmanager
def blobs_of(git: Git) -> Iterator[Callable[[str], bytes]]:
    """Give a function from ids to bytes of a repository, for as long as this is held."""
    process = git.start("cat-file", "--batch", stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    answers, wishes = process.stdout, process.stdin

    def blob(oid: str) -> bytes:
        wishes.write(f"{oid}\n".encode())
        wishes.flush()
        head = answers.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise GitError(f"the bytes {oid} are missing")
        content = answers.read(int(head[2]) + 1)[:-1]
        if len(content) != int(head[2]):
            raise GitError(f"the bytes {oid} could not be read whole")
        return content

    try:
        yield blob
    finally:
        with suppress(OSError):
            wishes.close()
        answers.close()
        process.wait()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    with opened(folder) as descriptor:
        try:
            os.fsync(descriptor)
        except OSError as error:
            # It only knows a number.
            error.filename = os.fspath(folder)
            raise


def _is_sound(path: str) -> bool:
    """Tell whether a path stays below its root and out of git's own folder."""
    parts = path.split("/")
    return not any(part in ("", ".", "..") or is_gits_own(part) for part in parts)


def _missing(commit: str) -> NotFoundError:
    return NotFoundError(
        f"the store holds no snapshot {commit[:40]}",
        hint="it was pruned, or taken on another machine",
        snapshot=commit,
    )


def _wait_for(descriptor: int) -> None:
    until = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise BusyError(
                    "another process holds the store of snapshots",
                    hint="nothing was changed; repeat the command",
                ) from None
            time.sleep(0.02)
        else:
            return
