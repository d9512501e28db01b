"""Untrusted repositories, read by git without their configuration.

A repository's configuration names programs in many places (monitors, hooks, pagers,
signatures, promisor remotes, filters, included files), and each version of git adds more.
Therefore, git runs in a temporary git directory with sprintlog's own configuration and with
links to the repository's objects and references.
"""

import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...errors import RefusedError, SprintlogError
from ...log.stores.descriptors import read_whole
from .command import PERSONS_OWN, Git, GitError
from .repositories import GitRepository, repository_around

SECONDS_MAX = 60.0
"""The time limit for git, because a file in the repository may be a pipe."""
_BYTES_MAX = 1 << 20
_OWN = ("index", "logs")
_SHARED = ("objects", "packed-refs", "refs", "reftable", "shallow")
_FORMATS = (("objectformat", "sha256"), ("refstorage", "reftable"))


class UntrustedGit(Git):
    """Runs git commands on a repository's contents without changing them."""

    place = "the repository"
    purpose = "a repository is read with git"

    def __init__(
        self, folder: Path, environment: Mapping[str, str], repository: GitRepository
    ) -> None:
        super().__init__(folder, environment)
        self.repository = repository

    def read(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return git's output for a query about the history.

        Paths are relative to the tree's root. Raise `RefusedError` if git fails, because
        the repository may be damaged.
        """
        try:
            return self.run_in(self.folder, *arguments, given=given, seconds=SECONDS_MAX)
        except GitError as error:
            raise RefusedError(error.message) from error

    def read_tree(self, *arguments: str) -> bytes:
        """Return git's output for a query about the work tree, using the user's settings.

        Paths are taken literally, not as patterns.
        """
        top = self.repository.top
        return self.run_in(
            top,
            *arguments,
            settings=["core.bare=false"],
            variables={
                **PERSONS_OWN,
                "GIT_LITERAL_PATHSPECS": "1",
                "GIT_WORK_TREE": str(top),
            },
            seconds=SECONDS_MAX,
        )


@contextmanager
def borrowed(
    repository: GitRepository, environment: Mapping[str, str]
) -> Iterator[UntrustedGit]:
    """Yield an `UntrustedGit` for a repository's history, index and ignore rules."""
    directory, common = repository.directory.resolve(), repository.common.resolve()
    with tempfile.TemporaryDirectory(prefix="sprintlog-git-") as made:
        ours = Path(made)
        (ours / "HEAD").write_bytes(_head(directory))
        (ours / "config").write_text(_config(common))
        theirs = [directory / name for name in _OWN]
        theirs += [common / name for name in _SHARED]
        theirs += directory.glob("sharedindex.*")
        for path in theirs:
            if path.is_file() or path.is_dir():
                (ours / path.name).symlink_to(path)
        exclude = common / "info" / "exclude"
        if exclude.is_file():
            (ours / "info").mkdir()
            (ours / "info" / "exclude").symlink_to(exclude)
        yield UntrustedGit(ours, environment, repository)


def _head(directory: Path) -> bytes:
    head = directory / "HEAD"
    # In old repositories, it is a link to the branch's file.
    if head.is_symlink():
        return b"ref: " + bytes(head.readlink()) + b"\n"
    return read_whole(head, at_most=4096) if head.is_file() else b""


def _config(common: Path) -> str:
    """Return sprintlog's git configuration, plus the repository's storage formats."""
    said = ""
    if (common / "config").is_file():
        said = read_whole(common / "config", at_most=_BYTES_MAX).decode("latin-1")
    found = [
        f"{name} = {value}"
        for name, value in _FORMATS
        if re.search(rf'(?im)^\s*{name}\s*=\s*"?{value}\b', said)
    ]
    version = f"repositoryformatversion = {int(bool(found))}"
    return "\n".join(["[core]", "bare = true", version, "[extensions]", *found, ""])


class RepositoryState(NamedTuple):
    """A repository's commit, and whether its work tree has changes."""

    head: str | None
    is_dirty: bool | None


def repository_state(
    folder: Path,
    environment: Mapping[str, str],
    *,
    but: Callable[[], Collection[str]] | None = None,
) -> RepositoryState | None:
    """Return the state of the repository that contains a folder.

    Return None if there is no repository or git is not installed. `but` returns paths,
    relative to the folder, of files and folders whose changes are ignored; it is called
    only if there is a repository.
    """
    if (repository := repository_around(folder)) is None:
        return None
    try:
        with borrowed(repository, environment) as git:
            head = _answer(git.read, "rev-parse", "--verify", "--quiet", "HEAD")
            every = ["--untracked-files=all", "--no-renames"] if but else []
            found = _answer(git.read_tree, "status", "--porcelain", "-z", *every)
            own = _from(repository.top, folder, but() if but else ())
    except (SprintlogError, OSError):
        return None
    dirty = None if found is None else any(_is_other(x, own) for x in found.split("\0"))
    return RepositoryState(head or None, dirty)


def _from(top: Path, folder: Path, names: Collection[str]) -> tuple[str, ...]:
    """Return the names, relative to a folder, as paths relative to the work tree's root."""
    below = folder.resolve().relative_to(top.resolve())
    return tuple((below / name).as_posix() for name in names)


def _is_other(line: str, own: tuple[str, ...]) -> bool:
    """Return whether a `git status` line names a path other than the given ones."""
    # Two letters state the type of change.
    path = line[3:].rstrip("/")
    return bool(path) and not any(
        path == name or path.startswith(f"{name}/") for name in own
    )


def _answer(ask: Callable[..., bytes], *arguments: str) -> str | None:
    try:
        return ask(*arguments).decode(errors="surrogateescape").strip("\n")
    except SprintlogError:
        return None
