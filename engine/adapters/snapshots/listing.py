"""The files of a work tree, found without following anything out of it.

Each folder is opened from the one above it, so that one which becomes a link in the
meantime leads nowhere. Nothing is read here but names and what the system says of them.
"""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...errors import RefusedError
from ...log.stores.descriptors import give_back
from ..folders import FOLDER, is_gits_own, opened
from ..git.repositories import (
    checked_out,
    common_directory,
    git_directory,
    repository_around,
)
from .entries import LeftOut, Listing, mark_of, parents_of, stat_of
from .ignored import matcher, may_lead_to

NESTED = "a repository of its own"
OTHER_TREE = "another work tree of this repository"
SPECIAL = "neither file, link nor folder"
GITS_OWN = "named like git's own folder"
TOO_DEEP = "too many folders deep"
TOO_MANY = "more files than a snapshot takes"
DEPTH_MAX = 250
_REFUSALS = (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class WantedPaths(NamedTuple):
    """What of a tree is to be listed."""

    unseen: frozenset[str] = frozenset()
    """What git ignores; folders end with a slash."""
    patterns: Sequence[str] = ()
    """Ignored files that are taken all the same."""
    also: frozenset[str] = frozenset()
    """Paths that are taken whatever is said of them."""
    without: frozenset[tuple[int, int]] = frozenset()
    """Folders that are left alone, by device and inode."""
    files_max: int = 1_000_000
    own: frozenset[str] = frozenset()
    """Files and folders of ours, which are nobody's work; `also` goes before."""


def list_tree(root: Path, wanted: WantedPaths) -> Listing:
    """Return what stands below a root."""
    lister = _Lister(root, wanted)
    with opened(root) as descriptor:
        lister.walk(descriptor, "", depth=0, is_taken=True)
    return lister.found


def refusal(path: str, error: OSError) -> str:
    """Return why something cannot be read; raise `RefusedError` where the disk failed.

    What is left out for a reason is one thing, what nobody can tell another.
    """
    if error.errno not in _REFUSALS:
        raise RefusedError(
            f"{os.fsencode(path).decode(errors='backslashreplace')}: cannot be read: "
            f"{error.strerror}",
            hint="nothing was changed",
        ) from error
    return f"cannot be read: {error.strerror}"


class _Lister:
    """Walks one tree."""

    def __init__(self, root: Path, wanted: WantedPaths) -> None:
        self.found = Listing({}, {}, [], [], {})
        self._root = root
        self._wanted = wanted
        self._matches = matcher(wanted.patterns)
        self._on_the_way = {
            path[:at] for path in wanted.also for at, c in enumerate(path) if c == "/"
        }
        self._hold_own = parents_of(wanted.own)

    def walk(self, descriptor: int, prefix: str, *, depth: int, is_taken: bool) -> bool:
        """List an open folder, unless it is a repository of its own; return whether.

        Of one that git ignores only what is asked for is listed.
        """
        with os.scandir(descriptor) as listed:
            entries = list(listed)
        if gits := {entry.name for entry in entries if is_gits_own(entry.name)}:
            inner_git = git_directory(self._root / prefix / ".git") if prefix else None
            if inner_git is not None:
                self._leave_repository(prefix.rstrip("/"), inner_git)
                return False
            # The tree's own repository is not worth a word.
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
                continue  # It is gone since.
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
        """List a folder within an open one."""
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
                # A folder that only we have made is not theirs either.
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
        folded = {name.casefold() for name in names}
        if len(folded) == len(names):
            return
        alike: dict[str, list[str]] = {}
        for name in names:
            alike.setdefault(name.casefold(), []).append(prefix + name)
        self.found.collisions.extend(sorted(v) for v in alike.values() if len(v) > 1)

    def _leave_repository(self, path: str, directory: Path) -> None:
        own = repository_around(self._root)
        is_ours = own and common_directory(directory).resolve() == own.common.resolve()
        self._leave(path, OTHER_TREE if is_ours else NESTED)
        self.found.marks[path] = checked_out(directory)

    def _leave(self, path: str, reason: str, at: os.stat_result | None = None) -> None:
        self.found.left_out.append(LeftOut(path, reason))
        if at is not None:
            self.found.marks[path] = mark_of(stat_of(at))
