"""All committed versions of a file, on every branch that led to the current version.

Git's own rename detection stops where histories diverge, and follows any similar file.
This module therefore lists all commits that touch a path. At the commit that created the
file, it searches the removed or changed files for an earlier name. The caller decides
whether two versions are of the same document.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from msgspec import Struct

from sprintlog.engine.adapters.git.repositories import repository_around
from sprintlog.engine.adapters.git.untrusted import UntrustedGit, borrowed
from sprintlog.engine.errors import InvalidInputError, RefusedError

IsSame = Callable[[bytes, bytes], bool]
"""Returns whether an older text and a newer one are the same document."""

TRAILER = "Sprintlog-Iteration"
NOTES = "refs/notes/sprintlog"
_SAYS = re.compile(rf"^{TRAILER}: *(?:(\S+)/)?(\d{{1,9}}) *$", re.MULTILINE | re.ASCII)
CANDIDATES_MAX = 200
"""The maximum number of removed or changed files that are examined per commit."""
_ENDINGS = (".yaml", ".yml")
_REV_LIST = (
    *("rev-list", "--full-history", "--parents"),
    *("--author-date-order", "--reverse"),
)


class Blob(NamedTuple):
    """The id and size of a git blob."""

    name: str
    size: int


class Committed(NamedTuple):
    """A version of a file that a commit introduced."""

    commit: str
    path: str
    """The file's path from the top of the repository at that time."""
    blob: Blob
    authored_at: str
    committed_at: str
    is_choice: bool = False
    """Whether a merge chose this version from one of its parents."""


class CommittedFile:
    """The git history of a file, whether or not it still exists."""

    def __init__(self, git: UntrustedGit, path: str, *, bytes_max: int) -> None:
        self._git = git
        self._path = path
        self._bytes_max = bytes_max

    def versions(self, is_same: IsSame) -> list[Committed]:
        """Return all versions, oldest first; raise `RefusedError` if there are none.

        A version is content that differs from the content in all parents of its commit.
        Restored content is a new version, and so is the side chosen by the final merge if
        the other side was newer.
        """
        found: dict[tuple[str, str], Committed] = {}
        waiting = [("HEAD", self._path)]
        asked = set()
        while waiting:
            start, path = waiting.pop()
            if (start, path) in asked:
                continue
            asked.add((start, path))
            for version, is_new in self._at_path(start, path):
                if (version.commit, path) in found:
                    continue
                found[version.commit, path] = version
                if is_new:
                    waiting += self._names_before(version, is_same)
        if not found:
            raise RefusedError("git has no committed version of this file")
        versions = self._in_order(list(found.values()))
        made = [version for version in versions if not version.is_choice]
        last = versions[-1]
        stands = last.is_choice and [last.blob] != [one.blob for one in made[-1:]]
        return [*made, last] if stands else made

    @property
    def is_cut(self) -> bool:
        """Return whether the repository is a shallow clone, which lacks older history."""
        return (self._git.folder / "shallow").is_file()

    def content(self, version: Committed) -> bytes:
        """Return a version's content; raise `InvalidInputError` if it is too long."""
        return self._content(version.blob, f"{version.path}@{version.commit[:12]}")

    def is_text_of(self, version: Committed, content: bytes) -> bool:
        """Return whether a version contains exactly these bytes."""
        return version.blob.size == len(content) and self.content(version) == content

    def _content(self, blob: Blob, called: str) -> bytes:
        if blob.size > self._bytes_max:
            raise InvalidInputError(
                f"is too large; at most {self._bytes_max} bytes are allowed", file=called
            )
        return self._git.read("cat-file", "blob", blob.name)

    def _at_path(self, start: str, path: str) -> Iterator[tuple[Committed, bool]]:
        """Yield each version at a path, and whether the file is missing in all parents."""
        told = self._ask(
            *_REV_LIST, "--format=%aI %cI", start, "--", f":(literal){path}"
        ).split("\n")
        # In this listing, a commit's parents are its nearest ancestors that touch the path.
        commits = {}
        for head, dates in zip(told[::2], told[1::2], strict=False):
            _, name, *parents = head.split(" ")
            commits[name] = parents, dates.split(" ")
        blobs = self._blobs((name, path) for name in commits)
        there = dict(zip(commits, blobs, strict=True))
        for name, (parents, (authored_at, committed_at)) in commits.items():
            if (blob := there[name]) is None:
                self._check_gone(name, path)
                continue
            before = [there.get(parent) for parent in parents]
            is_choice = len(before) > 1 and blob in before
            if is_choice or blob not in before:
                version = Committed(name, path, blob, authored_at, committed_at, is_choice)
                yield version, not any(before)

    def _check_gone(self, commit: str, path: str) -> None:
        """Raise `RefusedError` if a commit contains the file but its blob is missing."""
        entry = self._ask("ls-tree", "--full-tree", "-z", commit, "--", path)
        if entry.split(" ", 2)[1:2] == ["blob"]:
            raise RefusedError(
                f"the repository does not contain {path}@{commit[:12]}: it is damaged or "
                "a partial clone",
                hint="run `git fetch --refetch --no-filter` to fetch the missing objects",
            )

    def _blobs(self, wanted: Iterable[tuple[str, str]]) -> list[Blob | None]:
        """Return the blob of each file in a commit, or None if there is no such file."""
        names = "".join(f"{commit}:{path}\n" for commit, path in wanted)
        answer = self._ask("cat-file", "--batch-check", given=names)
        found: list[Blob | None] = []
        for line in answer.split("\n")[:-1]:
            # For a missing object, git prints the requested name, which may be any text.
            name, _, rest = line.partition(" blob ")
            is_blob = rest.isdecimal() and ":" not in name
            found.append(Blob(name, int(rest)) if is_blob else None)
        return found

    def _names_before(
        self, version: Committed, is_same: IsSame
    ) -> Iterator[tuple[str, str]]:
        """Yield possible origins of a new file: a parent commit, and the path in it."""
        if version.blob.size > self._bytes_max:
            return
        _, *parents = self._ask("rev-list", "--parents", "-n1", version.commit).split()
        content = self.content(version)
        for parent in parents:
            for path in self._gone(parent, version):
                old, new = self._blobs([(parent, path), (version.commit, path)])
                if old is None or old.size > self._bytes_max:
                    continue
                stayed = new is not None and new.size <= self._bytes_max
                if is_same(self._content(old, path), content) and not (
                    # The old file still exists with the same document, so the new file is a
                    # copy.
                    new and stayed and is_same(self._content(new, path), content)
                ):
                    yield parent, path
                    break

    def _gone(self, parent: str, version: Committed) -> list[str]:
        """Return the files that a commit removed or changed, likeliest origin first."""
        changes = self._ask(
            "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames",
            "--diff-filter=DM", parent, version.commit,
        )  # fmt: skip
        fields = changes.split("\0")
        name = PurePosixPath(version.path).name
        endings = {*_ENDINGS, PurePosixPath(name).suffix}
        ranked = []
        for change, path in zip(fields[::2], fields[1::2], strict=False):
            called = PurePosixPath(path)
            if "\n" in path or (called.name != name and called.suffix not in endings):
                continue
            _, _, blob, _, _ = change.split(" ")
            ranked.append(((blob != version.blob.name, called.name != name, path), path))
        return [path for _, path in sorted(ranked)[:CANDIDATES_MAX]]

    def _in_order(self, versions: list[Committed]) -> list[Committed]:
        """Sort versions by history, and parallel versions by author date."""
        paths = [f":(literal){path}" for path in {v.path: None for v in versions}]
        order = self._ask(*_REV_LIST, "HEAD", "--", *paths).split("\n")
        place = {line.partition(" ")[0]: index for index, line in enumerate(order)}
        return sorted(versions, key=lambda version: place[version.commit])

    def _ask(self, *arguments: str, given: str = "") -> str:
        return os.fsdecode(self._git.read(*arguments, given=os.fsencode(given)))


@contextmanager
def committed_file(
    file: Path, environment: Mapping[str, str], *, bytes_max: int
) -> Iterator[CommittedFile]:
    """Yield a file's git history; raise `RefusedError` if no repository contains it."""
    real = Path(os.path.realpath(file))
    folder = next(above for above in real.parents if above.is_dir())
    repository = repository_around(folder)
    if repository is None:
        raise RefusedError(f"cannot read the history: {folder} is not a git repository")
    path = real.relative_to(repository.top).as_posix()
    if "\n" in path:
        raise RefusedError("the name contains a line break, which is not supported")
    with borrowed(repository, environment) as git:
        yield CommittedFile(git, path, bytes_max=bytes_max)


class CommitAnswer(Struct, frozen=True):
    """A git commit, whose author did not necessarily write its lines."""

    id: str
    author: str
    subject: str


def commits_seen(git: UntrustedGit, *which: str) -> list[CommitAnswer]:
    """Return at most 20 commits, newest first, selected by `git log` arguments."""
    form = "--format=%x00%H%x00%an <%ae>%x00%s"
    said = git.read("log", "--max-count=20", "--no-show-signature", form, *which)
    parts = [p.strip("\n") for p in said.decode(errors="backslashreplace").split("\0")[1:]]
    return [CommitAnswer(*parts[n : n + 3]) for n in range(0, len(parts), 3)]


def said_of(git: UntrustedGit, commit: str, sprint_id: str) -> int | None:
    """Return the iteration named by a commit's trailer or note, without verifying it."""
    message = git.read("show", "-s", "--format=%B", commit)
    if git.read("for-each-ref", "--format=%(refname)", NOTES).strip():
        known = git.read("notes", f"--ref={NOTES}", "list").decode().splitlines()
        note = next((line.split()[0] for line in known if line.endswith(commit)), None)
        if note is not None:
            message += b"\n" + git.read("cat-file", "blob", note)
    for sprint, number in reversed(_SAYS.findall(message.decode(errors="replace"))):
        if sprint in ("", sprint_id):
            return int(number)
    return None
