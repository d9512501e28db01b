"""The changes that restore a work tree to the state of a snapshot."""

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from .entries import LeftOut, Snapshot, TreeEntry, parents_of
from .listing import NESTED, OTHER_TREE

NOT_HELD = "it is new, and left out of snapshots"
NOT_KNOWN = "not in the snapshot"
IGNORED_THEN = "ignored by git at that time"
IN_THE_WAY = "in the way, and could not be saved"


class PlacementPlan(NamedTuple):
    """The changes that turn the current files into a snapshot's files."""

    writes: dict[str, TreeEntry]
    removals: list[str]
    folders: dict[str, int]
    """New folders, and folders with a different mode."""
    folders_gone: list[str]
    """Folders to remove, deepest first; a folder that is not empty by then remains."""
    skipped: list[LeftOut]
    modes: dict[str, int]
    """The modes of all folders in the desired state."""
    before: dict[str, TreeEntry]
    """The current files, which a snapshot contains."""
    meant: tuple[str, ...] = ()
    """The paths in place afterwards, written or not, if the caller requests them."""
    alike: frozenset[str] = frozenset()
    """Skipped paths that are not differences: unchanged, ignored, or another work tree."""

    @property
    def is_empty(self) -> bool:
        """Return whether the plan contains no changes."""
        return not (self.writes or self.removals or self.folders or self.folders_gone)

    @property
    def only_modes(self) -> frozenset[str]:
        """Return the paths of the files whose mode changes but whose contents do not."""
        both = ((path, self.before.get(path), one) for path, one in self.writes.items())
        return frozenset(path for path, old, new in both if old and old.oid == new.oid)


def plan(
    wanted: Snapshot,
    present: Snapshot,
    *,
    paths: Collection[str] = (),
    alone: Collection[str] = (),
    ignored: Collection[str] = (),
) -> PlacementPlan:
    """Return the changes that turn one snapshot's files into another's.

    `paths` restricts the changes to the given files and folders. Files and folders in
    `alone` are never changed; those in `ignored`, such as files that git ignored when the
    snapshot was taken, are never removed.
    """
    unseen = wanted.unseen.union(ignored)
    is_asked_for = meant(paths)

    is_alone = meant(alone)

    def is_touched(path: str) -> bool:
        return not (alone and is_alone(path))

    def is_meant(path: str) -> bool:
        return is_asked_for(path) and is_touched(path)

    skipped: list[LeftOut] = []
    alike: set[str] = set()
    writes = {path: one for path, one in wanted.files.items() if is_meant(path)}
    for one, is_alike in _left_alone(wanted, present, _stuck(writes, present)):
        if is_meant(one.path):
            skipped.append(one)
            alike |= {one.path} if is_alike else set()
    removals = []
    unknown = {path for path, _ in wanted.left_out}
    for path in present.files:
        if path in wanted.files or not is_meant(path):
            continue
        if path in unseen or lies_in(path, unseen, end="/"):
            skipped.append(LeftOut(path, IGNORED_THEN))
            alike.add(path)
        elif is_in(path, unknown):
            continue  # The folder is listed above.
        elif wanted.left_out_count > len(wanted.left_out):
            skipped.append(LeftOut(path, NOT_KNOWN))
        else:
            removals.append(path)
    # The parents of paths that must not change stay as well.
    there = (*present.files, *present.folders)
    staying = parents_of(path for path in there if not is_touched(path))
    staying |= {*unknown, *wanted.folders}
    gone = [path for path in present.folders if is_meant(path) and path not in staying]
    made = PlacementPlan(
        writes,
        sorted(removals),
        {path: mode for path, mode in wanted.folders.items() if is_meant(path)},
        sorted(gone, key=_deepest_first),
        [],
        wanted.folders,
        {},
        alike=frozenset(alike),
    )
    made = against(made, present)
    return made._replace(skipped=[*made.skipped, *skipped])


def _left_alone(
    wanted: Snapshot, present: Snapshot, stuck: Iterable[str]
) -> list[tuple[LeftOut, bool]]:
    """Return the paths that either snapshot omits, and whether each is unchanged."""
    unknown = {path for path, _ in wanted.left_out}
    found = [
        (LeftOut(path, f"{NOT_KNOWN}: {why}"), _is_as_then(path, why, wanted, present))
        for path, why in wanted.left_out
    ]
    known = {"", *unknown, *wanted.files, *wanted.unseen}
    known |= parents_of(stuck)
    for path, why in present.left_out:
        is_within = lies_in(path, unknown) or lies_in(path, wanted.unseen, end="/")
        if not (path in known or f"{path}/" in known or is_within):
            found.append((LeftOut(path, f"{NOT_HELD}: {why}"), why == OTHER_TREE))
    return found


def _is_as_then(path: str, reason: str, wanted: Snapshot, present: Snapshot) -> bool:
    """Return whether an omitted path is known to be unchanged."""
    then = wanted.marks.get(path)
    if then is not None:
        return reason == OTHER_TREE or then == present.marks.get(path)
    # Older versions recorded only that a nested repository existed.
    return reason == NESTED and path in dict(present.left_out)


def reverse(plan: PlacementPlan, before: Snapshot) -> PlacementPlan:
    """Return the inverse of a plan, which restores the state before it."""
    touched = {*plan.writes, *plan.removals}
    folders = {*plan.folders, *plan.folders_gone}
    return PlacementPlan(
        {path: before.files[path] for path in touched if path in before.files},
        sorted(path for path in plan.writes if path not in before.files),
        {path: before.folders[path] for path in sorted(folders) if path in before.folders},
        sorted(folders - before.folders.keys(), key=_deepest_first),
        [],
        before.folders,
        plan.writes,
    )


def against(plan: PlacementPlan, present: Snapshot) -> PlacementPlan:
    """Return the part of a plan that is still to be done, given the current files."""
    stuck = _stuck(plan.writes, present)
    writes = {
        path: entry
        for path, entry in plan.writes.items()
        if present.files.get(path) != entry and path not in stuck
    }
    folders = parents_of(writes) - {"", *present.folders}
    modes = {**present.folders, **plan.modes}
    return plan._replace(
        writes=writes,
        removals=[path for path in plan.removals if path in present.files],
        folders={
            path: modes.get(path, 0o755)
            for path in sorted({*plan.folders, *folders})
            if present.folders.get(path) != modes.get(path, 0o755)
        },
        folders_gone=[path for path in plan.folders_gone if path in present.folders],
        skipped=[*plan.skipped, *(LeftOut(path, IN_THE_WAY) for path in sorted(stuck))],
        modes=modes,
        before=present.files,
    )


def _stuck(writes: Mapping[str, TreeEntry], present: Snapshot) -> set[str]:
    """Return the paths that are occupied by something a snapshot cannot store."""
    if not (in_the_way := {path for path, _ in present.left_out}):
        return set()
    return {
        path
        for path, entry in writes.items()
        if present.files.get(path) != entry and is_in(path, in_the_way)
    }


def needed(plan: PlacementPlan) -> set[str]:
    """Return the ids of the blobs that a plan and its inverse require."""
    before = plan.before
    touched = [before[p].oid for p in (*plan.writes, *plan.removals) if p in before]
    return {*touched, *(entry.oid for entry in plan.writes.values())}


def below(plan: PlacementPlan, folder: str, present: Snapshot) -> PlacementPlan:
    """Return a plan that writes the same files below a folder and removes none."""
    writes = {f"{folder}/{path}": entry for path, entry in plan.writes.items()}
    modes = {f"{folder}/{path}": mode for path, mode in plan.modes.items()}
    skipped = [LeftOut(f"{folder}/{path}", reason) for path, reason in plan.skipped]
    stuck = _stuck(writes, present)
    written = tuple(path for path in writes if path not in stuck)
    # An existing folder keeps its mode.
    modes |= present.folders
    return against(PlacementPlan(writes, [], {}, [], skipped, modes, {}, written), present)


def _deepest_first(path: str) -> tuple[int, str]:
    return -path.count("/"), path


def meant(paths: Collection[str]) -> Callable[[str], bool]:
    """Return a function that checks whether a path is, or is below, a given path."""
    if not paths:
        return lambda path: True
    whole = frozenset(paths)
    # Most paths are in the same folder as the previous path.
    is_inside = lru_cache(maxsize=1)(lambda folder: is_in(folder, whole))
    return lambda path: (
        path in whole or ("/" in path and is_inside(path.rpartition("/")[0]))
    )


def is_in(path: str, some: Collection[str]) -> bool:
    """Return whether a path is, or is below, one of the given paths."""
    return bool(some) and (path in some or lies_in(path, some))


def lies_in(path: str, folders: Collection[str], end: str = "") -> bool:
    """Return whether a path is below one of the folders."""
    at = path.find("/")
    while at >= 0:
        if path[:at] + end in folders:
            return True
        at = path.find("/", at + 1)
    return False
