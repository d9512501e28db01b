"""The identity of a work tree: a random id in a file in its private git directory.

The file also contains its own inode, which reveals copies of the file, and, for display,
the work tree's host and path. A work tree outside git has the file in its log's folder.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from ... import hashes
from ...adapters.folders import opened_plain
from ...adapters.git.repositories import linked_directory
from ...errors import InvalidInputError, RefusedError, SprintlogError
from ...log.port import Entropy
from ...log.stores.descriptors import held_open, write_whole
from ...sprint.state.knowledge import NamesTree, WorkTree
from ...sprint.state.sprint import Sprint
from .location import HIDDEN, Location

FILE = "sprintlog-tree"
KNOWN = "trees"
"""The subfolder of a log's folder with a file for each work tree recorded on this host."""
_ID_BYTES = 8
_BYTES_MAX = 8192


class KnownTree(msgspec.Struct, frozen=True):
    """A work tree as described in its file."""

    id: str
    host: str
    path: str
    is_original: bool
    """Whether the file is the original and not a copy."""

    @property
    def shown(self) -> str:
        """Return the work tree's path, with the host if it is on a different host."""
        return self.path if self.host == os.uname().nodename else f"{self.host}:{self.path}"


class Owner(Protocol):
    """The part of a workspace that its work tree requires."""

    location: Location
    tell: Callable[[str], None]

    def sprints(self) -> dict[str, int]:
        """Return the sprints in the log."""

    def sprint(self, sprint_id: str) -> Sprint:
        """Return the current state of a sprint."""


class OwnWorkTree:
    """The work tree of a workspace."""

    def __init__(self, owner: Owner, entropy: Entropy) -> None:
        self._owner, self._entropy = owner, entropy
        self._found: str | None = None
        self._is_recorded = False
        self._read: frozenset[str] | None = None
        """The sprints that were read to determine their work trees."""
        self._only: str | None = None
        self._named_for: tuple[str | None, Location] | None = None

    def found(self) -> WorkTree:
        """Return the work tree as named in records, without writing anything."""
        location = self._owner.location
        if self._found is None:
            self._found = find_tree(location, self._brought)
        if (self._found, location) != self._named_for:
            self._named_for = self._found, location
            self._named = WorkTree(self._found, location.names)
        return self._named

    def recorded(self) -> str:
        """Return the id of the work tree; create the id if there is none."""
        if self._found is None or not self._is_recorded:
            self._found = make_tree(
                self._owner.location,
                entropy=self._entropy,
                brought=self._brought,
                tell=self._tell,
            )
            self._is_recorded = True
        return self._found

    def _tell(self, problem: str) -> None:
        # A failed warning does not prevent recording.
        with suppress(RefusedError):
            self._owner.tell(problem)

    def _brought(self) -> str | None:
        """Return the work tree shared by all sprints in the log, or None."""
        # A sprint never changes its work tree, so each sprint is read only once.
        if (names := frozenset(self._owner.sprints())) != self._read:
            sprints = map(self._owner.sprint, names)
            trees = {sprint.knowledge.own_tree.work_tree for sprint in sprints}
            self._read, self._only = names, trees.pop() if len(trees) == 1 else None
        return self._only


def find_tree(location: Location, brought: Callable[[], str | None]) -> str | None:
    """Return the id of a work tree; None if it has none yet. Nothing is written.

    A copy of another work tree has no id. `brought` returns the work tree named in the
    log's records if there is only one. A log that was moved to a main work tree without an
    id continues with the recorded id, unless the original work tree still exists. Raise
    `InvalidInputError` if the file is damaged.
    """
    file = _file(location.root, location.folder)
    if file is not None and (seen := _read(file)) is not None:
        return None if _is_copy(seen, location.root) else seen.id
    derived, known = _derived(location.root), _known(location)
    for one in known:
        if (file is None and _is_current(one, location.root)) or one.id == derived:
            return one.id
    is_here = any(x.is_original or _is_copy(x, location.root) for x in known)
    goes_on = not (location.worktree or location.is_served or is_here)
    return (brought() if goes_on else None) or (derived if file is None else None)


def make_tree(
    location: Location,
    *,
    entropy: Entropy,
    brought: Callable[[], str | None],
    tell: Callable[[str], None],
) -> str:
    """Return the id of a work tree, and store its location; create an id if there is none.

    Each problem is reported once.
    """
    file, known = _file(location.root, location.folder), location.folder / KNOWN
    tree = find_tree(location, brought)
    seen = None if file is None else _read(file)
    if seen is not None and _is_current(seen, location.root):
        # Another process may have created the file in the meantime.
        tree = seen.id
    elif file is not None:
        if seen is not None and tree is None:
            tell(
                f"this work tree is a copy of {seen.path}, so it gets a new identity: "
                "the sprints recorded there stay with that work tree"
            )
        wanted = tree or entropy(_ID_BYTES).hex()
        try:
            tree = _write(file, wanted, location.root, replaces=seen is not None)
        except OSError as error:
            if tree is None:
                tree = _derived(location.root)
                tell(
                    f"{file} cannot be written ({error.strerror}): this work tree is "
                    "identified by its device and inode"
                )
    assert tree is not None
    with suppress(OSError):
        if not _is_current(_read(known / tree), location.root):
            known.mkdir(mode=0o700, exist_ok=True)
            _write(known / tree, tree, location.root, replaces=True)
    return tree


def known_trees(location: Location) -> dict[str, KnownTree]:
    """Return the work trees recorded in a log on this host, by id.

    The result is empty for a log that was copied without its work trees.
    """
    return {one.id: one for one in _known(location) if one.is_original}


def _known(location: Location) -> list[KnownTree]:
    folder = location.folder / KNOWN
    names = os.listdir(folder) if folder.is_dir() else []
    seen = [_read(folder / name) for name in names if _is_id(name)]
    return [one for one in seen if one is not None]


def shown_tree(location: Location, tree: NamesTree) -> str:
    """Return a work tree's location if it is known, otherwise a description of the tree."""
    known = known_trees(location).get(tree.work_tree or "")
    if known is not None:
        return known.shown
    name = tree.worktree or ("" if tree.work_tree is None else tree.work_tree[:8])
    return f"the work tree {name}" if name else "the main work tree"


def _file(root: Path, folder: Path) -> Path | None:
    """Return the path of a work tree's id file; None if the tree cannot store one."""
    git, is_own = root / ".git", folder.name == HIDDEN and folder.parent == root
    if os.path.lexists(root / HIDDEN / FILE):
        # The repository may have been created later, and this log may be a copy.
        return root / HIDDEN / FILE
    if git.is_dir() and not git.is_symlink():
        return git / FILE
    if git.is_file() and (directory := linked_directory(git)) is not None:
        return directory / FILE
    return folder / FILE if is_own else None


def _derived(root: Path) -> str:
    """Return an id, derived from device and inode, for a tree that cannot store an id."""
    status = root.stat()
    said = f"{status.st_dev} {status.st_ino}".encode()
    return hashes.sha256(said).hexdigest()[: 2 * _ID_BYTES]


def _is_current(seen: KnownTree | None, root: Path) -> bool:
    here = os.uname().nodename, str(root)
    return seen is not None and seen.is_original and (seen.host, seen.path) == here


def _is_copy(seen: KnownTree, root: Path) -> bool:
    """Return whether a work tree is a copy of a tree that still exists on this host."""
    if seen.is_original or seen.path == str(root):
        return False
    there = Path(seen.path)
    try:
        file = _file(there, there / HIDDEN)
        other = None if file is None else _read(file)
    except InvalidInputError:
        return False
    except OSError:
        # Unknown: sharing an identity with another tree is the greater risk.
        return True
    return other is not None and other.id == seen.id


def _is_id(text: str) -> bool:
    return len(text) == 2 * _ID_BYTES and not text.strip("0123456789abcdef")


def _read(file: Path) -> KnownTree | None:
    """Return the content of a work tree's id file, without following links."""
    try:
        with opened_plain(file) as held:
            status, content = os.fstat(held), os.read(held, _BYTES_MAX)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _wrong(file, error.strerror) from error
    tree, inode, host, path = [*os.fsdecode(content).split("\n", 3), "", "", ""][:4]
    if not _is_id(tree) or not inode.isdigit() or not path.endswith("\n"):
        raise _wrong(file, "it does not contain the id of a work tree")
    # A hard link also counts as a copy.
    is_original = int(inode) == status.st_ino and status.st_nlink == 1
    return KnownTree(tree, host, path[:-1], is_original)


def _wrong(file: Path, problem: str | None) -> SprintlogError:
    return InvalidInputError(
        f"{file} cannot be read: {problem}",
        hint="move the file away to give the work tree a new identity",
        file=str(file),
    )


def _write(file: Path, tree: str, root: Path, *, replaces: bool) -> str:
    """Write a work tree's id file atomically; return the id from the first writer."""
    draft = file.with_name(f".{file.name}-{os.getpid()}")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
    with suppress(FileNotFoundError):
        draft.unlink()
    try:
        with held_open(draft, flags) as held:
            os.fchmod(held, 0o600)
            said = f"{tree}\n{os.fstat(held).st_ino}\n{os.uname().nodename}\n{root}\n"
            write_whole(held, os.fsencode(said))
            os.fsync(held)
        if not replaces:
            with suppress(PermissionError, NotImplementedError):
                os.link(draft, file)
                return tree
        # This also works if the file system does not support hard links.
        os.replace(draft, file)
    except FileExistsError:
        seen = _read(file)
        return tree if seen is None else seen.id
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
    return tree
