"""Creates a branch with a snapshot's files in the user's repository.

Only the branch and its objects are written. The objects are added as one pack, and the
branch is created only if it does not exist. No work tree, index or hook is used.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import NotFoundError, RefusedError
from ..git.command import Git, GitError, said_by
from ..git.line_origin import quoted
from ..git.repositories import GitRepository, common_directory, git_directory
from ..git.untrusted import borrowed
from .entries import LeftOut, Snapshot, TreeEntry, parents_of
from .objects import blobs_of
from .plan import NOT_KNOWN, is_in
from .store import FILES, Store

POINTER_BYTES_MAX = 1024
"""The maximum size of a Git LFS pointer file."""
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
FILE_MODES = (0o100644, 0o100755)

STAYS = "the branch contains the checked-out version"
MISSING = "the branch does not have it"
AS_POINTER = "git LFS has the same bytes: the branch has the pointer to them"
AS_LINES = "it differs in line ends alone: the branch contains the checked-out version"
NO_POINTER = "git LFS had it: the branch has its bytes themselves"

Blob = Callable[[str], bytes]


class HeadEntry(NamedTuple):
    """The mode and object id of a path in a commit."""

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
    """Return a commit's entries to keep in a snapshot's branch, and remarks about paths.

    `own` contains files and folders that no snapshot includes.
    """
    kept, said = {}, []
    left = {path for path, _ in snapshot.left_out if path}
    # An omitted path that is not listed may be any file.
    is_vague = snapshot.left_out_count > len(left)
    folders = parents_of([*snapshot.files])
    for path, entry in head.items():
        if path in snapshot.files:
            same, reason = in_another_form(
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


def in_another_form(
    entry: TreeEntry, known: HeadEntry, *, their_blob: Blob, our_blob: Blob
) -> tuple[HeadEntry | None, str | None]:
    """Return git's entry for a file that git stores in another form, and a remark."""
    if entry.is_link or known.mode not in FILE_MODES or known.oid == entry.oid:
        return None, None
    theirs, ours = their_blob(known.oid), our_blob(entry.oid)
    same = HeadEntry(0o100755 if entry.mode & 0o100 else 0o100644, known.oid)
    if theirs.startswith(_POINTER) and len(theirs) <= POINTER_BYTES_MAX:
        named = b"oid sha256:%s\n" % sha256(ours).hexdigest().encode()
        return (same, AS_POINTER) if named in theirs else (None, NO_POINTER)
    if b"\0" not in ours and ours.replace(b"\r\n", b"\n") == theirs.replace(b"\r\n", b"\n"):
        return same, AS_LINES
    return None, None


EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def make_branch(
    store: Store,
    snapshot: Snapshot,
    root: Path,
    name: str,
    *,
    message: str,
    own: Collection[str],
    parent: str | None = None,
) -> tuple[str, list[LeftOut]]:
    """Create a branch whose newest commit contains a snapshot's files.

    Return that commit, and the paths that differ from the snapshot. The commit's parent is
    `parent` or, by default, the checked-out commit, if any, whose entries are used for
    paths that the snapshot omitted and for `own` paths. Raise `RefusedError` if the name is
    invalid or there is no repository.
    """
    repository = repository_at(root)
    directory = repository.directory
    theirs = Git(directory, store.git.environment)
    ref = f"refs/heads/{name}"
    try:
        named = store.git.run("check-ref-format", "--branch", name)
    except GitError:
        named = b""
    if named.rstrip(b"\n") != os.fsencode(name):
        raise RefusedError(f"{name[:80]!r} is not a valid branch name")
    if theirs.run("rev-parse", "--show-object-format").strip() != b"sha1":
        raise RefusedError(f"cannot create a branch: {root} does not use SHA-1")
    if theirs.run("for-each-ref", "--format=x", ref):
        raise RefusedError(f"branch {name} already exists", branch=name)
    head = parent or _head(theirs)
    objects = repository.common / "objects"
    tree, left = _whole_tree(store, snapshot, repository, head, own=own, objects=objects)
    _hand_over(store, tree, head, objects)
    parents = ["-p", head] if head else []
    made = theirs.run_in(
        directory,
        "commit-tree",
        tree,
        *parents,
        given=message.encode(),
        variables=dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "sprintlog")
        | dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "sprintlog@localhost"),
        umask=-1,
    )
    new = made.decode().strip()
    theirs.run_in(directory, "update-ref", ref, new, "0" * 40, umask=-1)
    return new, left


def make_patch(
    store: Store, snapshot: Snapshot, root: Path, commit: str, *, own: Collection[str]
) -> tuple[bytes, list[LeftOut]]:
    """Return a patch for `git apply` from a commit to a snapshot, as for `make_branch`.

    Nothing is written to the repository. The lock must be held.
    """
    repository, objects = repository_at(root), store.git.folder / "objects"
    known = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(repository.common / "objects")}
    tree, left = _whole_tree(store, snapshot, repository, commit, own=own, objects=objects)
    call = ("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames")
    folder = store.git.folder
    return store.git.run_in(folder, *call, commit, tree, variables=known), left


def repository_at(root: Path) -> GitRepository:
    """Return the repository of a work tree's root; raise `NotFoundError` if none."""
    directory = git_directory(root / ".git")
    if directory is None:
        raise NotFoundError(
            f"{root} is not a git repository",
            hint="omit --branch to write the files into a new folder",
        )
    directory = (root / directory).resolve()
    return GitRepository(root, directory, common_directory(directory))


def _whole_tree(
    store: Store,
    snapshot: Snapshot,
    repository: GitRepository,
    head: str,
    *,
    own: Collection[str],
    objects: Path,
) -> tuple[str, list[LeftOut]]:
    """Create a tree with a snapshot's files and a commit's other entries in `objects`."""
    with borrowed(repository, store.git.environment) as git:
        entries = entries_of(git, head)
        with store.blobs() as ours, blobs_of(git) as blob:

            def theirs_or_nothing(oid: str) -> bytes:
                # A partial clone lacks some objects, and nothing is fetched for this.
                try:
                    return blob(oid)
                except GitError:
                    return b""

            kept, left = entries_kept(
                snapshot, entries, own=own, their_blob=theirs_or_nothing, our_blob=ours
            )
    call = ("ls-tree", "-d", "--format=%(objectname)", snapshot.commit, FILES)
    tree = store.git.run(*call).decode().strip() or EMPTY_TREE
    return (_tree_with(store, tree, kept, objects) if kept else tree), left


def _head(theirs: Git) -> str:
    """Return the commit that is checked out, or an empty string if there is none."""
    try:
        return theirs.run("rev-parse", "--verify", "-q", "HEAD^{commit}").decode().strip()
    except GitError:
        return ""


def entries_of(theirs: Git, head: str) -> dict[str, HeadEntry]:
    """Return the entries of all paths in a commit."""
    found = {}
    listed = theirs.run("ls-tree", "-r", "-z", "--full-tree", head) if head else b""
    for line in filter(None, listed.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _, oid = about.split()
        found[os.fsdecode(path)] = HeadEntry(int(mode, 8), oid.decode())
    return found


def _tree_with(
    store: Store, tree: str, entries: Mapping[str, HeadEntry], objects: Path
) -> str:
    """Create a tree with replaced entries in another repository's object store."""
    lines = b"".join(
        b"%o %s\t%s\0" % (mode, oid.encode(), os.fsencode(path))
        for path, (mode, oid) in entries.items()
    )
    with tempfile.TemporaryDirectory(dir=store.folder) as folder:
        own = {
            "GIT_INDEX_FILE": f"{folder}/index",
            "GIT_OBJECT_DIRECTORY": str(objects),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(store.git.folder / "objects"),
        }

        def call(*arguments: str, given: bytes = b"") -> bytes:
            return store.git.run_in(
                store.git.folder, *arguments, given=given, variables=own, umask=-1
            )

        call("read-tree", tree)
        call("update-index", "-z", "--index-info", given=lines)
        return call("write-tree", "--missing-ok").decode().strip()


def _hand_over(store: Store, tree: str, head: str, objects: Path) -> None:
    """Add a tree and its missing objects to another repository as one pack.

    The other repository's settings are not read.
    """
    meant = f"{tree}\n^{head}\n" if head else f"{tree}\n"
    theirs = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(objects)}
    into = {"GIT_OBJECT_DIRECTORY": str(objects)}
    call = ["pack-objects", "--revs", "--stdout", "-q"]
    with tempfile.TemporaryFile(dir=store.folder) as pack:
        _pipe(store.git, call, theirs, input=meant.encode(), stdout=pack)
        pack.seek(0)
        call = ["index-pack", "--stdin", "--fix-thin"]
        _pipe(store.git, call, into, stdin=pack, stdout=subprocess.PIPE)


def _pipe(git: Git, call: list[str], variables: dict[str, str], **ends: Any) -> None:
    done = subprocess.run(
        git.command(*call),
        cwd=git.folder,
        env=git.settings(**variables),
        stderr=subprocess.PIPE,
        check=False,
        **ends,
    )
    if done.returncode:
        raise GitError(said_by(done.stderr, done.returncode))
