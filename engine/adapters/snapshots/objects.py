"""Reads a repository's objects, and verifies them against their ids.

Git does not verify most of the objects that it reads, so a flipped bit on the disk could
change a user's file unnoticed.
"""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha1
from tempfile import TemporaryFile
from typing import IO

from ..git.command import Git, GitError


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
