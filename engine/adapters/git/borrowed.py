"""A repository that may be anybody's, read by git without a setting of its own.

Its configuration names programs in many places (monitors, hooks, pagers, signatures,
remotes that are asked for what is missing, filters, files to include), and every version
of git adds some. So git never sees it: it is given a git directory of ours that holds
links to what can be read of theirs, and no configuration but ours.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...errors import RefusedError
from ...log.stores.descriptors import read_whole
from .command import PERSONS_OWN, Git, GitError
from .repositories import GitRepository

SECONDS_MAX = 60.0
"""How long git may read: what a repository holds may be a pipe."""
_BYTES_MAX = 1 << 20
_OWN = ("index", "logs")
_SHARED = ("objects", "packed-refs", "refs", "reftable", "shallow")
_FORMATS = (
    ("objectformat", "sha256"),
    ("refstorage", "reftable"),
)


class Borrowed(Git):
    """Calls git on what a repository holds; nothing of it is changed."""

    place = "the repository"
    purpose = "a repository is read with git"

    def __init__(
        self, folder: Path, environment: Mapping[str, str], repository: GitRepository
    ) -> None:
        super().__init__(folder, environment)
        self.repository = repository

    def read(self, *arguments: str, given: bytes = b"") -> bytes:
        """Return what git says of the history; paths are those from the tree's root.

        Raise `RefusedError` where it fails: a repository is not ours to be whole.
        """
        try:
            return self.run_in(self.folder, *arguments, given=given, seconds=SECONDS_MAX)
        except GitError as error:
            raise RefusedError(error.message) from error

    def read_tree(self, *arguments: str) -> bytes:
        """Return what git says of the work tree, as the person's own settings have it.

        Paths are names, no patterns.
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
) -> Iterator[Borrowed]:
    """Give what calls git on a repository's history, index and list of ignored files."""
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
        yield Borrowed(ours, environment, repository)


def _head(directory: Path) -> bytes:
    head = directory / "HEAD"
    # Long ago it was a link to the branch's own file.
    if head.is_symlink():
        return b"ref: " + bytes(head.readlink()) + b"\n"
    return read_whole(head, at_most=4096) if head.is_file() else b""


def _config(common: Path) -> str:
    """Return our configuration: of theirs, it has what says how things are stored."""
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
