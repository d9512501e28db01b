"""The commit that introduced a line of a file, as found by `git blame`.

The given text may be newer than every commit, so it is written to an additional commit in a
temporary object store. The repository is not changed, and git reads no file in the work
tree.
"""

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from .command import Git

_AUTHOR = b"sprintlog <sprintlog@localhost> 0 +0000"
_FILE, _FOLDER = b"100644", b"40000"


class LineOrigin(NamedTuple):
    """The origin of a line."""

    commit: str | None
    """The commit that introduced the line; None if the line is not committed."""
    path: str
    """The file's path in that commit."""
    line: int
    """The line number in that commit, from 1."""
    is_first: bool
    """Whether the history starts with that commit, so that the line may be older."""


class LineHistory:
    """A history that combines the repository's commits with temporary ones."""

    def __init__(self, git: Git, folder: Path, objects: Path) -> None:
        self._git = git
        self._own = folder
        self._variables = {
            "GIT_OBJECT_DIRECTORY": str(folder),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(objects),
        }

    def commit(self, tree: str, parents: Sequence[str], message: str = "") -> str:
        """Create a commit for an existing tree and return its id.

        Commits with the same tree and parents are distinct only if their messages differ.
        """
        lines = [b"tree " + tree.encode(), *(b"parent " + p.encode() for p in parents)]
        lines += [b"author " + _AUTHOR, b"committer " + _AUTHOR, b"", message.encode()]
        return self._write(b"commit", b"\n".join(lines))

    def origin(
        self, parents: Sequence[str], path: str, text: bytes, line: int
    ) -> LineOrigin:
        """Return the origin of a line in a file whose current contents are `text`."""
        named = path.encode("utf-8", "surrogateescape")
        now = self.commit(self._tree(named.split(b"/"), text), parents)
        said = self._git.run_in(
            self._git.folder,
            *("blame", "--line-porcelain", "-L", f"{line},{line}", now, "--", path),
            variables={**self._variables, "GIT_LITERAL_PATHSPECS": "1"},
        )
        head, *rest = said.split(b"\n")
        commit, before = head.decode().split()[:2]
        found = [one for one in rest if one.startswith(b"filename ")]
        name = _unquoted(found[0].removeprefix(b"filename ")) if found else path
        is_first = b"boundary" in rest
        return LineOrigin(None if commit == now else commit, name, int(before), is_first)

    def _tree(self, parts: Sequence[bytes], text: bytes) -> str:
        oid, mode = self._write(b"blob", text), _FILE
        for name in reversed(parts):
            entry = mode + b" " + name + b"\0" + bytes.fromhex(oid)
            oid, mode = self._write(b"tree", entry), _FOLDER
        return oid

    def _write(self, kind: bytes, content: bytes) -> str:
        whole = kind + b" %d\0" % len(content) + content
        oid = sha1(whole, usedforsecurity=False).hexdigest()
        file = self._own / oid[:2] / oid[2:]
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(zlib.compress(whole, 1))
        return oid


@contextmanager
def history(git: Git, objects: Path) -> Iterator[LineHistory]:
    """Yield a history of a repository, and remove its temporary commits afterwards."""
    with TemporaryDirectory(prefix="sprintlog-lines-") as name:
        yield LineHistory(git, Path(name), objects)


def trees_of(git: Git, names: Mapping[str, str]) -> dict[str, str]:
    """Return the tree ids by key, omitting missing trees.

    `names` maps each key to a git revision such as `COMMIT^{tree}`.
    """
    asked = "".join(f"{name}\n" for name in names.values()).encode()
    lines = git.run("cat-file", "--batch-check", given=asked).decode().splitlines()
    found = {}
    for key, line in zip(names, lines, strict=True):
        oid, _, kind = line.rpartition(" ")[0].partition(" ")
        if kind == "tree":
            found[key] = oid
    return found


def quoted(folder: Path) -> str:
    """Return a folder as an element of a path list, with colons escaped."""
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _unquoted(name: bytes) -> str:
    """Return a path from bytes, undoing the C-style quoting that git may have applied."""
    if name[:1] != b'"':
        return os.fsdecode(name)
    inner = name[1:-1].decode("latin-1").encode("latin-1").decode("unicode_escape")
    return os.fsdecode(inner.encode("latin-1"))
