"""Installed extensions are listed and tried, and failures name themselves."""

import os
import sys
from pathlib import Path

import pytest

from sprintlog.engine.extensions import GROUPS, installed

from ..cli.conftest import Run
from .conftest import broken

NAMES = {
    "agent": "acme-agent",
    "event": "x-acme-deployed",
    "importer": "acme-board",
    "notifier": "acme-file",
    "projection": "acme-deployments",
    "report": "acme-checks",
    "store": "acme-file",
}


def test_each_kind_is_listed_and_nothing_is_imported(acme: Path, done: Run) -> None:
    """A package's extensions are listed before any of them is imported."""
    sys.modules.pop("acme_sprintlog", None)
    listed = done("extensions", "list", "--json").json["extensions"]
    found = {
        one["kind"]: one["name"] for one in listed if one["package"] == "acme-sprintlog"
    }
    assert found == NAMES
    assert set(found) == set(GROUPS)
    assert "acme_sprintlog" not in sys.modules
    assert "x-acme-deployed" in done("extensions", "list", "--kind", "event").out


def test_check_says_that_each_can_be_used(acme: Path, done: Run) -> None:
    """Extensions of every kind are imported and found to be valid."""
    checked = done("extensions", "check", "--json").json["extensions"]
    assert [one["name"] for one in checked if one["problem"] is None]
    assert not [one for one in checked if one["problem"]]


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("events", "made = 1", "is not a msgspec.Struct"),
        ("projections", "class made: version = 1", "has no begin()"),
        ("reports", "made = 'text'", "cannot be called"),
        ("stores", "class made: pass", "has no create()"),
        ("importers", "raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("agents", "raise SystemExit(0)", "SystemExit"),
    ],
)
def test_one_that_fails_names_itself(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
    kind: str,
    code: str,
    said: str,
) -> None:
    """`extensions check` states the reason why each is unusable, and exits with 1."""
    site = tmp_path_factory.mktemp("site")
    broken(site, kind, "x-bad-one", code)
    monkeypatch.syspath_prepend(str(site))
    result = run("extensions", "check", "x-bad-one", "--json")
    (row,) = result.json["extensions"]
    assert result.code == 1
    assert said in row["problem"]


def test_two_of_one_name_are_refused(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    sprint: Path,
    run: Run,
) -> None:
    """If two packages provide the same name, neither is used, and both are named."""
    site = tmp_path_factory.mktemp("site")
    names = [broken(site, "projections", "acme-two", "made = 1") for _ in range(2)]
    monkeypatch.syspath_prepend(str(site))
    result = run("extensions", "project", "acme-two")
    assert result.code == 1
    assert all(name in result.err for name in names)


def test_nothing_is_found_in_the_folder_one_is_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package in the work tree is ignored, although Python would import it."""
    broken(folder, "events", "x-evil-event", "made = 1")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend("")
    assert not [one for one in installed() if one.name == "x-evil-event"]


def program(folder: Path, name: str, text: str = "echo it: $@") -> Path:
    """Create a program in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"sprintlog-{name}"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_a_program_on_the_path_is_a_command(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:
    """`sprintlog foo -h` runs `sprintlog-foo -h`, which is also listed."""
    outside = tmp_path_factory.mktemp("bin")
    file = program(outside, "foo")
    monkeypatch.setenv("PATH", f"{outside}{os.pathsep}/usr/bin")
    became: list[tuple[Path, list[str]]] = []
    monkeypatch.setattr(os, "execv", lambda path, words: became.append((path, words)))
    run("foo", "-h", "--json", "x")
    assert became == [(file, [str(file), "-h", "--json", "x"])]
    listed = run("extensions", "list", "--json").json["programs"]
    assert {"name": "foo", "file": str(file)} in listed


@pytest.mark.parametrize("way", ["whole", "relative", "empty", "link", "linked folder"])
def test_a_program_of_the_work_tree_is_not_run(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    run: Run,
    way: str,
) -> None:
    """Programs in the tree, relative PATH entries and links to the tree are not run."""
    (folder / ".git").mkdir()
    inner = folder / "deep" / "er"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    evil = program(folder / "bin", "evil")
    outside = tmp_path_factory.mktemp("bin")
    entry = str(folder / "bin")
    if way == "relative":
        entry = "../../bin"
    elif way == "empty":
        program(inner, "evil")
        entry = ""
    elif way == "link":
        (outside / "sprintlog-evil").symlink_to(evil)
        entry = str(outside)
    elif way == "linked folder":
        (outside / "in").symlink_to(folder / "bin")
        entry = str(outside / "in")
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}/usr/bin")
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("was run"))
    result = run("evil")
    assert result.code in (1, 2)
    if way not in ("relative", "empty"):
        assert "refusing to run" in result.err
    assert "evil" not in str(run("extensions", "list", "--json").json["programs"])


def test_a_command_of_ours_is_no_program(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """A program cannot replace an existing command."""
    outside = tmp_path_factory.mktemp("bin")
    program(outside, "status")
    monkeypatch.setenv("PATH", str(outside))
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("was run"))
    assert run("status").code == 3
