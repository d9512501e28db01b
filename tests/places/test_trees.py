"""The identity of a work tree: made once, kept in a file, and different in a copy."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.service.place.location import Location, find, place_for_new
from sprintlog.engine.service.place.trees import KNOWN, find_tree, known_trees, make_tree

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t")


def _git(folder: Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)


def _location(root: Path) -> Location:
    location = place_for_new(root)
    location.folder.mkdir(exist_ok=True)
    return location


def _made(root: Path, *, told: list[str] | None = None, brought: str | None = None) -> str:
    """Return the id of a work tree that something is recorded in."""
    tell = (lambda problem: None) if told is None else told.append
    return make_tree(
        _location(root), entropy=os.urandom, brought=lambda: brought, tell=tell
    )


def _found(root: Path, *, brought: str | None = None) -> str | None:
    return find_tree(_location(root), lambda: brought)


@pytest.fixture(params=["git", "plain"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a work tree, with git and without."""
    root = tmp_path / "tree"
    root.mkdir()
    if request.param == "git":
        _git(root, "init", "-q")
        _git(root, "commit", "-q", "--allow-empty", "-m", "i")
    return root


def test_tree_gets_its_id_when_it_is_first_recorded_in(tree: Path) -> None:
    """Reading writes nothing; the file is for its owner, and the id is given once."""
    assert _found(tree) is None
    assert not list(tree.rglob("sprintlog-tree"))
    made = _made(tree)
    assert _made(tree) == _found(tree) == made
    (file,) = tree.rglob("sprintlog-tree")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.name == (".git" if (tree / ".git").is_dir() else ".sprintlog")
    assert [*known_trees(_location(tree))] == [made]


def test_moved_tree_is_the_same_tree(tree: Path) -> None:
    """A tree that was renamed keeps its id, and its new path is displayed."""
    made = _made(tree)
    moved = tree.rename(tree.with_name("elsewhere"))
    assert _found(moved) == _made(moved) == made
    assert known_trees(_location(moved))[made].shown == str(moved)


def test_tree_moved_as_a_copy_is_the_same_tree(tree: Path) -> None:
    """A copy continues the tree if the original is gone."""
    made = _made(tree)
    shutil.copytree(tree, tree.with_name("restored"), symlinks=True)
    shutil.rmtree(tree)
    assert _made(tree.with_name("restored")) == made


def test_tree_replaced_by_another_one_is_the_same_tree(tree: Path) -> None:
    """A copy continues the tree if a tree with another identity has replaced it."""
    made, told = _made(tree), list[str]()
    copy = tree.with_name("restored")
    shutil.copytree(tree, copy, symlinks=True)
    for file in [*tree.rglob("sprintlog-tree"), *tree.rglob(f"{KNOWN}/*")]:
        file.unlink()
    assert _made(tree) != made
    assert (_made(copy, told=told), told) == (made, [])


def test_copy_beside_the_original_gets_its_own_id(tree: Path) -> None:
    """A copied tree is a new tree, which is reported once."""
    made, told = _made(tree), list[str]()
    copy = tree.with_name("copy")
    shutil.copytree(tree, copy, symlinks=True)
    assert _found(copy) is None
    own = _made(copy, told=told)
    assert own != made
    assert _made(copy, told=told) == own
    assert len(told) == 1
    assert str(tree) in told[0]
    assert _made(tree) == made


def test_second_name_of_the_file_is_a_copy(tree: Path) -> None:
    """A tree copied with hard links is a new tree, although the inode is the same."""
    made = _made(tree)
    shutil.copytree(tree, tree.with_name("copy"), symlinks=True, copy_function=os.link)
    assert _made(tree.with_name("copy")) != made
    assert _made(tree) == made


def test_damaged_file_is_reported(tree: Path) -> None:
    """A link, or a file without an id, is neither followed nor replaced."""
    _made(tree)
    (file,) = tree.rglob("sprintlog-tree")
    for spoil in (lambda: file.write_text("x"), lambda: file.symlink_to("/etc/hostname")):
        file.unlink()
        spoil()
        with pytest.raises(InvalidInputError, match="sprintlog-tree cannot be read"):
            _made(tree)


def test_read_only_git_directory_has_a_derived_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the tree's file cannot be written, the root's device and inode are its id."""
    _git(tmp_path, "init", "-q")
    told: list[str] = []
    log = Location(tmp_path / ".sprintlog", tmp_path, "")
    log.folder.mkdir()

    def writing(real: Callable[..., None]) -> Callable[..., None]:
        def write(draft: Path, file: Path) -> None:
            if file.parent.name == ".git":
                raise PermissionError(30, "Read-only file system")
            real(draft, file)

        return write

    for name in ("link", "replace"):
        monkeypatch.setattr(os, name, writing(getattr(os, name)))
    one, other = (
        make_tree(log, entropy=os.urandom, brought=lambda: None, tell=told.append)
        for _ in range(2)
    )
    assert one == other == find_tree(log, lambda: None)
    assert len(told) == 1
    assert "cannot be written (Read-only file system)" in told[0]


def test_log_brought_alone_continues_its_only_tree(tree: Path) -> None:
    """A log without a record of its tree belongs to the main tree it was moved to."""
    only = "0123456789abcdef"
    assert _found(tree, brought=only) == _made(tree, brought=only) == only


def test_tree_that_another_process_named_meanwhile_keeps_that_id(tree: Path) -> None:
    """The file may be written between the first and the second read."""
    made = []

    def brought() -> None:
        made.append(_made(tree))

    assert [
        make_tree(_location(tree), entropy=os.urandom, brought=brought, tell=print)
    ] == made


def test_log_that_knows_trees_was_not_brought(tree: Path) -> None:
    """A new tree of a log that was used here does not take over another tree's identity."""
    made = _made(tree)
    (file,) = tree.rglob("sprintlog-tree")
    file.unlink()
    assert _made(tree, brought=made) != made


def test_linked_trees_have_their_own_ids(tmp_path: Path) -> None:
    """A linked tree keeps its id when it is moved; if added again, it gets a new id."""
    root, linked = tmp_path / "main", tmp_path / "linked"
    root.mkdir()
    _git(root, "init", "-q")
    _git(root, "commit", "-q", "--allow-empty", "-m", "i")
    _git(root, "worktree", "add", "-q", "../linked")
    main, other = _made(root), _made(linked, brought="0" * 16)
    assert main != other
    _git(root, "worktree", "move", "../linked", "../moved")
    assert _made(tmp_path / "moved") == other
    (tmp_path / "moved").rename(tmp_path / "again")
    _git(root, "worktree", "repair", "../again")
    assert _made(tmp_path / "again") == other
    _git(root, "worktree", "remove", "../again")
    _git(root, "worktree", "add", "-q", "-f", "../linked", "linked")
    assert _made(linked) not in (main, other)
    assert known_trees(_location(root))[other].path == str(tmp_path / "again")


def test_trees_of_a_bare_repository(tmp_path: Path) -> None:
    """The trees of a bare repository share its log, each with an id."""
    bare = tmp_path / "bare.git"
    _git(tmp_path, "init", "-q", "--bare", str(bare))
    tree = subprocess.check_output(
        [*GIT, "-C", str(bare), "hash-object", "-t", "tree", "-w", "/dev/null"], text=True
    ).strip()
    commit = subprocess.check_output(
        [*GIT, "-C", str(bare), "commit-tree", "-m", "i", tree], text=True
    ).strip()
    for name in ("one", "two"):
        _git(bare, "worktree", "add", "-q", "-b", name, f"../{name}", commit)
    assert _made(tmp_path / "one") != _made(tmp_path / "two")
    assert place_for_new(tmp_path / "one").folder == bare / "sprintlog"


def test_folder_outside_git_with_a_named_log(tmp_path: Path) -> None:
    """Folders that share a named log are identified by device and inode."""
    log = tmp_path / "log"
    log.mkdir()
    (log / "log.db").touch()
    ids = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        place = find(tmp_path / name, folder=str(log))
        ids.add(make_tree(place, entropy=bytes, brought=lambda: None, tell=print))
    assert len(ids) == 2


def test_tree_keeps_its_id_when_a_repository_is_made(tmp_path: Path) -> None:
    """`git init` in a work tree with a log does not make it a new tree."""
    log = Location(tmp_path / ".sprintlog", tmp_path, "")
    log.folder.mkdir()
    made = make_tree(log, entropy=os.urandom, brought=lambda: None, tell=print)
    _git(tmp_path, "init", "-q")
    assert find_tree(log, lambda: None) == made
