"""Reads a repository's objects; detects damaged ones, and repairs the store.

Git does not verify most of the objects that it reads, so a flipped bit on the disk could
change a user's file unnoticed. Each pack ends with its own checksum, so that a flipped bit
is detected without unpacking. A repair extracts the intact objects from a damaged pack and
moves the pack aside; the next snapshot stores missing objects again if the work tree still
contains them.
"""

import os
import random
import re
import subprocess
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from errno import EIO
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from ..git.command import Git, GitError
from ..replace import replace_file


class DamagedError(GitError):
    """An object is missing or does not match its id."""


class Objects:
    """Reads the objects in a repository through git processes."""

    def __init__(self, git: Git, ahead: Iterable[str] = ()) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None
        self._ahead = [*ahead]
        """The ids that will be requested, in reverse order; git is asked for all of them
        first."""
        self._ahead.reverse()
        self._expected = Counter(self._ahead)
        self._stream: subprocess.Popen[bytes] | None = None

    def read(self, oid: str) -> tuple[str, bytes]:
        """Return an object's type and content; raise `DamagedError` if it is unreadable."""
        is_ahead = True
        while is_ahead:
            is_ahead = self._expected.get(oid, 0) > 0
            try:
                head, content = self._next(oid) if is_ahead else self._ask(oid)
            except OSError:
                head, content = b"", b""
            if _id_of(head, content) == oid:
                return head.partition(b" ")[0].decode(), content
            # This object or another one may have killed it: request each object separately
            # now.
            self.close()
            self._expected.clear()
        raise DamagedError(f"the bytes {oid} are missing or damaged", self._git.place)

    def blob(self, oid: str) -> bytes:
        """Return a file's contents."""
        return self.read(oid)[1]

    def close(self) -> None:
        """End the git processes."""
        for process in filter(None, (self._process, self._stream)):
            assert process.stdout is not None
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.close()
            process.stdout.close()
            process.wait()
        self._process = self._stream = None

    def _ask(self, oid: str) -> tuple[bytes, bytes]:
        if self._process is None:
            call = ("cat-file", "--batch")
            self._process = self._git.start(*call, stderr=subprocess.DEVNULL)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{oid}\n".encode())
        process.stdin.flush()
        return _answer(process.stdout)

    def _next(self, oid: str) -> tuple[bytes, bytes]:
        """Return an object that was requested in advance, skipping unused earlier ones."""
        if self._stream is None:
            with TemporaryFile() as asked:
                asked.writelines(f"{one}\n".encode() for one in reversed(self._ahead))
                asked.seek(0)
                call = ("cat-file", "--batch", "--buffer")
                quiet = subprocess.DEVNULL
                self._stream = self._git.start(*call, stdin=asked, stderr=quiet)
        assert self._stream.stdout is not None
        while True:
            expected = self._ahead.pop()
            self._expected[expected] -= 1
            answer = _answer(self._stream.stdout)
            if expected == oid:
                return answer


def _answer(stream: IO[bytes]) -> tuple[bytes, bytes]:
    """Return the header and content of the next object; empty if it is missing."""
    _, _, head = stream.readline().rstrip().partition(b" ")
    _, _, size = head.partition(b" ")
    return (head, stream.read(int(size) + 1)[:-1]) if size else (b"", b"")


@contextmanager
def blobs_of(git: Git, ahead: Iterable[str] = ()) -> Iterator[Callable[[str], bytes]]:
    """Yield a function that returns a repository's blobs by id.

    Blobs in `ahead` are read faster if they are requested in that order.
    """
    with closing(Objects(git, ahead)) as objects:
        yield objects.blob


def object_id(kind: str, content: bytes) -> str:
    """Return the id that git assigns to an object."""
    return _id_of(b"%s %d" % (kind.encode(), len(content)), content)


def _id_of(head: bytes, content: bytes) -> str:
    return sha1(b"%s\0%s" % (head, content), usedforsecurity=False).hexdigest()


CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
HEAD = b"ref: refs/heads/master\n"
FIXED = {"config": CONFIG, "HEAD": HEAD}
"""The files with fixed contents, which can be rewritten."""
_SUM = 20
_CHUNK = 1 << 20
_VERSION_2, _IDS = b"\xfftOc\0\0\0\2", 8 + 256 * 4
"""The first bytes of a pack's index, and the offset of its sorted ids, preceded by their
number."""
CHECKED_BYTES_MAX = 64 * 1024
"""The size up to which a pack is checked, for each requested object that it contains."""
_REF = re.compile(rb"[0-9a-f]{40}\n")


class Unsound(NamedTuple):
    """A file in the store that has been damaged or changed."""

    path: Path
    what: str


def unsound(folder: Path, *, bytes_max: int | None = None) -> list[Unsound]:
    """Return a store's damaged files, ignoring files that have since been deleted.

    If the packs are larger than `bytes_max`, only a random selection of them is checked.
    """
    found = [*_small(folder)]
    packs = sorted((folder / "objects" / "pack").glob("*.pack"))
    if bytes_max is not None:
        random.shuffle(packs)
    room = bytes_max
    for pack in packs:
        try:
            size = pack.stat().st_size
            if room is not None and size > room:
                continue
            room = None if room is None else room - size
            what = _problem_of(pack)
        except FileNotFoundError:
            continue  # Packs were combined in the meantime.
        if what is not None:
            found.append(Unsound(pack, what))
    return found


def surely_held(folder: Path, oids: Collection[str]) -> set[str]:
    """Return the ids of those objects that only intact packs contain.

    A pack's checksum covers its objects, so they need not be read separately. A pack that
    is large compared with the number of its requested objects is not checked.
    """
    wanted = {*map(bytes.fromhex, oids)}
    held, doubtful = set[bytes](), set[bytes]()
    for pack in (folder / "objects" / "pack").glob("*.pack"):
        index = _read(pack.with_suffix(".idx")) or b""
        end = _IDS + int.from_bytes(index[_IDS - 4 : _IDS], "big") * _SUM
        ids = {index[at : at + _SUM] for at in range(_IDS, min(end, len(index)), _SUM)}
        ids &= wanted
        with suppress(FileNotFoundError):  # Packs may be combined in the meantime.
            size_max = len(ids) * CHECKED_BYTES_MAX
            is_quick = index.startswith(_VERSION_2) and pack.stat().st_size <= size_max
            (held if is_quick and _problem_of(pack) is None else doubtful).update(ids)
    return {one.hex() for one in held - doubtful}


def mend(git: Git, aside: Path) -> None:
    """Save the intact parts of damaged files, and move the files aside.

    The lock must be held.
    """
    with closing(Objects(git)) as objects:
        for path, _ in unsound(git.folder):
            if path.name in FIXED:
                _write(path, FIXED[path.name])
            elif path.suffix != ".pack":
                _set_aside([path], aside)
            elif not _ending(path) or not _index_anew(git, path):
                for oid, content in _whole_objects(git, objects, path):
                    _write(git.folder / "objects" / oid[:2] / oid[2:], content)
                _set_aside([*path.parent.glob(f"{path.stem}.*")], aside)


def _small(folder: Path) -> Iterator[Unsound]:
    """Yield all damaged files except packs."""
    for name, content in FIXED.items():
        if _read(folder / name) != content:
            yield Unsound(folder / name, "was changed")
    for ref in (folder / "refs" / "snapshots").glob("[0-9a-f]*"):
        named = None if ref.suffix == ".lock" else _read(ref)
        if named is not None and not _REF.fullmatch(named):
            yield Unsound(ref, "names no snapshot")
    for loose in (folder / "objects").glob("[0-9a-f][0-9a-f]/*"):
        if not loose.name.startswith(("tmp_", ".")) and not _is_object(loose):
            yield Unsound(loose, "is not the object that it is named for")


def _problem_of(pack: Path) -> str | None:
    if not (ending := _ending(pack)):
        return "is not what was written"
    index = pack.with_suffix(".idx")
    if not index.exists():
        return "has lost its index"
    # An index contains the pack's checksum before its own.
    if _ending(index)[-2 * _SUM : -_SUM] != ending[-_SUM:]:
        return "has an index that is not what was written"
    return None


def _ending(path: Path) -> bytes:
    """Return a file's final checksum if it matches the other bytes, or empty bytes."""
    with _reading(path) as file:
        left = os.fstat(file.fileno()).st_size - _SUM
        counted, content = sha1(usedforsecurity=False), b""
        while left > 0:
            before, content = content[-_SUM:], file.read(min(left, _CHUNK))
            if not content:
                return b""
            counted.update(content)
            left -= len(content)
            content = before + content
        if counted.digest() == (checksum := file.read()):
            return content + checksum
    return b""


def _is_object(loose: Path) -> bool:
    content = _read(loose)
    if content is None:
        return True
    try:
        head, _, body = zlib.decompress(content).partition(b"\0")
    except zlib.error:
        return False
    kind = head.split(b" ")[0].decode(errors="replace")
    return object_id(kind, body) == loose.parent.name + loose.name


def _index_anew(git: Git, pack: Path) -> bool:
    """Create a new index for a pack; return whether that succeeded."""
    pack.with_suffix(".rev").unlink(missing_ok=True)
    pack.with_suffix(".idx").unlink(missing_ok=True)
    try:
        git.run("index-pack", str(pack))
    except GitError:
        return False
    return True


def _whole_objects(git: Git, objects: Objects, pack: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the intact objects in a pack, in loose-object format."""
    listed = b""
    if (index := _read(pack.with_suffix(".idx"))) is not None:
        with suppress(GitError):
            listed = git.run("show-index", given=index)
    for line in listed.splitlines():
        oid = line.split()[1].decode()
        try:
            kind, content = objects.read(oid)
        except DamagedError:
            continue
        yield oid, zlib.compress(b"%s %d\0" % (kind.encode(), len(content)) + content, 1)


def _set_aside(paths: list[Path], aside: Path) -> None:
    aside.mkdir(mode=0o700, exist_ok=True)
    for path in paths:
        os.replace(path, aside / path.name)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    replace_file(path, content, mode=0o600)


def _read(path: Path) -> bytes | None:
    """Return a file's bytes; empty if the disk cannot read them, None if it is missing."""
    try:
        with _reading(path) as file:
            return file.read()
    except FileNotFoundError:
        return None
    return b""


def _opened(path: Path) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        if error.errno != EIO:
            raise
        # A file that the disk cannot even open is read as empty.
        return open(os.devnull, "rb")


@contextmanager
def _reading(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading; a disk read error ends the block.

    Other errors may be temporary, so they do not cause a file to be moved aside.
    """
    try:
        with _opened(path) as file:
            yield file
    except OSError as error:
        if error.errno != EIO:
            # After a read, the error does not name the file.
            error.filename = error.filename or os.fspath(path)
            raise
