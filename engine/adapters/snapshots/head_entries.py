"""Which entries of a checked-out commit stand in the place of a snapshot's files.

A snapshot does not hold everything, and some files it holds as the work tree has them,
which git keeps in another form: by a pointer of git LFS, or with other line ends.
"""

from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from typing import NamedTuple

from .entries import LeftOut, Snapshot, TreeEntry, parents_of
from .plan import NOT_KNOWN, is_in

POINTER_BYTES_MAX = 1024
"""A pointer of git LFS is shorter."""
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
FILES = (0o100644, 0o100755)

STAYS = "the branch has it as it is checked out"
MISSING = "the branch does not have it"
AS_POINTER = "git LFS has the same bytes: the branch has the pointer to them"
AS_LINES = "it differs in line ends alone: the branch has it as it is checked out"
NO_POINTER = "git LFS had it: the branch has its bytes themselves"

Blob = Callable[[str], bytes]


class HeadEntry(NamedTuple):
    """A path of a commit."""

    mode: int
    oid: str


def entries_kept(
    snapshot: Snapshot,
    head: Mapping[str, HeadEntry],
    *,
    own: Collection[str],
    their_blob: Blob,
    our_blob: Blob,
) -> tuple[dict[str, HeadEntry], list[LeftOut]]:
    """Return what of a commit stays in a branch of a snapshot's files, and what to say.

    `own` are files and folders that no snapshot speaks of.
    """
    kept, said = {}, []
    left = {path for path, _ in snapshot.left_out if path}
    # What was left out without a name may be any file.
    is_vague = snapshot.left_out_count > len(left)
    folders = parents_of([*snapshot.files])
    for path, entry in head.items():
        if path in snapshot.files:
            same, reason = _in_another_form(
                snapshot.files[path], entry, their_blob=their_blob, our_blob=our_blob
            )
            if same is not None:
                kept[path] = same
            if reason is not None:
                said.append(LeftOut(path, reason))
        elif path in folders or is_in(path, snapshot.files):
            continue
        elif is_vague or is_in(path, left) or is_in(path, own):
            kept[path] = entry
    above = parents_of(kept)
    for path, reason in snapshot.left_out:
        what = STAYS if path in kept or path in above else MISSING
        said.append(LeftOut(path, f"{NOT_KNOWN} ({reason}): {what}"))
    return kept, sorted(said)


def _in_another_form(
    entry: TreeEntry, known: HeadEntry, *, their_blob: Blob, our_blob: Blob
) -> tuple[HeadEntry | None, str | None]:
    """Return the entry of a file that git holds in another form, and what to say of it."""
    if entry.is_link or known.mode not in FILES or known.oid == entry.oid:
        return None, None
    theirs, ours = their_blob(known.oid), our_blob(entry.oid)
    same = HeadEntry(0o100755 if entry.mode & 0o100 else 0o100644, known.oid)
    if theirs.startswith(_POINTER) and len(theirs) <= POINTER_BYTES_MAX:
        named = b"oid sha256:%s\n" % sha256(ours).hexdigest().encode()
        return (same, AS_POINTER) if named in theirs else (None, NO_POINTER)
    if b"\0" not in ours and ours.replace(b"\r\n", b"\n") == theirs.replace(b"\r\n", b"\n"):
        return same, AS_LINES
    return None, None
