"""The saved files of a work tree: those that git would see, without nested repositories."""

from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots.listing import GITS_OWN, NESTED, may_lead_to
from sprintlog.engine.adapters.snapshots.store import Store

from .trees import environment, git, put, reasons, taken


def test_ignored_files_are_left_unless_asked_for(root: Path, store: Store) -> None:
    """Ignored files are omitted, except those that match the patterns."""
    git(root, "init", "-q")
    put(root / ".gitignore", b"*.log\nbuild/\n.env\n")
    for name in ("a.log", "build/x/y.o", "build/keep/z.txt", ".env", "src/.env", "seen"):
        put(root / name, b"x")
    files = store.read(taken(store, root).commit).files
    assert sorted(files) == [".gitignore", "seen"]
    patterns = (".env", "build/**/*.txt")
    files = store.read(taken(store, root, patterns=patterns).commit).files
    assert sorted(files) == [".env", ".gitignore", "build/keep/z.txt", "seen"]


def test_tracked_files_are_never_ignored(root: Path, store: Store) -> None:
    """A tracked file is saved even if a pattern would ignore it."""
    git(root, "init", "-q")
    put(root / "build/tracked", b"x")
    put(root / "build/other", b"x")
    git(root, "add", "build/tracked")
    put(root / ".gitignore", b"build/\n")
    files = store.read(taken(store, root).commit).files
    assert sorted(files) == [".gitignore", "build/tracked"]


def test_person_and_repository_ignore_too(
    root: Path, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository's exclude file and the user's are applied, as in git."""
    git(root, "init", "-q")
    put(tmp_path / "home/mine", b"*.mine\n")
    put(tmp_path / "home/.gitconfig", b"[core]\n\texcludesFile = ~/mine\n")
    put(root / ".git/info/exclude", b"*.theirs\n")
    for name in ("a.mine", "a.theirs", "seen"):
        put(root / name, b"x")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    own = Store(store.folder, environment())
    assert sorted(own.read(taken(own, root).commit).files) == ["seen"]


def test_linked_work_trees_are_taken_each_for_itself(
    root: Path, store: Store, tmp_path: Path
) -> None:
    """A linked work tree is saved like any other, with the repository's ignore rules."""
    git(root, "init", "-q")
    put(root / "a", b"a")
    git(root, "add", "a")
    git(root, "commit", "-qm", "a")
    put(root / ".git/info/exclude", b"*.log\n")
    git(root, "worktree", "add", "-q", str(tmp_path / "linked"))
    put(tmp_path / "linked/b", b"b")
    put(tmp_path / "linked/b.log", b"b")
    assert sorted(store.read(taken(store, root).commit).files) == ["a"]
    linked = store.read(taken(store, tmp_path / "linked").commit)
    assert sorted(linked.files) == ["a", "b"]


def test_nested_repositories_are_named_and_left(root: Path, store: Store) -> None:
    """Submodules and nested repositories are not saved, and each is reported."""
    git(root, "init", "-q")
    for name in ("inner", "vendor/deep"):
        (root / name).mkdir(parents=True)
        git(root / name, "init", "-q")
        put(root / name / "file", b"x")
    git(root / "inner", "add", "file")
    git(root / "inner", "commit", "-qm", "x")
    git(
        root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", "./inner", "sub"
    )
    made = taken(store, root)
    assert reasons(made) == {"inner": NESTED, "vendor/deep": NESTED, "sub": NESTED}
    assert sorted(store.read(made.commit).files) == [".gitmodules"]


def test_bare_repository_is_files_like_others(root: Path, store: Store) -> None:
    """An embedded bare repository is saved as plain files, and nothing in it runs."""
    git(root, "init", "-q", "--bare", "inner")
    put(root / "inner/hooks/post-commit", b"#!/bin/sh\ntouch /tmp/ran\n", 0o755)
    made = taken(store, root)
    assert made.left_out == []
    assert "inner/hooks/post-commit" in store.read(made.commit).files


def test_names_that_mean_gits_folder_are_left(root: Path, store: Store) -> None:
    """Names that some system treats as `.git` are never in a snapshot."""
    names = (".GIT", ".gIt ", ".git.", "git~1", ".g\u200cit", ".git::$INDEX_ALLOCATION")
    for name in names:
        put(root / name / "config", b"x")
    put(root / "sub/.GIT", b"x")
    put(root / ".gitignore", b"")
    made = taken(store, root)
    assert reasons(made) == dict.fromkeys([*names, "sub/.GIT"], GITS_OWN)
    assert [*store.read(made.commit).files] == [".gitignore"]


@pytest.mark.parametrize(
    ("pattern", "folder", "expected"),
    [
        ("a/b", "a", True),
        ("a/b", "a/b/c", True),
        ("a/**/c", "a/x", True),
        ("**/c", "x/y", True),
        ("a/*", "a/x", True),
        ("a/b", "b", False),
        ("a/**/c", "b/x", False),
        ("a/*/z", "b/x", False),
        ("*.txt", "x", False),
    ],
)
def test_only_folders_that_a_pattern_can_match_are_searched(
    pattern: str, folder: str, expected: bool
) -> None:
    """An ignored folder is searched if and only if a pattern may match something in it."""
    assert may_lead_to([pattern], folder) is expected
