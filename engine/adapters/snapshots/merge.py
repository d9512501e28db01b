"""Three-way merges of snapshotted files: git's rules, contents and conflict messages.

Contents are merged by `git merge-file` in the snapshot store, so that no setting, attribute
or merge driver of a repository is used. Renames are not detected.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from ..git.command import SECONDS_MAX, GitError, said_by
from .branch import Blob
from .capture import git_mode, make_commit, put, quoted
from .entries import LeftOut, Snapshot, TreeEntry, decode, encode, parents_of
from .listing import OTHER_TREE
from .objects import object_id
from .plan import NOT_KNOWN, is_in, lies_in
from .store import MANIFEST, Store

OURS = "work tree"
"""The label of the current files in messages and conflict markers."""
_BINARY_WITHIN, _CONFLICTS_MAX = 8000, 127
"""As in git: a NUL among the first bytes marks a binary file."""
_END = b">>>>>>> "
_HUNK = re.compile(rb"^<<<<<<< .*?^>>>>>>> [^\n]*\n?", re.DOTALL | re.MULTILINE)
_LEFT = "Version {kept} of {path} left in tree."
_MESSAGES = {
    "modify/delete": f"{{path}} deleted in {{gone}} and modified in {{kept}}.  {_LEFT}",
    "distinct types": f"{{path}} had different types on each side.  {_LEFT}",
}


Resolution = tuple[TreeEntry | None, str]
"""The file, if any, and the kind of conflict in git's words, or an empty string."""


def resolve(
    base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
) -> Resolution:
    """Return the result of merging three versions of a path; None is a missing file.

    For different contents on all sides, the kind is that of the conflict, if their merge
    has one.
    """
    if is_same(theirs, base) or is_same(theirs, ours):
        return ours, ""
    if is_same(ours, base):
        return theirs and _with_bit(theirs, ours, theirs), ""
    if ours is None or theirs is None:
        return ours or theirs, "modify/delete"
    if ours.is_link != theirs.is_link:
        return ours, "distinct types"
    kind = "content" if base is not None else "add/add"
    if ours.is_link:
        return ours, kind
    known = base if base is not None and not base.is_link else None
    is_theirs = known is not None and _is_program(ours) == _is_program(known)
    result = _with_bit(ours, ours, theirs if is_theirs else ours)
    if known is None:
        return result, kind
    if ours.oid == known.oid:
        return result._replace(oid=theirs.oid, size=theirs.size), ""
    return result, kind if theirs.oid not in (ours.oid, known.oid) else ""


def is_same(one: TreeEntry | None, other: TreeEntry | None) -> bool:
    """Return whether git does not distinguish two versions."""
    if one is None or other is None:
        return one is other
    is_alike = one.oid == other.oid and one.is_link == other.is_link
    return is_alike and _is_program(one) == _is_program(other)


def _is_program(entry: TreeEntry) -> bool:
    return not entry.is_link and bool(entry.mode & 0o100)


def _with_bit(entry: TreeEntry, ours: TreeEntry | None, of: TreeEntry) -> TreeEntry:
    """Return an entry with our permissions, but executable if another entry is."""
    if entry.is_link or ours is None or ours.is_link:
        return entry
    mode = ours.mode
    if _is_program(of) != _is_program(ours):
        mode = mode | (mode & 0o444) >> 2 if _is_program(of) else mode & ~0o111
    return entry._replace(mode=mode)


class Conflict(NamedTuple):
    """A path that needs a decision, and git's message for it."""

    path: str
    message: str
    hunks: bytes = b""
    """The conflicting lines with their markers."""


class Merge(NamedTuple):
    """The differences of merged files from our files."""

    changes: dict[str, TreeEntry | None]
    """The changed files; None for a file to remove."""
    contents: dict[str, bytes]
    """The contents of the files that were changed on both sides."""
    conflicts: list[Conflict]
    left: list[LeftOut]
    """The paths that their snapshot omits, so that their changes are unknown."""
    alike: frozenset[str]
    """The paths of these that were not known before, either."""


def merge(
    store: Store,
    base: Snapshot,
    ours: Snapshot,
    theirs: Snapshot,
    is_meant: Callable[[str], bool],
    *,
    blob: Blob,
    label: str,
) -> Merge:
    """Merge the files for which `is_meant` returns true; `label` names their side."""
    omitted, unknown = ({path for path, _ in x.left_out} for x in (theirs, base))
    is_vague = theirs.left_out_count > len(omitted)
    alike = frozenset(path for path in omitted if is_in(path, unknown))
    made = Merge({}, {}, [], [], alike)
    for path, reason in theirs.left_out:
        if is_meant(path) and reason != OTHER_TREE:
            made.left.append(LeftOut(path, f"{NOT_KNOWN}: {reason}"))
    for path in filter(is_meant, sorted({*base.files, *theirs.files})):
        before, own, other = (x.files.get(path) for x in (base, ours, theirs))
        if other is None and (is_vague or is_in(path, omitted)):
            continue
        entry, kind = resolve(before, own, other)
        hunks, note = b"", ""
        is_link = own is None or other is None or own.is_link or other.is_link
        if kind and entry and own and other and not is_link and own.oid != other.oid:
            old = b"" if before is None or before.is_link else blob(before.oid)
            parts = (blob(own.oid), old, blob(other.oid))
            if b"\n%s%s\n" % (_END, label.encode()) in parts[0]:
                note = f"warning: {path} still contains conflict markers\n"
            elif any(b"\0" in part[:_BINARY_WITHIN] for part in parts):
                note = f"warning: Cannot merge binary files: {path} ({OURS} vs. {label})\n"
            else:
                merged, is_conflict = _merge_file(store, label, parts)
                made.contents[path] = merged
                entry = entry._replace(oid=object_id("blob", merged), size=len(merged))
                kind = kind if is_conflict else ""
                hunks = b"".join(_HUNK.findall(merged)) if is_conflict else b""
        if kind:
            kept, gone = (label, OURS) if own is None else (OURS, label)
            said = _MESSAGES.get(kind, "Merge conflict in {path}")
            said = said.format(path=path, kept=kept, gone=gone)
            made.conflicts.append(Conflict(path, f"{note}CONFLICT ({kind}): {said}", hunks))
        if entry != own:
            made.changes[path] = entry
    _refuse_folders(made, ours, label)
    return made


def _refuse_folders(made: Merge, ours: Snapshot, label: str) -> None:
    """Turn new files in the place of a folder, or below a file, into conflicts."""
    kept = {path for path in ours.files if made.changes.get(path, path) is not None}
    folders = parents_of(kept) | (ours.folders.keys() - parents_of(ours.files))
    for path in [p for p, entry in made.changes.items() if entry and p not in kept]:
        if path in folders or lies_in(path, kept):
            what = "directory" if path in folders else "file"
            said = f"CONFLICT (file/directory): {what} in the way of {path} from {label}"
            made.conflicts.append(Conflict(path, said))
            del made.changes[path]


def _merge_file(store: Store, label: str, parts: Iterable[bytes]) -> tuple[bytes, bool]:
    """Merge our, the base's and their contents; also return whether they conflict."""
    with tempfile.TemporaryDirectory(dir=store.folder) as folder:
        names = ("ours", "base", "theirs")
        for name, content in zip(names, parts, strict=True):
            (Path(folder) / name).write_bytes(content)
        labels = ("-L", OURS, "-L", "base", "-L", label)
        done = subprocess.run(
            store.git.command("merge-file", "-p", "-q", *labels, *names),
            cwd=folder,
            env=store.git.settings(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SECONDS_MAX,
        )
    if not 0 <= done.returncode <= _CONFLICTS_MAX:
        raise GitError(said_by(done.stderr, done.returncode))
    return done.stdout, done.returncode > 0


def keep_merged(
    store: Store, ours: Snapshot, made: Merge, *, at_seconds: int
) -> tuple[str, tuple[str, ...]]:
    """Store a merge's result as a snapshot; the lock must be held.

    Return the snapshot, and the changed paths, including the folders that became empty.
    """
    changes, tree = made.changes, store.tree_of(ours.commit)
    after = {*ours.files, *changes} - {p for p, entry in changes.items() if entry is None}
    # Empty folders, which git does not store, stay.
    empty = ours.folders.keys() - parents_of([*ours.files, *ours.folders])
    there = parents_of([*after, *(f"{folder}/" for folder in empty)])
    gone = parents_of(ours.files) - there - {""}
    with store.blobs() as blob:
        (oid,) = store.git.run("rev-parse", f"{tree}:{MANIFEST}").decode().split()
        manifest = decode(blob(oid))
    for folder in gone:
        manifest.folder_modes.pop(os.fsencode(folder), None)
    lines = list[bytes]()
    # A file may replace a removed folder, so the removals come first.
    for path, entry in sorted(changes.items(), key=lambda one: one[1] is not None):
        manifest.modes.pop(os.fsencode(path), None)
        if entry is None:
            lines.append(b"D %s\n" % quoted(path))
            continue
        if not entry.is_link:
            manifest.modes[os.fsencode(path)] = entry.permissions
        mode, name = git_mode(entry.mode), quoted(path)
        if path in made.contents:
            lines += put(mode, name, made.contents[path])
        else:
            lines.append(b"M %s %s %s\n" % (mode, entry.oid.encode(), name))
    lines += put(b"100644", MANIFEST.encode(), encode(manifest))
    commit, _ = make_commit(store, tree, at_seconds, lines)
    return commit, (*changes, *sorted(gone))
