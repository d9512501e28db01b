"""A snapshot's files as a new branch of the person's own repository.

Nothing there but the branch and what it needs is written: objects go in as one pack, the
branch is made only where there is none, and no work tree, index or hook has a part in it.
"""

import os
import subprocess
import tempfile
from pathlib import Path

from ...errors import NotFoundError, RefusedError
from ..git import Git, GitError, said_by
from ..repositories import common_directory, git_directory
from .store import FILES, Store

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def make_branch(store: Store, commit: str, root: Path, name: str, *, message: str) -> str:
    """Make a branch whose newest commit holds a snapshot's files; return that commit.

    It follows the commit that is checked out, where there is one. Raise `RefusedError`
    for a name that is taken or no name, and without a repository.
    """
    directory = git_directory(root / ".git")
    if directory is None:
        raise NotFoundError(
            f"{root} is no git repository",
            hint="without --branch the files come into a new folder",
        )
    directory = (root / directory).resolve()
    theirs = Git(directory, store.git.environment)
    ref = f"refs/heads/{name}"
    try:
        named = store.git.run("check-ref-format", "--branch", name)
    except GitError:
        named = b""
    if named.rstrip(b"\n") != os.fsencode(name):
        raise RefusedError(f"{name[:80]!r} cannot be a branch's name")
    if theirs.run("rev-parse", "--show-object-format").strip() != b"sha1":
        raise RefusedError(f"{root}: only repositories with SHA-1 can take a branch")
    if theirs.run("for-each-ref", "--format=x", ref):
        raise RefusedError(f"there is a branch {name} already", branch=name)
    tree = _tree_of(store, commit)
    _hand_over(store, tree, common_directory(directory) / "objects")
    head = _head(theirs)
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
    return new


def _tree_of(store: Store, commit: str) -> str:
    listed = store.git.run("ls-tree", "-d", "--format=%(objectname)", commit, FILES)
    return listed.decode().strip() or EMPTY_TREE


def _head(theirs: Git) -> str:
    """Return the commit that is checked out; nothing before the first one."""
    try:
        return theirs.run("rev-parse", "--verify", "-q", "HEAD^{commit}").decode().strip()
    except GitError:
        return ""


def _hand_over(store: Store, tree: str, objects: Path) -> None:
    """Put a tree and all that it holds into another repository, as one pack.

    The other one's settings are not read for that.
    """
    with tempfile.TemporaryFile(dir=store.folder) as pack:
        _pipe(store.git, ["pack-objects", "--revs", "--stdout", "-q"], tree, pack.fileno())
        pack.seek(0)
        done = subprocess.run(
            store.git.command("index-pack", "--stdin", "--fix-thin"),
            cwd=store.git.folder,
            env=store.git.settings(GIT_OBJECT_DIRECTORY=str(objects)),
            stdin=pack,
            capture_output=True,
            check=False,
        )
    if done.returncode:
        raise GitError(said_by(done.stderr, done.returncode))


def _pipe(git: Git, arguments: list[str], given: str, out: int) -> None:
    done = subprocess.run(
        git.command(*arguments),
        cwd=git.folder,
        env=git.settings(),
        input=f"{given}\n".encode(),
        stdout=out,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise GitError(said_by(done.stderr, done.returncode))
