"""A repository is read without running, following or querying anything it names."""

import subprocess
from pathlib import Path

import pytest

from sprintlog.engine.adapters.git.repositories import GitRepository, repository_around
from sprintlog.engine.adapters.git.untrusted import borrowed
from sprintlog.engine.errors import RefusedError

from .traps import Trap
from .trees import environment, git, picture, put

SIGNED = (
    "tree {tree}\nauthor A <a@example.org> 1700000000 +0000\n"
    "committer A <a@example.org> 1700000000 +0000\n"
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nsigned\n"
)


def test_history_of_a_hostile_repository_is_read_and_nothing_run(
    trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signatures, monitors, remotes, hooks, pagers and aliases are never started."""
    _sign(trap.root)
    lost = _lose_a_blob(trap.root)
    plain = subprocess.run(["git", "log"], cwd=trap.root, env=environment(), check=False)
    assert (plain.returncode, trap.is_sprung) == (0, True)
    trap.mark.unlink()
    before = picture(trap.root / ".git")
    # From inside the tree, because `.` is in PATH.
    monkeypatch.chdir(trap.root)
    with borrowed(_repository(trap.root), trap.variables()) as reading:
        said = reading.read("log", "--format=%s", "-p", "--", "a.txt")
        assert reading.read("cat-file", "blob", "HEAD:a.txt") == b"a $Id$\r\n"
        with pytest.raises(RefusedError):
            reading.read("cat-file", "blob", lost)
        reading.read_tree("status", "--porcelain")
        assert b"a.txt\0" in reading.read_tree("ls-files", "-z", "--", ".")
    assert said.startswith(b"signed\n")
    assert not trap.is_sprung
    assert picture(trap.root / ".git") == before


@pytest.mark.parametrize(
    "options", [(), ("--object-format=sha256",)], ids=["sha1", "sha256"]
)
def test_reads_what_the_repository_holds(root: Path, options: tuple[str, ...]) -> None:
    """Packed, split or linked: the history and the list of tracked files are the same."""
    git(root, "init", "-q", *options)
    for text in (b"one", b"two"):
        put(root / "sub/file", text)
        git(root, "add", ".")
        git(root, "commit", "-qm", text.decode())
    put(root / ".git/info/exclude", b"*.log\n")
    put(root / "a.log", b"")
    git(root, "gc", "-q")
    git(root, "pack-refs", "--all")
    git(root, "update-index", "--split-index")
    git(root, "worktree", "add", "-q", "../linked")
    for top in (root, root.parent / "linked"):
        with borrowed(_repository(top / "sub"), environment()) as reading:
            assert reading.repository.top == top
            assert reading.read("log", "--format=%s", "--", "sub/file") == b"two\none\n"
            assert reading.read_tree("ls-files") == b"sub/file\n"
            ignored = ("ls-files", "--others", "--ignored", "--exclude-standard")
            assert reading.read_tree(*ignored) == (b"a.log\n" if top == root else b"")


def test_shallow_history_ends_where_it_was_cut(root: Path) -> None:
    """Objects missing in a shallow clone are not damage."""
    git(root, "init", "-q")
    for text in (b"one", b"two"):
        put(root / "file", text)
        git(root, "add", ".")
        git(root, "commit", "-qm", text.decode())
    git(root.parent, "clone", "-q", "--depth=1", f"file://{root}", "shallow")
    with borrowed(_repository(root.parent / "shallow"), environment()) as reading:
        assert reading.read("log", "--format=%s") == b"two\n"


def _repository(folder: Path) -> GitRepository:
    found = repository_around(folder)
    assert found is not None
    return found


def _sign(root: Path) -> None:
    quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    tree = git(root, *quiet, "rev-parse", "HEAD^{tree}").strip()
    put(root.parent / "signed", SIGNED.format(tree=tree).encode())
    made = git(root, *quiet, "hash-object", "-t", "commit", "-w", "../signed").strip()
    git(root, *quiet, "update-ref", "HEAD", made)


def _lose_a_blob(root: Path) -> str:
    put(root.parent / "lost", b"lost")
    oid = git(root, "hash-object", "-w", "--no-filters", "../lost").strip()
    (root / ".git/objects" / oid[:2] / oid[2:]).unlink()
    return oid
