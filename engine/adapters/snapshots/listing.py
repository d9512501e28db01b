"""Lists a work tree's files, except those that git ignores.

Each folder is opened relative to its parent, so that a folder replaced by a link cannot
lead out of the tree; only names and stats are read. Git determines the ignored files from
the tree's `.gitignore` files and index, but with a separate git directory, so that no
setting of the tree's repository takes effect.
"""

import errno
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import RefusedError
from ...log.stores.descriptors import give_back
from ..folders import FOLDER, is_gits_own, opened
from ..git import repositories
from ..git.command import PERSONS_OWN, Git, GitError
from .entries import LeftOut, Listing, mark_of, parents_of, stat_of

NO_LIST = "the list of tracked files could not be read: ignored ones are missing"
SECONDS_MAX = 60.0
"""The time limit for git: an index that is a pipe would block it forever."""
_SEGMENT = {"*": "[^/]*", "?": "[^/]"}
NESTED = "a repository of its own"  # idiom: ok, recorded
OTHER_TREE = "another work tree of this repository"
SPECIAL = "neither file, link nor folder"
GITS_OWN = "named like git's own folder"
TOO_DEEP = "too many folders deep"
TOO_MANY = "more files than a snapshot takes"
DEPTH_MAX = 250
_REFUSALS = (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


def unseen(git: Git, root: Path) -> tuple[frozenset[str], str | None]:
    """Return the paths below a root that git ignores, and a problem or None.

    Paths of folders end with a slash. A tracked file is never ignored. If the list of
    tracked files cannot be read, the problem states the reason.
    """
    top, index, exclude, objects = _repository(root)
    call = ["ls-files", "-z", "--others", "--ignored", "--directory", "--exclude-standard"]
    call += [f"--exclude-from={exclude}"] if exclude is not None else []

    def ignored(tracked: Path, **more: str) -> frozenset[str]:
        # The user's and the machine's global excludes are in their git settings.
        places = {"GIT_WORK_TREE": str(top), "GIT_INDEX_FILE": str(tracked), **more}
        listed = git.run_in(
            root,
            *call,
            settings=["core.bare=false"],
            variables={**PERSONS_OWN, **places},
            seconds=SECONDS_MAX,
        )
        return frozenset(map(os.fsdecode, filter(None, listed.split(b"\0"))))

    none = git.folder / "none"
    try:
        return ignored(index or none), None
    except GitError:
        if index is None:
            raise
    try:
        # A sparse index names folders; git finds their files in the objects.
        return ignored(index, GIT_ALTERNATE_OBJECT_DIRECTORIES=str(objects)), None
    except GitError:
        # A split index, or one of another format, depends on further files.
        return ignored(none), f"{NO_LIST} ({index})"


def matcher(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """Return a regular expression for path patterns, or None if there are none.

    A pattern is a path from the root; `*` and `?` match within a single name, `**` matches
    any number of folders, and a folder's name matches everything in the folder.
    """
    made = "|".join(f"(?:{_translated(pattern)}(?:/.*)?)" for pattern in patterns)
    return re.compile(made, re.DOTALL) if made else None


def may_lead_to(patterns: Iterable[str], folder: str) -> bool:
    """Return whether any path in a folder could match one of the patterns."""
    depth = folder.count("/") + 1
    for pattern in patterns:
        parts = pattern.strip("/").split("/")
        open_end = "**" in parts[:depth]
        begin = "/".join(parts[: parts.index("**")] if open_end else parts[:depth])
        if not begin or re.fullmatch(_translated(begin) + "(?:/.*)?", folder, re.DOTALL):
            return True
    return False


def _translated(pattern: str) -> str:
    made = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?)", pattern.strip("/")):
        if part == "**/":
            made += "(?:[^/]+/)*"
        elif part == "**":
            made += ".*"
        else:
            made += _SEGMENT.get(part) or re.escape(part)
    return made


def _repository(root: Path) -> tuple[Path, Path | None, Path | None, Path | None]:
    """Return the work tree around a root, with its index, exclude file and objects."""
    found = repositories.repository_around(root)
    if found is None:
        return root, None, None, None
    index, exclude = found.directory / "index", found.common / "info" / "exclude"
    return (
        found.top,
        index if index.is_file() else None,
        exclude if exclude.is_file() else None,
        found.common / "objects",
    )


class WantedPaths(NamedTuple):
    """The criteria for including a tree's files."""

    unseen: frozenset[str] = frozenset()
    """Paths that git ignores; folders end with a slash."""
    patterns: Sequence[str] = ()
    """Patterns of ignored files that are included nevertheless."""
    also: frozenset[str] = frozenset()
    """Paths that are always included."""
    without: frozenset[tuple[int, int]] = frozenset()
    """Folders that are skipped, by device and inode."""
    files_max: int = 1_000_000
    own: frozenset[str] = frozenset()
    """Sprintlog's files and folders, which are excluded unless they are in `also`."""


def list_tree(root: Path, wanted: WantedPaths) -> Listing:
    """Return the listing of the files below a root."""
    lister = _Lister(root, wanted)
    with opened(root) as descriptor:
        lister.walk(descriptor, "", depth=0, is_taken=True)
    return lister.found


def refusal(path: str, error: OSError) -> str:
    """Return the reason why a file is unreadable; raise `RefusedError` for a disk failure.

    A file without read permission is omitted, but a disk error makes the listing
    unreliable.
    """
    if error.errno not in _REFUSALS:
        raise RefusedError(
            f"{os.fsencode(path).decode(errors='backslashreplace')}: cannot be read: "
            f"{error.strerror}",
            hint="nothing was changed",
        ) from error
    return f"cannot be read: {error.strerror}"


class _Lister:
    """Lists the files in one tree."""

    def __init__(self, root: Path, wanted: WantedPaths) -> None:
        self.found = Listing({}, {}, [], [], {})
        self._root = root
        self._wanted = wanted
        self._matches = matcher(wanted.patterns)
        self._on_the_way = parents_of(wanted.also)
        self._hold_own = parents_of(wanted.own)

    def walk(self, descriptor: int, prefix: str, *, depth: int, is_taken: bool) -> bool:
        """List an open folder and return True, or return False if it is a repository.

        In an ignored folder, only requested files are listed.
        """
        with os.scandir(descriptor) as listed:
            entries = list(listed)
        if gits := {entry.name for entry in entries if is_gits_own(entry.name)}:
            inner_git = (
                repositories.git_directory(self._root / prefix / ".git") if prefix else None
            )
            if inner_git is not None:
                self._leave_repository(prefix.rstrip("/"), inner_git)
                return False
            # The tree's own repository is not reported.
            for name in sorted(gits if prefix else gits - {".git"}):
                self._leave(prefix + name, GITS_OWN)
            entries = [entry for entry in entries if entry.name not in gits]
        names = [entry.name for entry in entries]
        self._compare(prefix, names)
        files, unseen = self.found.files, self._wanted.unseen
        is_full = len(files) + len(names) > self._wanted.files_max
        inner = []
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # The file was removed in the meantime.
            path = prefix + entry.name
            if path in self._wanted.own and not (
                path in self._wanted.also or path in self._on_the_way
            ):
                continue
            mode = status.st_mode
            kind = mode & 0o170000
            if kind == 0o040000:
                inner.append((path, entry.name, status))
            elif (not is_taken or path in unseen) and not self._is_asked_for(path):
                continue
            elif kind not in (0o100000, 0o120000):
                self._leave(path, SPECIAL, status)
            elif is_full:
                self._leave(path, TOO_MANY, status)
            else:
                files[path] = (mode, status.st_size, status.st_ctime_ns, status.st_ino)
        for path, name, status in inner:
            self._enter(descriptor, path, name, status, depth, is_taken=is_taken)
        return True

    def _enter(
        self,
        descriptor: int,
        path: str,
        name: str,
        status: os.stat_result,
        depth: int,
        *,
        is_taken: bool,
    ) -> None:
        """List a folder inside an open folder."""
        if (status.st_dev, status.st_ino) in self._wanted.without:
            return
        is_taken = is_taken and f"{path}/" not in self._wanted.unseen
        if not is_taken and not (
            path in self._on_the_way or may_lead_to(self._wanted.patterns, path)
        ):
            return
        if depth >= DEPTH_MAX:
            self._leave(path, TOO_DEEP, status)
            return
        try:
            inner = os.open(name, FOLDER, dir_fd=descriptor)
        except OSError as error:
            self._leave(path, refusal(path, error), status)
            return
        known = len(self.found.files)
        try:
            if not self.walk(inner, f"{path}/", depth=depth + 1, is_taken=is_taken):
                return
            if len(self.found.files) > known or (
                # A folder that only sprintlog created is excluded as well.
                is_taken and path not in self._hold_own
            ):
                self.found.folders[path] = status.st_mode & 0o777
        except OSError as error:
            self._leave(path, refusal(path, error), status)
        finally:
            give_back(inner)

    def _is_asked_for(self, path: str) -> bool:
        if path in self._wanted.also:
            return True
        return self._matches is not None and self._matches.fullmatch(path) is not None

    def _compare(self, prefix: str, names: list[str]) -> None:
        if len({name.casefold() for name in names}) == len(names):
            return
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(name.casefold(), []).append(prefix + name)
        self.found.collisions.extend(sorted(v) for v in alike.values() if len(v) > 1)

    def _leave_repository(self, path: str, directory: Path) -> None:
        own = repositories.repository_around(self._root)
        is_ours = (
            own
            and repositories.common_directory(directory).resolve() == own.common.resolve()
        )
        self._leave(path, OTHER_TREE if is_ours else NESTED)
        self.found.marks[path] = repositories.checked_out(directory)

    def _leave(self, path: str, reason: str, at: os.stat_result | None = None) -> None:
        self.found.left_out.append(LeftOut(path, reason))
        if at is not None:
            self.found.marks[path] = mark_of(stat_of(at))
