"""What has to be done to a work tree so that it is as a snapshot says."""

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from .entries import LeftOut, Snapshot, TreeEntry, parents_of

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
) -> PlacementPlan:
    """Return how to get from one snapshot's files to another's.

    `paths` are the files and folders that are meant, all without them; `alone` are files
    and folders that are never touched.
    """
    is_asked_for = meant(paths)

    def is_touched(path: str) -> bool:
        return path not in alone and not lies_in(path, alone)

    def is_meant(path: str) -> bool:
        return is_asked_for(path) and is_touched(path)

    skipped: list[LeftOut] = []
    in_the_way = {path for path, _ in present.left_out}
    writes = {}
    for path, entry in wanted.files.items():
        if present.files.get(path) == entry or not is_meant(path):
            continue
        if path in in_the_way or lies_in(path, in_the_way):
            skipped.append(LeftOut(path, IN_THE_WAY))
        else:
            writes[path] = entry
    skipped += [
        LeftOut(path, f"{NOT_KNOWN}: {reason}")
        for path, reason in wanted.left_out
        if is_meant(path)
    ]
    removals = []
    unknown = {path for path, _ in wanted.left_out}
    for path in present.files:
        if path in wanted.files or not is_meant(path):
            continue
        if path in wanted.unseen or lies_in(path, wanted.unseen, end="/"):
            skipped.append(LeftOut(path, IGNORED_THEN))
        elif path in unknown or lies_in(path, unknown):
            continue  # It is named above, by its folder.
        elif _is_vague(wanted):
            skipped.append(LeftOut(path, NOT_KNOWN))
        else:
            removals.append(path)
    folders = {
        path: mode
        for path, mode in wanted.folders.items()
        if present.folders.get(path) != mode and is_meant(path)
    }
    for path in parents_of(writes) - {"", *present.folders}:
        folders.setdefault(path, wanted.folders[path])
    gone = [
        path
        for path in _folders_gone(wanted, present, is_touched)
        if is_meant(path) and path not in unknown
    ]
    return PlacementPlan(
        writes,
        sorted(removals),
        dict(sorted(folders.items())),
        sorted(gone, key=lambda path: (-path.count("/"), path)),
        skipped,
        {**present.folders, **wanted.folders},
        present.files,
    )


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
        sorted(
            (path for path in folders if path not in before.folders),
            key=lambda path: (-path.count("/"), path),
        ),
        [],
        before.folders,
        plan.writes,
    )


def against(plan: PlacementPlan, present: Snapshot) -> PlacementPlan:
    """Return what of a plan is still to be done, where other files stand by now."""
    in_the_way = {path for path, _ in present.left_out}
    stuck = [p for p in plan.writes if p in in_the_way or lies_in(p, in_the_way)]
    wanted = {p: entry for p, entry in plan.writes.items() if p not in stuck}
    folders = parents_of(wanted) - {"", *present.folders}
    modes = {**present.folders, **plan.modes}
    return plan._replace(
        writes={p: entry for p, entry in wanted.items() if present.files.get(p) != entry},
        removals=[path for path in plan.removals if path in present.files],
        folders={
            path: modes.get(path, 0o755)
            for path in sorted({*plan.folders, *folders})
            if present.folders.get(path) != modes.get(path, 0o755)
        },
        folders_gone=[path for path in plan.folders_gone if path in present.folders],
        skipped=[LeftOut(path, IN_THE_WAY) for path in sorted(stuck)],
        modes=modes,
        before=present.files,
    )


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
    modes = {f"{folder}/{path}": mode for path, mode in plan.modes.items()}
    in_the_way = {path for path, _ in present.left_out}
    skipped = [LeftOut(f"{folder}/{path}", reason) for path, reason in plan.skipped]
    wanted = {}
    for path, entry in plan.writes.items():
        target = f"{folder}/{path}"
        if target in in_the_way or lies_in(target, in_the_way):
            skipped.append(LeftOut(target, IN_THE_WAY))
        else:
            wanted[target] = entry
    needed = parents_of(wanted) - {"", *present.folders}
    return PlacementPlan(
        {p: entry for p, entry in wanted.items() if present.files.get(p) != entry},
        [],
        {path: modes.get(path, 0o755) for path in sorted(needed)},
        [],
        skipped,
        {**modes, **present.folders},
        present.files,
        tuple(wanted),
    )


def meant(paths: Collection[str]) -> Callable[[str], bool]:
    """Return what tells whether a path is one of these, or lies in one of them."""
    if not paths:
        return lambda path: True
    whole = frozenset(paths)
    begins = tuple(f"{path}/" for path in paths)
    return lambda path: path in whole or path.startswith(begins)


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
