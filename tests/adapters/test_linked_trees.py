"""Removal of linked work trees without running git."""

import os
import subprocess
from pathlib import Path

import pytest

from sprintlog.engine.adapters.git.linked_trees import (
    administration,
    head_of,
    in_use,
    remove,
)
from sprintlog.engine.errors import RefusedError

from .trees import git, picture, put

PATH = "race/1"


@pytest.fixture
def base(root: Path, tmp_path: Path) -> Path:
    """Provide a folder with a linked work tree of the repository `root` at `PATH`."""
    git(root, "init", "-q")
    put(root / "f", b"x")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    for number in (1, 2):
        tree = str(tmp_path / "base/race" / str(number))
        git(root, "worktree", "add", "-q", "--detach", tree)
    return tmp_path / "base"


def test_tree_and_its_directory_are_removed(root: Path, base: Path) -> None:
    """Git no longer lists the work tree; links out of the tree are not followed."""
    put(base.parent / "outside/kept", b"x")
    (base / PATH / "link").symlink_to("../../../outside")
    directory = administration(root / ".git", base / PATH)
    assert directory is not None
    assert head_of(directory) == git(root, "rev-parse", "HEAD").strip()
    remove(base, PATH, directory)
    listed = git(root, "worktree", "list", "--porcelain")
    assert (str(base / "race/2") in listed, str(base / PATH) in listed) == (True, False)
    assert (base.parent / "outside/kept").exists()
    (base / "race/2.log").touch()
    remove(base, "race/2", administration(root / ".git", base / "race/2"), (".log", ".no"))
    assert not (base / "race").exists()
    assert not (root / ".git/worktrees").exists()
    remove(base, "race/2", None)


def test_tree_that_is_gone_still_has_its_directory(root: Path, base: Path) -> None:
    """The git directory is found by the path of a tree that was removed by hand."""
    subprocess.run(["rm", "-r", base / PATH], check=True)
    directory = administration(root / ".git", base / PATH)
    remove(base, PATH, directory)
    assert str(base / PATH) not in git(root, "worktree", "list")


@pytest.mark.parametrize("replaced", ["race/1", "race"])
def test_link_in_the_place_of_a_tree_is_refused(
    root: Path, base: Path, replaced: str
) -> None:
    """Nothing is removed through a link, whichever part of the path it replaces."""
    place = base / replaced
    place.rename(base.parent / "moved")
    put(base.parent / "elsewhere/1/kept", b"x")
    place.symlink_to("../elsewhere" if replaced == "race" else "../../elsewhere")
    before = picture(base.parent)
    with pytest.raises(RefusedError, match="cannot be removed"):
        remove(base, PATH, administration(root / ".git", base / PATH))
    assert picture(base.parent) == before


def test_tree_in_use_is_recognized(root: Path, base: Path) -> None:
    """A locked tree and the current folder of a process are in use."""
    directory = administration(root / ".git", base / PATH)
    assert in_use(base / PATH, directory) is None
    os.makedirs(base / PATH / "a/b")
    with subprocess.Popen(["cat"], cwd=base / PATH / "a/b", stdin=-1) as process:
        said = in_use(base / PATH, directory)
        process.terminate()
    assert said == f"process {process.pid} is working in it"
    git(root, "worktree", "lock", str(base / PATH))
    assert "it is locked" in (in_use(base / PATH, directory) or "")
