"""The objects of a repository, read and compared with the ids that name them.

Git itself believes most of what it reads: a bit that turned over on the disk would come
back as somebody's file.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha1

from ..git.command import Git, GitError


class DamagedError(GitError):
    """An object is missing, or is not what was stored."""


class Objects:
    """Reads the objects of one repository, by a process that is asked for each."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, oid: str) -> tuple[str, bytes]:
        """Return an object's kind and content; raise `DamagedError`."""
        try:
            kind, content = self._ask(oid)
        except OSError:
            kind, content = "", b""
        if object_id(kind, content) == oid:
            return kind, content
        # It may have died of what it read; the next object has a new one.
        self.close()
        raise DamagedError(f"the bytes {oid} are missing or damaged", self._git.place)

    def blob(self, oid: str) -> bytes:
        """Return a file's bytes."""
        return self.read(oid)[1]

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.close()
        process.stdout.close()
        process.wait()

    def _ask(self, oid: str) -> tuple[str, bytes]:
        if self._process is None:
            call = ("cat-file", "--batch")
            self._process = self._git.start(*call, stderr=subprocess.DEVNULL)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{oid}\n".encode())
        process.stdin.flush()
        head = process.stdout.readline().split()
        if len(head) != 3:
            return "", b""
        return head[1].decode(), process.stdout.read(int(head[2]) + 1)[:-1]


@contextmanager
def blobs_of(git: Git) -> Iterator[Callable[[str], bytes]]:
    """Give a function from ids to bytes of a repository, for as long as this is held."""
    with closing(Objects(git)) as objects:
        yield objects.blob


def object_id(kind: str, content: bytes) -> str:
    """Return the id that git gives to an object."""
    head = b"%s %d\0" % (kind.encode(), len(content))
    return sha1(head + content, usedforsecurity=False).hexdigest()
