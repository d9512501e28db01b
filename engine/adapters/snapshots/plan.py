"""What has to be done to a work tree so that it is as a snapshot says."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from .entries import LeftOut, Snapshot, TreeEntry, parents_of
from .listing import NESTED, OTHER_TREE

NOT_HELD = "it is new, and left out of snapshots"
NOT_KNOWN = "it was left out of the snapshot"
IGNORED_THEN = "git ignored it then"
IN_THE_WAY = "it stands in the way and could not be kept"


class PlacementPlan(NamedTuple):
    """From the files that stand there to the files that are wanted."""

    writes: dict[str, TreeEntry]
    removals: list[str]
    folders: dict[str, int]
    """Folders that are made or whose mode is not the wanted one."""
    folders_gone: list[str]
    """The deepest first; one that holds something else by then stays."""
    skipped: list[LeftOut]
    modes: dict[str, int]
    """The modes of all folders there will be."""
    before: dict[str, TreeEntry]
    """What stands there now and is kept in a snapshot."""
    meant: tuple[str, ...] = ()
    """What is in its place afterwards, written or not, where that is asked for."""
    alike: frozenset[str] = frozenset()
    """Skipped paths that are no difference: unchanged, ignored, or another work tree."""

    @property
    def is_empty(self) -> bool:
        """Tell whether everything is as it is wanted."""
        return not (self.writes or self.removals or self.folders or self.folders_gone)


def plan(
    wanted: Snapshot,
    present: Snapshot,
    *,
    paths: Collection[str] = (),
    alone: Collection[str] = (),
    ignored: Collection[str] = (),
) -> PlacementPlan:
    """Return how to get from one snapshot's files to another's.

    `paths` are the files and folders that are meant, all without them; `alone` are files
    and folders that are never touched; `ignored` are never removed, like those that git
    ignored when the snapshot was taken.
    """
    unseen = wanted.unseen.union(ignored)
    is_asked_for = meant(paths)

    def is_touched(path: str) -> bool:
        return not is_in(path, alone)

    def is_meant(path: str) -> bool:
        return is_asked_for(path) and is_touched(path)

    skipped: list[LeftOut] = []
    alike: set[str] = set()
    writes = {path: one for path, one in wanted.files.items() if is_meant(path)}
    stuck = _stuck(writes, present)
    for one, is_alike in _left_alone(wanted, present, stuck):
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
            continue  # It is named above, by its folder.
        elif _is_vague(wanted):
            skipped.append(LeftOut(path, NOT_KNOWN))
        else:
            removals.append(path)
    left_over = _folders_gone(wanted, present, is_touched)
    gone = [path for path in left_over if is_meant(path) and path not in unknown]
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
    """Return what one of two snapshots left out, and whether that is no difference."""
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
    """Return whether a path that was left out is known to be as it was then."""
    then = wanted.marks.get(path)
    if then is not None:
        return reason == OTHER_TREE or then == present.marks.get(path)
    # Of a repository an older version recorded no more than that it was there.
    return reason == NESTED and path in dict(present.left_out)


def _folders_gone(
    wanted: Snapshot, present: Snapshot, is_touched: Callable[[str], bool]
) -> list[str]:
    """Return folders that were not there then; what is never touched keeps its own."""
    there = (*present.files, *present.folders)
    staying = parents_of(path for path in there if not is_touched(path))
    kept = staying | wanted.folders.keys()
    return [path for path in present.folders if path not in kept]


def reverse(plan: PlacementPlan, before: Snapshot) -> PlacementPlan:
    """Return how to get back to what stood there before a plan was begun."""
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
    """Return what of a plan is to be done where these files stand."""
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
    """Return the paths that cannot be written over what no snapshot can keep."""
    in_the_way = {path for path, _ in present.left_out}
    return {
        path
        for path, entry in writes.items()
        if present.files.get(path) != entry and is_in(path, in_the_way)
    }


def needed(plan: PlacementPlan) -> dict[str, list[str]]:
    """Return whose bytes a plan and its reverse need: ids, and the paths of each."""
    found: dict[str, list[str]] = {}
    for path in sorted({*plan.writes, *plan.removals}):
        for files in (plan.writes, plan.before):
            if path in files:
                found.setdefault(files[path].oid, []).append(path)
    return found


def below(plan: PlacementPlan, folder: str, present: Snapshot) -> PlacementPlan:
    """Return a plan that puts what it writes into a folder, and removes nothing."""
    writes = {f"{folder}/{path}": entry for path, entry in plan.writes.items()}
    modes = {f"{folder}/{path}": mode for path, mode in plan.modes.items()}
    skipped = [LeftOut(f"{folder}/{path}", reason) for path, reason in plan.skipped]
    stuck = _stuck(writes, present)
    written = tuple(path for path in writes if path not in stuck)
    # A folder that is there keeps its mode.
    modes |= present.folders
    moved = PlacementPlan(writes, [], {}, [], skipped, modes, {}, written)
    return against(moved, present)


def _deepest_first(path: str) -> tuple[int, str]:
    return -path.count("/"), path


def meant(paths: Collection[str]) -> Callable[[str], bool]:
    """Return what tells whether a path is one of these, or lies in one of them."""
    if not paths:
        return lambda path: True
    whole = frozenset(paths)
    return lambda path: is_in(path, whole)


def is_in(path: str, some: Collection[str]) -> bool:
    """Return whether a path is one of these, or lies in one of them."""
    return bool(some) and (path in some or lies_in(path, some))


def lies_in(path: str, folders: Collection[str], end: str = "") -> bool:
    """Tell whether a path lies in one of the folders."""
    return any(f"{folder}{end}" in folders for folder in _above(path))


def _above(path: str) -> Iterable[str]:
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _is_vague(snapshot: Snapshot) -> bool:
    """Tell whether a snapshot left out more than it names."""
    return snapshot.left_out_count > len(snapshot.left_out)
