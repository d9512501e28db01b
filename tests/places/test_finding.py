"""Discovery of a log: the table of cases of the search."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.service.place import trust
from sprintlog.engine.service.place.location import ADDRESS, Location, find, place_for_new

from ..adapters.trees import git


def _repository(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-qm", "i", "--allow-empty")


def _submodule(top: Path) -> None:
    _repository(top / "repo")
    _repository(top / "lib")
    git(
        top / "repo",
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        "../lib",
        "sub",
    )


def _linked(top: Path) -> None:
    _repository(top / "repo")
    git(top / "repo", "worktree", "add", "-q", "../linked")


def _bare(top: Path) -> None:
    _repository(top / "source")
    git(top, "clone", "-q", "--bare", "source", "bare.git")
    git(top / "bare.git", "worktree", "add", "-q", "-b", "one", "../one")


def _odd_file(top: Path) -> None:
    (top / "odd" / "sub").mkdir(parents=True)
    (top / "odd" / ".git").write_text("gitdir: ../elsewhere\n")


def _repository_in(name: str) -> Callable[[Path], None]:
    return lambda top: _repository(top / name)


def _nothing(top: Path) -> None:
    """Make nothing."""


OUTSIDE, HOMES = "outside the repository", "HOME's log"
GITS = "repo/.git/sprintlog"
FOUND = {
    "repository": (_repository_in("repo"), GITS, "repo/a", "repo"),
    "plain folder": (_nothing, "plain/.sprintlog", "plain/a/b", "plain"),
    "linked worktree": (_linked, GITS, "linked/a", "linked"),
    "worktree of a bare repository": (_bare, "bare.git/sprintlog", "one/a", "one"),
    "submodule": (_submodule, "repo/.git/modules/sub/sprintlog", "repo/sub/a", "repo/sub"),
    "`init --here`": (_repository_in("repo"), "repo/a/.sprintlog", "repo/a/b", "repo/a"),
    "HOME itself": (_nothing, "home/.sprintlog", "home", "home"),
    "above HOME": (_nothing, ".sprintlog", "home/proj", "."),
}
"""A created log, an existing one, and its work tree."""
UNUSED = {
    "submodule": (_submodule, GITS, "repo/sub", OUTSIDE),
    "vendored clone": (_repository_in("repo/x"), "repo/.sprintlog", "repo/x/a", OUTSIDE),
    "odd `.git` file": (_odd_file, ".sprintlog", "odd/sub", OUTSIDE),
    "repository in HOME": (_repository_in("home/x"), "home/.sprintlog", "home/x", OUTSIDE),
    "folder in HOME": (_nothing, "home/.sprintlog", "home/x", HOMES),
}
"""The same of logs that are not used there, and why."""


def _prepared(
    tmp_path: Path, make: Callable[[Path], None], log: str, start: str
) -> tuple[Path, Path]:
    make(tmp_path)
    for folder in (tmp_path / log, tmp_path / start):
        folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / log / "log.db").touch()
    return tmp_path / log, tmp_path / start


@pytest.mark.parametrize("name", FOUND)
def test_log_of_the_work_tree_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest log up to the top of the repository is used."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    make, place, here, root = FOUND[name]
    log, start = _prepared(tmp_path, make, place, here)
    found = find(start)
    assert (found.folder, found.root) == (log, (tmp_path / root).resolve())


@pytest.mark.parametrize("name", UNUSED)
def test_log_of_another_tree_is_named_and_not_used(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log above the repository, or in HOME, is used only if SPRINTLOG_DIR names it."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    make, place, here, problem = UNUSED[name]
    log, start = _prepared(tmp_path, make, place, here)
    with pytest.raises(NotFoundError, match=problem) as missing:
        find(start)
    assert missing.value.fields["unused"] == str(log)
    assert f"SPRINTLOG_DIR={log} sprintlog log" in str(missing.value.hint)
    assert find(start, folder=str(log)).folder == log


def test_named_log_of_a_folder_in_a_repository_is_of_the_whole_tree(tmp_path: Path) -> None:
    """SPRINTLOG_DIR names the log; the work tree is the repository around the folder."""
    _linked(tmp_path)
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "log.db").touch()
    (tmp_path / "linked" / "a").mkdir()
    found = find(tmp_path / "linked" / "a", folder=str(tmp_path / "log"))
    assert (found.root, found.worktree) == (tmp_path / "linked", "linked")


@pytest.mark.parametrize("make", [lambda t: None, _repository])
def test_no_log_is_made_in_home(
    make: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HOME and `/` get a log only if its folder is named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    make(tmp_path)
    for start in (tmp_path, Path("/")):
        with pytest.raises(RefusedError, match="would record everything below it") as told:
            place_for_new(start)
        assert "SPRINTLOG_DIR" in str(told.value.hint)
    assert place_for_new(tmp_path, folder=str(tmp_path / "x")).folder == tmp_path / "x"
    (tmp_path / "proj").mkdir()
    assert place_for_new(tmp_path / "proj", here=True).root == tmp_path / "proj"


@pytest.mark.parametrize(
    ("listed", "trusted"),
    [
        (["*"], True),
        (["{tree}"], True),
        (["{above}/*"], True),
        (["{above}"], False),
        (["*", ""], False),
        ([], False),
    ],
)
def test_safe_directory_of_git_makes_a_log_trusted(
    listed: list[str], trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of another user is used if the person's git settings list its tree."""
    tree = tmp_path / "tree"
    _repository(tree)
    settings = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    settings.touch()
    for path in listed:
        said = path.format(tree=tree, above=tmp_path)
        add = ["git", "config", "--file", str(settings), "--add", "safe.directory", said]
        subprocess.run(add, check=True)
    # Configuration in the tree itself does not count.
    git(tree, "config", "safe.directory", "*")
    place = place_for_new(tree)
    monkeypatch.setattr(trust, "owned_by_another", lambda *paths: paths[0])
    if trusted:
        trust.check_trusted(place, safe=None)
        return
    with pytest.raises(RefusedError, match="belongs to another user"):
        trust.check_trusted(place, safe=None)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("mysql://host/log", "must start with postgresql"),
        ("postgresql://me:secret@host/db?log=x", "must not contain a password"),
    ],
)
def test_an_unusable_address_is_refused_with_its_file(
    tmp_path: Path, written: str, problem: str
) -> None:
    """An address in a log's folder names a server, and never contains a password."""
    (tmp_path / ADDRESS).write_text(written)
    place = Location(tmp_path, tmp_path, "")
    with pytest.raises(InvalidInputError, match=problem) as refused:
        _ = place.url
    assert refused.value.fields["file"] == str(tmp_path / ADDRESS)
    assert "secret" not in str(refused.value)
