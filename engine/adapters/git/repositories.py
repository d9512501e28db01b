"""Finds repositories and git directories by git's own rules, without running git."""

import os
import re
from pathlib import Path

import msgspec

from ... import hashes
from ...log.stores.descriptors import read_whole

_POINTER_BYTES_MAX = 4096
_CONFIG_BYTES_MAX = 1 << 20


class GitRepository(msgspec.Struct, frozen=True):
    """A work tree's root, its git directory, and the directory shared by work trees."""

    top: Path
    directory: Path
    common: Path


def repository_around(folder: Path) -> GitRepository | None:
    """Return the repository that contains a folder, or None."""
    for top in (folder, *folder.parents):
        if (directory := git_directory(top / ".git")) is not None:
            return GitRepository(top, directory, common_directory(directory))
    return None


def git_directory(git: Path) -> Path | None:
    """Return the git directory that a `.git` folder or file refers to, or None."""
    try:
        if git.is_file():
            text = read_whole(git, at_most=_POINTER_BYTES_MAX)
            said = text.decode(errors="surrogateescape")
            if not said.startswith("gitdir:"):
                return None
            git = git.parent / said.removeprefix("gitdir:").strip()
        is_one = (git / "HEAD").exists() or (git / "HEAD").is_symlink()
        common = common_directory(git)
        whole = is_one and (common / "objects").is_dir() and (common / "refs").is_dir()
    except (OSError, ValueError):
        return None
    return git if whole else None


def common_directory(directory: Path) -> Path:
    """Return the git directory shared by a repository's linked work trees."""
    pointer = directory / "commondir"
    if not pointer.is_file():
        return directory
    named = read_whole(pointer, at_most=_POINTER_BYTES_MAX)
    return directory / named.decode(errors="surrogateescape").strip()


def checked_out(directory: Path) -> str:
    """Return a digest that identifies the commit checked out in a git directory.

    The files may contain arbitrary data, so only a digest is returned.
    """
    head = _content(directory / "HEAD").strip()
    name = os.fsdecode(head.removeprefix(b"ref: "))
    if head.startswith(b"ref: refs/") and ".." not in name:
        common = common_directory(directory)
        packed = _content(common / "packed-refs").splitlines()
        of_name = (line for line in packed if line.endswith(b" " + os.fsencode(name)))
        head = _content(directory / name) or _content(common / name) or next(of_name, head)
    return hashes.sha256(head.split(b" ")[0].strip()).hexdigest()


def linked_directory(git: Path) -> Path | None:
    """Return the git directory named by a `.git` file, if it refers back to this tree.

    A linked work tree's git directory names the `.git` file, and a submodule's git
    directory names the tree; without such a reference, the directory was not created for
    this tree.
    """
    if (found := git_directory(git)) is None:
        return None
    directory, common = found.resolve(), common_directory(found).resolve()
    if directory != common:
        is_ones = directory.parent == common / "worktrees"
        back = directory / os.fsdecode(_content(directory / "gitdir")).strip()
        return directory if is_ones and back.resolve() == git.resolve() else None
    said = re.search(
        rb'(?mi)^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$', _content(directory / "config")
    )
    tree = said and (directory / os.fsdecode(said[1])).resolve()
    return directory if tree == git.parent.resolve() else None


def _content(file: Path) -> bytes:
    return read_whole(file, at_most=_CONFIG_BYTES_MAX) if file.is_file() else b""
