"""Where a repository stands: its commit, and whether the work tree differs from it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from ...errors import SprintlogError
from .borrowed import borrowed
from .repositories import repository_around


class RepositoryState(NamedTuple):
    """What is known of a repository at one moment."""

    head: str | None
    is_dirty: bool | None


def repository_state(
    folder: Path, environment: Mapping[str, str]
) -> RepositoryState | None:
    """Return where the repository around a folder stands; None without one, or git."""
    repository = repository_around(folder)
    if repository is None:
        return None
    try:
        with borrowed(repository, environment) as git:
            head = _answer(git.read, "rev-parse", "--verify", "--quiet", "HEAD")
            dirty = _answer(git.read_tree, "status", "--porcelain", "-z")
    except (SprintlogError, OSError):
        return None
    return RepositoryState(head or None, None if dirty is None else dirty != "")


def _answer(ask: Callable[..., bytes], *arguments: str) -> str | None:
    try:
        return ask(*arguments).decode(errors="replace").strip()
    except SprintlogError:
        return None
