"""Snapshots whose bytes are damaged: reported, never partly restored, and repaired."""

from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots import placement
from sprintlog.engine.adapters.snapshots.objects import DamagedError, object_id

from ...adapters.trees import git, put
from ..conftest import Run
from ..restores import STATE, cut_short, files

pytestmark = pytest.mark.long

STORE = ".git/sprintlog/snapshots/store.git"


def damage(tree: Path, content: bytes) -> None:
    """Flip a bit in the stored bytes of a file."""
    for pack in (tree / STORE / "objects/pack").glob("*.pack"):
        index = str(pack.with_suffix(".idx"))
        listed = git(tree, "verify-pack", "-v", index).splitlines()
        for line in listed:
            if line.startswith(object_id("blob", content)):
                stored = bytearray(pack.read_bytes())
                stored[int(line.split()[4]) + 4] ^= 4
                pack.chmod(0o600)
                pack.write_bytes(stored)


def test_damage_is_found(tree: Path, done: Run, run: Run) -> None:
    """`verify --full` and `doctor` read the store; lost files are named."""
    done("verify", "--full")
    assert ("snapshots", "ok") in checks(run)
    damage(tree, b"good\n")
    done("verify")
    answer = run("verify", "--full", "--json")
    found = {each["where"]: each["what"] for each in answer.json["findings"]}
    assert answer.code == 4
    assert [where for where in found if where.endswith(".pack")]
    assert [where for where in found if where.startswith("auth snapshot")]
    assert (run("doctor").code, ("snapshots", "problem") in checks(run)) == (4, True)


def checks(run: Run) -> list[tuple[str, str]]:
    """Return the names and verdicts of `doctor`."""
    given = run("doctor", "--json").json["checks"]
    return [(check["check"], check["status"]) for check in given]


def test_damaged_files_stop_a_restore_before_it_begins(
    tree: Path, done: Run, run: Run
) -> None:
    """If a requested file is damaged, nothing is recorded; others can be restored."""
    before = files(tree)
    damage(tree, b"good\n")
    ways = (("--into", "../out"), ("--branch", "out"), ("--apply", "--yes"))
    words = [("restore", "iter:1", *way) for way in ways]
    for typed in (*words, ("rollback", "iter:1", "--files", "--yes")):
        result = run(*typed)
        assert (result.code, "damaged in the store" in result.err) == (1, True), result
    assert files(tree) == before
    assert not (tree.parent / "out").exists()
    assert "restore-started" not in done("log").out


def test_what_the_tree_still_has_is_stored_again(tree: Path, done: Run, run: Run) -> None:
    """The next snapshot does not use damaged data: it reads the files."""
    damage(tree, b"worse\n")
    done("iteration", "snapshot")
    wanted = files(tree)
    put(tree / "src/login", b"later\n")
    done("rollback", "iter:2", "--files", "--yes")
    assert files(tree) == wanted
    done("verify", "--full")
    assert ("snapshots", "note") in checks(run)


@pytest.fixture
def unlucky(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make restores fail as long as there is a path in the list."""
    paths: list[str] = []
    write = placement._Placer._write

    def fail(self: placement._Placer, descriptor: int, name: str, path: str) -> str | None:
        if path in paths:
            raise DamagedError("it is damaged since")
        return write(self, descriptor, name, path)

    monkeypatch.setattr(placement._Placer, "_write", fail)
    return paths


def test_unfinished_restore_can_be_given_up(
    tree: Path, done: Run, run: Run, unlucky: list[str]
) -> None:
    """Files and state are unchanged, and the restore is not finished later."""
    before, state = files(tree), (tree / STATE).read_bytes()
    unlucky.append("src/login")
    result = run("rollback", "iter:1", "--yes")
    assert (result.code, "damaged since" in result.err) == (1, True)
    assert files(tree) != before
    unlucky.clear()
    answer = done("undo", "--yes", "--json").json
    assert [event["type"] for event in answer["events"]] == [
        "rolled-back",
        "files-restored",
    ]
    assert (files(tree), (tree / STATE).read_bytes()) == (before, state)
    done("note", "next")
    assert files(tree) == before
    assert run("undo", "--yes").code == 1
    done("verify")


def test_giving_up_takes_no_later_work_away(
    tree: Path, done: Run, run: Run, unlucky: list[str]
) -> None:
    """Later records remain, and files that cannot be restored are named."""
    unlucky.append("src/login")
    assert run("rollback", "iter:1", "--yes").code == 1
    said = done("phase", "complete", "setup").err
    assert "cannot be finished: " in said
    assert "`sprintlog undo --yes`" in said
    put(tree / "since", b"since\n")
    undone = run("undo", "--yes", "--json")
    assert undone.code == 4
    answer = undone.json
    assert [event["type"] for event in answer["events"]] == ["files-restored"]
    assert [one["path"] for one in answer["files"]["left"]] == ["src/login"]
    assert files(tree)["since"] == b"since\n"
    assert b"completed" in (tree / STATE).read_bytes()


def test_giving_up_what_was_not_begun(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that was killed before its first file leaves nothing to restore."""
    before = files(tree)
    cut_short(done, monkeypatch)
    assert "files-restored" in done("undo", "--yes").out
    done("note", "next")
    assert files(tree) == before
