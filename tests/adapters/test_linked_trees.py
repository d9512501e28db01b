"""Removal of linked worktrees of attempts."""

import os
import subprocess
from pathlib import Path

import pytest

from sprintlog.engine.adapters.git.worktrees import OwnRepository, in_use
from sprintlog.engine.errors import RefusedError

from .trees import git, picture, put

RACE = "base/attempts/id/race"


@pytest.fixture
def own(root: Path, tmp_path: Path) -> OwnRepository:
    """Provide a repository with two linked worktrees in the folder `RACE`."""
    git(root, "init", "-q")
    put(root / "f", b"x")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    for number in (1, 2):
        git(root, "worktree", "add", "-q", "--detach", str(tmp_path / RACE / str(number)))
    return OwnRepository(root, os.environ)


def test_tree_and_its_directory_are_removed(own: OwnRepository, tmp_path: Path) -> None:
    """Git no longer lists the worktree; links out of the tree are not followed."""
    one, two = tmp_path / RACE / "1", tmp_path / RACE / "2"
    put(tmp_path / "outside/kept", b"x")
    (one / "link").symlink_to(tmp_path / "outside")
    known = own.known(one)
    assert known is not None
    assert (known["HEAD"], "detached" in known) == (own.commit(), True)
    own.remove(one)
    assert (own.known(one), own.known(two) is not None) == (None, True)
    assert (tmp_path / "outside/kept").exists()
    two.with_name("2.log").touch()
    own.remove(two, (".log", ".no"))
    assert not two.parent.exists()
    assert not (own.top / ".git/worktrees").exists()
    own.remove(two)


def test_tree_that_is_gone_still_has_its_directory(
    own: OwnRepository, tmp_path: Path
) -> None:
    """Git forgets a worktree that was removed by hand, also through a link."""
    (tmp_path / "link").symlink_to("base")
    subprocess.run(["rm", "-r", tmp_path / RACE / "1"], check=True)
    own.remove(tmp_path / RACE.replace("base", "link") / "1")
    assert own.known(tmp_path / RACE / "1") is None


@pytest.mark.parametrize("replaced", ["1", ""])
def test_link_in_the_place_of_a_tree_is_refused(
    own: OwnRepository, tmp_path: Path, replaced: str
) -> None:
    """Nothing is removed through a link, whichever part of the path it replaces."""
    place = tmp_path / RACE / replaced
    put(tmp_path / "elsewhere/1/kept", b"x")
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "elsewhere" / replaced)
    before = picture(tmp_path)
    with pytest.raises(RefusedError, match=r"cannot (be )?remove"):
        own.remove(tmp_path / RACE / "1")
    assert picture(tmp_path) == before


def test_tree_in_use_is_recognized(own: OwnRepository, tmp_path: Path) -> None:
    """A worktree with the current folder of a process is in use; git names locked ones."""
    tree = tmp_path / RACE / "1"
    assert in_use(tree) is None
    os.makedirs(tree / "a/b")
    with subprocess.Popen(["cat"], cwd=tree / "a/b", stdin=-1) as process:
        said = in_use(tree)
        process.terminate()
    assert said == f"process {process.pid} is working in it"
    git(own.top, "worktree", "lock", str(tree))
    assert "locked" in (own.known(tree) or {})
