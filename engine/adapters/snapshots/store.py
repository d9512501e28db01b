"""The snapshot store: a bare git repository of independent snapshots."""

import os
import re
import shutil
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from ...errors import NotFoundError, RefusedError, SprintlogError, UnreadableError
from ...log.port import Wait
from ...log.stores.descriptors import held_open, sync, take
from ..folders import NAMES, is_sound
from ..git.command import Git, GitError
from . import objects
from .entries import GIT_MODES, Snapshot, assemble, decode
from .objects import DamagedError, Unsound

FILES, MANIFEST = "files", "manifest"
"""The entries of a commit's tree: the files, and properties that git trees cannot store."""
REFS = "refs/snapshots/"
ALIASES = "refs/rewritten/"
"""The prefix of references to replacement snapshots, by the ids of the old ones."""
STORE = "store.git"
ASIDE = "damaged"
"""The folder, next to the store, to which damaged files are moved."""
SEE = "run `sprintlog verify --full` to list the damaged snapshots"
_BELOW = f"{FILES}/"
_ENTRY = re.compile(r"(\d+) \w+ (\w+) +(\S+)\t([^\0]*)\0")
"""The mode, id, size and path in a line of `git ls-tree`."""
READ_MAX = 4
PACKS_MAX = 40
"""The number of packs above which packs are combined."""
_WAIT = Wait()
_held: set[tuple[int, Path]] = set()
"""The locks held by this process, by thread; their holder may acquire them again."""
_ID = re.compile(r"[0-9a-f]{40}", re.ASCII)


class Store:
    """Stores snapshots in a folder that is never part of a snapshot."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], wait: Wait = _WAIT
    ) -> None:
        self.folder = folder
        self._wait = wait
        self.git = Git(folder / STORE, environment)
        self._read: dict[str, Snapshot] = {}

    @property
    def exists(self) -> bool:
        """Return whether any snapshot has been taken."""
        return self.git.folder.is_dir()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock that is required to create, drop and recover snapshots."""
        own = threading.get_ident(), self.folder
        if own in _held:
            yield
            return
        try:
            # Only `make_folder` creates the log's folder, with private permissions.
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except FileNotFoundError as error:
            raise RefusedError(
                f"the log's folder {self.folder.parent} no longer exists"
            ) from error
        place = self.folder / "lock"
        with held_open(place, os.O_CREAT | os.O_RDWR) as descriptor:
            try:
                take(descriptor, place, self._wait)
            except OSError as error:
                raise RefusedError(f"cannot lock {place}: {error.strerror}") from error
            _held.add(own)
            try:
                yield
            finally:
                _held.discard(own)

    def make(self) -> None:
        """Create the store if it is missing; the lock must be held."""
        if self.exists:
            return
        draft = Git(self.folder / "store.new", self.git.environment)
        shutil.rmtree(draft.folder, ignore_errors=True)
        draft.folder.mkdir(mode=0o700)
        draft.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        for name, content in objects.FIXED.items():
            (draft.folder / name).write_bytes(content)
        draft.folder.rename(self.git.folder)
        sync(self.folder)

    def sync(self) -> None:
        """Make the names of git's files durable; git itself syncs their contents."""
        for name in ("refs", "refs/snapshots", "objects/pack"):
            sync(self.git.folder / name)

    def snapshots(self) -> dict[str, str]:
        """Return the commits of all snapshots, with the names of their refs."""
        if not self.exists:
            return {}
        listed = self.git.run("for-each-ref", "--format=%(objectname) %(refname)", REFS)
        return dict(line.split(" ", 1) for line in listed.decode().splitlines())

    def read(self, commit: str) -> Snapshot:
        """Return a snapshot; raise `NotFoundError` if the store does not contain it."""
        if (known := self._read.get(commit)) is not None:
            return known
        if not _ID.fullmatch(commit) or not self.exists:
            raise _missing(commit)
        listing = "ls-tree", "-r", "-z", "-l", "--full-tree"
        try:
            listed = self.git.run(*listing, commit)
        except GitError as error:
            # Earlier events name the snapshot that was replaced.
            if (taken := self.aliases().get(commit)) is None:
                raise _missing(commit) from error
            commit = taken
            listed = self.git.run(*listing, commit)
        files = []
        manifest = ""
        entries = _ENTRY.findall(listed.decode(*NAMES))
        if len(entries) != listed.count(b"\0"):
            raise UnreadableError(f"git lists snapshot {commit} in an unknown format")
        for mode, oid, length, path in entries:
            if path == MANIFEST:
                manifest = oid
            elif path.startswith(_BELOW) and mode in GIT_MODES and is_sound(path):
                # Git prints a word in place of the size of a missing object.
                size = int(length) if length.isdigit() else 0
                files.append((path[len(_BELOW) :], mode, oid, size))
            else:
                raise UnreadableError(
                    f"snapshot {commit} contains the invalid file path {path!r}"
                )
        try:
            with self.blobs() as blob:
                stored = decode(blob(manifest))
        except DamagedError as error:
            raise UnreadableError(f"snapshot {commit[:12]} is damaged", hint=SEE) from error
        # A snapshot never changes; a restore reads the same few several times.
        if len(self._read) == READ_MAX:
            self._read.clear()
        return self._read.setdefault(commit, assemble(commit, files, stored))

    def tree_of(self, commit: str) -> str:
        """Return the id of a snapshot's content."""
        return self.git.run("rev-parse", f"{commit}^{{tree}}").decode().strip()

    def unseen(self, commits: Iterable[str]) -> frozenset[str]:
        """Return all paths that git ignored in any of the given snapshots.

        Snapshots that are not stored are skipped.
        """
        taken = self.aliases()
        wanted = [taken.get(one, one) for one in commits if _ID.fullmatch(one)]
        given = "".join(f"{commit}:{MANIFEST}\n" for commit in wanted).encode()
        listed = self.git.run("cat-file", "--batch-check=%(objectname)", given=given)
        oids = [oid for oid in listed.decode().splitlines() if _ID.fullmatch(oid)]
        with self.blobs(oids) as blob:
            ignored = [path for oid in oids for path in decode(blob(oid)).unseen]
        return frozenset(map(os.fsdecode, ignored))

    def unsound(self, *, bytes_max: int | None = None) -> list[Unsound]:
        """Return the store's files that have been damaged or changed."""
        return objects.unsound(self.git.folder, bytes_max=bytes_max) if self.exists else []

    def damaged(self, oids: Iterable[str], *, reads_all: bool = False) -> set[str]:
        """Return the ids of those blobs that are missing or damaged.

        Unless `reads_all` is true, blobs in intact packs are not read.
        """
        found, wanted = set(), set(oids)
        if not reads_all:
            wanted -= objects.surely_held(self.git.folder, wanted)
        ordered = sorted(wanted)
        with self.blobs(ordered) as blob:
            for oid in ordered:
                try:
                    blob(oid)
                except DamagedError:
                    found.add(oid)
        return found

    def mend(self) -> None:
        """Move damaged files aside and save their intact parts; the lock must be held.

        The next snapshot reads the complete tree, so it stores lost objects again.
        """
        self._read.clear()
        for known in self.folder.glob("known-*"):
            known.unlink(missing_ok=True)
        objects.mend(self.git, self.folder / ASIDE)

    def aliases(self) -> dict[str, str]:
        """Return a mapping from the ids of replaced snapshots to their replacements."""
        listed = self.git.run("for-each-ref", "--format=%(refname) %(objectname)", ALIASES)
        found = (line.split(" ", 1) for line in listed.decode().splitlines())
        return {name.removeprefix(ALIASES): commit for name, commit in found}

    def replace(self, commit: str, other: str) -> None:
        """Replace a snapshot with another one; the lock must be held."""
        for old in (commit, *[old for old, new in self.aliases().items() if new == commit]):
            self.git.run("update-ref", f"{ALIASES}{old}", other)

    def hold(self, commits: Iterable[str]) -> None:
        """Recreate the snapshots' missing refs; the lock must be held."""
        listed = self.snapshots()
        lost = sorted({commit for commit in commits if commit not in listed})
        with closing(objects.Objects(self.git)) as known:
            for commit in lost:
                with suppress(DamagedError):
                    known.read(commit)
                    self.git.run("update-ref", f"{REFS}{uuid4().hex}", commit)

    def blobs(
        self, ahead: Iterable[str] = ()
    ) -> AbstractContextManager[Callable[[str], bytes]]:
        """Return a context that yields a function mapping ids to blobs.

        Blobs in `ahead` are read faster if they are requested in that order.
        """
        return objects.blobs_of(self.git, ahead)

    def diff(
        self, one: str, other: str, paths: Sequence[str], *, without: Iterable[str] = ()
    ) -> bytes:
        """Return a diff between the files of two snapshots."""
        call = ["diff-tree", "-r", "-p", "--no-ext-diff", "--no-textconv", "--no-renames"]
        call += ["--no-color", "--src-prefix=", "--dst-prefix="]
        meant = [f":(literal){FILES}/{path}" for path in paths or [""]]
        meant += [f":(literal,exclude){FILES}/{path}" for path in sorted(without)]
        return self.git.run(*call, one, other, "--", *meant)

    def drop(self, commits: Sequence[str]) -> None:
        """Delete snapshots; the lock must be held."""
        self._read.clear()
        known = self.snapshots()
        self._unlock()
        command = "".join(f"delete {known[c]}\0{c}\0" for c in commits if c in known)
        dropped = {(old, new) for old, new in self.aliases().items() if new in commits}
        command += "".join(f"delete {ALIASES}{old}\0{new}\0" for old, new in dropped)
        if command:
            self.git.run("update-ref", "-z", "--stdin", given=command.encode())

    def tidy(self) -> None:
        """Free the space of dropped snapshots; the lock must be held."""
        for left in (self.git.folder / "objects" / "pack").glob("tmp_*"):
            left.unlink(missing_ok=True)
        try:
            self.git.run("repack", "-a", "-d", "-q", "--no-write-bitmap-index")
        except GitError:
            self._repack_what_is_there()
        self.git.run("prune", "--expire=now")

    def _repack_what_is_there(self) -> None:
        """Repack all readable objects into one pack, even if some objects are missing."""
        self.drop([commit for commit in self.snapshots() if not self._can_be_read(commit)])
        call = ("rev-list", "--objects", "--missing=print", "--all")
        listed = self.git.run(*call).splitlines()
        oids = [line.split()[0] for line in listed if not line.startswith(b"?")]
        folder = self.git.folder / "objects" / "pack"
        old = {path.stem for path in folder.glob("*.pack")}
        given = b"".join(oid + b"\n" for oid in oids)
        made = self.git.run("pack-objects", "-q", str(folder / "pack"), given=given)
        for name in old - {f"pack-{name}" for name in made.decode().split()}:
            for path in sorted(folder.glob(f"{name}.*")):
                path.unlink()

    def _can_be_read(self, commit: str) -> bool:
        with suppress(SprintlogError):
            self.read(commit)
            return True
        return False

    def _unlock(self) -> None:
        """Remove locks left by a killed git; the store's own lock excludes other users."""
        for pattern in ("*.lock", "refs/**/*.lock"):
            for left in self.git.folder.glob(pattern):
                left.unlink(missing_ok=True)

    def gather(self) -> None:
        """Combine the packs if there are many; the lock must be held."""
        if len(list((self.git.folder / "objects" / "pack").glob("*.pack"))) > PACKS_MAX:
            self.git.run("repack", "--geometric=2", "-d", "-q")

    def bytes_used(self) -> int:
        """Return the store's size on disk in bytes."""
        return sum(
            status.st_size
            for path in self.git.folder.rglob("*")
            if stat.S_ISREG((status := path.lstat()).st_mode)
        )


def _missing(commit: str) -> NotFoundError:
    return NotFoundError(
        f"the store does not contain snapshot {commit[:40]}",
        hint="it was pruned or taken on another machine, or the store is damaged; to "
        "check the store, run `sprintlog verify --full`",
        snapshot=commit,
    )


Pair = tuple[str, str]
"""The commits of two snapshots, the earlier one first."""
PathChange = tuple[str, str, tuple[int, int] | None]
"""A path, and its change: `added`, `removed` or `changed`."""
_HOW = {"A": "added", "D": "removed"}
_HEAD = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40})\n")
"""The line with which git names two trees before their differences."""
_COUNTS = re.compile(rb"(\d+)\t(\d+)\t(.*)", re.DOTALL)
"""The numbers of added and removed lines of a file that is not binary."""


def changes_between(git: Git, pairs: Iterable[Pair]) -> dict[Pair, list[PathChange]]:
    """Return the file changes for each pair of stored snapshots."""
    wanted = [pair for pair in pairs if all(map(_ID.fullmatch, pair))]
    trees = _trees(git, {commit for pair in wanted for commit in pair})
    asked: dict[Pair, list[Pair]] = {}
    for pair in wanted:
        if pair[0] in trees and pair[1] in trees:
            asked.setdefault((trees[pair[0]], trees[pair[1]]), []).append(pair)
    if not asked:
        return {}
    given = "".join(f"{one} {other}\n" for one, other in asked)
    call = ("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", "--stdin")
    found = _read(git.run(*call, given=given.encode()), f"{FILES}/")
    changes = {ends: [*found.get(ends, {}).values()] for ends in asked}
    return {pair: changes[ends] for ends, meant in asked.items() for pair in meant}


def _trees(git: Git, commits: set[str]) -> dict[str, str]:
    """Return the trees of those commits that exist, by commit."""
    names = sorted(commits)
    if not names:
        return {}
    given = "".join(f"{name}^{{tree}}\n" for name in names)
    said = git.run("cat-file", "--batch-check=%(objectname)", given=given.encode())
    pairs = zip(names, said.decode().splitlines(), strict=False)
    return {name: line for name, line in pairs if _ID.fullmatch(line)}


def _read(said: bytes, folder: str) -> dict[Pair, dict[str, PathChange]]:
    found: dict[Pair, dict[str, PathChange]] = {}
    changed: dict[str, PathChange] = {}
    parts = iter(said.split(b"\0"))
    for part in parts:
        rest = part
        while (head := _HEAD.match(rest)) is not None:
            changed = found.setdefault((head[1].decode(), head[2].decode()), {})
            rest = rest[head.end() :]
        counts = _COUNTS.fullmatch(rest)
        if counts is not None and (path := os.fsdecode(counts[3])) in changed:
            changed[path] = (*changed[path][:2], (int(counts[1]), int(counts[2])))
        if not rest.startswith(b":"):
            continue
        path = os.fsdecode(next(parts, b""))
        if path.startswith(folder) and is_sound(path):
            how = _HOW.get(rest[-1:].decode(), "changed")
            changed[path] = (path.removeprefix(folder), how, None)
    return found
