"""Where a repository stands: its commit, and whether the work tree differs from it."""

from collections.abc import Callable, Collection, Mapping
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
    folder: Path,
    environment: Mapping[str, str],
    *,
    but: Callable[[], Collection[str]] | None = None,
) -> RepositoryState | None:
    """Return where the repository around a folder stands; None without one, or git.

    With `but` what differs in these files and folders, named from the folder, is no
    difference; it is asked only where there is a repository.
    """
    repository = repository_around(folder)
    if repository is None:
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
    """Return names below a folder as git has them: from the root of its tree."""
    below = folder.resolve().relative_to(top.resolve())
    return tuple((below / name).as_posix() for name in names)


def _is_other(line: str, own: tuple[str, ...]) -> bool:
    """Tell whether a line of `git status` names something but these files and folders."""
    # Two letters say how it differs.
    path = line[3:].rstrip("/")
    return bool(path) and not any(
        path == name or path.startswith(f"{name}/") for name in own
    )


def _answer(ask: Callable[..., bytes], *arguments: str) -> str | None:
    try:
        return ask(*arguments).decode(errors="surrogateescape").strip("\n")
    except SprintlogError:
        return None
