"""Merging files of another sprint's iteration into this work tree."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from sprintlog.engine.service.work_tree import restore

from ...adapters.trees import git, put
from ..conftest import Run
from ..restores import files

LINES = b"".join(b"%d\n" % number for number in range(9))
SOURCE = ("--from", "fix@1")


def with_line(number: int, text: bytes, content: bytes = LINES) -> bytes:
    """Return a text in which a line is replaced."""
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:number], text + b"\n", *lines[number + 1 :]])


@pytest.fixture
def linked(folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Provide a linked work tree in whose sprint `fix` an iteration changed files.

    The current folder is the main work tree, which has no sprint.
    """
    main, linked = folder / "main", folder / "linked"
    git(folder, "init", "-q", "main")
    for name, content in (("f", LINES), ("gone", b"x"), ("d/same", b"x"), ("run", b"x")):
        put(main / name, content)
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", str(linked))
    monkeypatch.chdir(linked)
    done("init")
    done("sprint", "create", "fix", "--goal", "it works")
    done("sprint", "start")
    done("iteration", "snapshot")
    done("iteration", "start")
    put(linked / "f", with_line(0, b"theirs"))
    put(linked / "d/new", b"new\n")
    (linked / "run").chmod(0o755)
    (linked / "gone").unlink()
    done("iteration", "snapshot")
    monkeypatch.chdir(main)
    return linked


def test_changes_are_merged_and_undone(linked: Path, run: Run, done: Run) -> None:
    """The plan is shown first; the recorded restore names its source; the hint works."""
    put(Path("f"), with_line(8, b"ours"))
    before = files(Path.cwd())
    said = run("restore", ".", *SOURCE)
    assert (said.code, "merge  f\n" in said.out) == (1, True)
    assert "receive the changes of fix@1\ncreate  d/new\nreplace  run\nremove  gone" in (
        said.out
    )
    assert files(Path.cwd()) == before
    said = done("restore", ".", *SOURCE, "--yes")
    expected = with_line(0, b"theirs", with_line(8, b"ours"))
    assert files(Path.cwd()) == {
        "f": expected, "d/same": b"x", "d/new": b"new\n", "run": b"x"
    }  # fmt: skip
    assert Path("run").stat().st_mode & 0o111 == 0o111
    (event,) = done("log", "--sprint", "fix", "--type", "restore-started", "--json").lines
    assert (event["data"]["source"], event["data"]["iteration"]) == ("fix", 1)
    assert "nothing to do" in done("restore", "d", "run", *SOURCE, "--yes").out
    hint = said.err.partition("`sprintlog ")[2].partition("`")[0]
    done(*hint.split(), "--yes")
    assert files(Path.cwd()) == before


def test_only_given_paths_are_merged(linked: Path, run: Run, done: Run) -> None:
    """A folder stands for its files; an unknown path and a malformed source are errors."""
    done("restore", "d", *SOURCE, "--yes")
    assert git(Path.cwd(), "status", "--porcelain") == "?? d/new\n"
    assert "no such file" in run("restore", "no", *SOURCE, "--yes").err
    assert run("restore", "d", "--from", "fix").code == 2
    assert run("restore", "d", *SOURCE, "--into", "x").code == 2
    assert run("restore", "d", "--from", "other@1").code == 3


def test_conflicts_are_shown_as_by_git(linked: Path, run: Run, done: Run) -> None:
    """The exit status is 1, also of a dry run; markers are written only with consent."""
    put(Path("f"), with_line(0, b"ours"))
    put(Path("gone"), b"changed")
    hunk = "<<<<<<< work tree\nours\n=======\ntheirs\n>>>>>>> fix@1\n"
    said = run("restore", "f", "gone", *SOURCE, "--dry-run")
    assert said.code == 1
    assert f"CONFLICT (content): Merge conflict in f\n{hunk}CONFLICT (modify" in said.out
    assert Path("f").read_bytes() == with_line(0, b"ours")
    answer = run("restore", "f", "gone", *SOURCE, "--yes", "--json")
    conflicts = [one["path"] for one in answer.json["files"]["conflicts"]]
    assert (answer.code, conflicts) == (1, ["f", "gone"])
    assert Path("f").read_bytes() == hunk.encode() + b"".join(LINES.splitlines(True)[1:])
    again = run("restore", "f", *SOURCE, "--yes")
    assert (again.code, again.out.splitlines()[0]) == (1, "nothing can be restored")


def test_commit_is_the_base_without_an_earlier_snapshot(
    linked: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that git stores with other line ends are not changed files."""
    main, late = linked.with_name("main"), linked.with_name("late")
    git(main, "worktree", "add", "-q", str(late))
    git(main, "config", "core.autocrlf", "input")
    put(late / "run", b"y\r\n")
    git(late, "commit", "-qam", "second")
    git(main, "merge", "-q", "late")
    monkeypatch.chdir(late)
    wrapped = ["wrap", "--", "sed", "-i", "1s/.*/later/", "f"]
    subprocess.run([sys.executable, "-m", "sprintlog.cli", *wrapped], check=True)
    done("iteration", "snapshot")
    (name,) = {one["sprint"] for one in done("sprint", "list", "--json").json} - {"fix"}
    monkeypatch.chdir(main)
    put(main / "run", b"mine\r\n")
    put(main / "f", with_line(8, b"ours"))
    done("restore", ".", "--from", f"{name}@1", "--yes")
    assert files(main)["f"] == with_line(8, b"ours", with_line(0, b"later"))
    assert files(main)["run"] == b"mine\r\n"


def test_link_out_of_the_tree_is_not_followed(linked: Path, run: Run) -> None:
    """A folder that is a link here is in the way of new files."""
    outside = linked.with_name("outside")
    outside.mkdir()
    for path in sorted(Path("d").rglob("*")):
        path.unlink()
    Path("d").rmdir()
    Path("d").symlink_to(outside)
    said = run("restore", "d", *SOURCE, "--yes")
    assert "CONFLICT (file/directory): file in the way of d/new from fix@1" in said.out
    assert (said.code, [*outside.iterdir()]) == (1, [])


def test_killed_merge_is_finished_or_undone(
    linked: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merge that was recorded and not written is repeated with the same result."""
    for ending in (
        ("restore", "f", *SOURCE, "--yes"),
        ("undo", "--sprint", "fix", "--yes"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(restore, "_finish", lambda *_, **__: [])
            done("restore", "f", *SOURCE, "--yes")
        assert files(Path.cwd())["f"] == LINES
        done(*ending)
        is_done = ending[0] == "restore"
        assert files(Path.cwd())["f"] == (with_line(0, b"theirs") if is_done else LINES)
        git(Path.cwd(), "checkout", "-q", ".")


@pytest.mark.long
@pytest.mark.parametrize("step", range(12))
def test_merge_killed_at_any_time_is_repeated(linked: Path, done: Run, step: int) -> None:
    """The same command finishes the merge, and one undo reverts it."""
    put(Path("f"), with_line(8, b"ours"))
    before, words = files(Path.cwd()), ("restore", ".", *SOURCE, "--yes")
    with subprocess.Popen([sys.executable, "-m", "sprintlog.cli", *words]) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.1 + step * 0.05)
        process.kill()
    done(*words)
    assert files(Path.cwd())["f"] == with_line(0, b"theirs", with_line(8, b"ours"))
    assert "gone" not in files(Path.cwd())
    done("undo", "--sprint", "fix", "--yes")
    assert files(Path.cwd()) == before


def test_why_names_the_iteration_of_the_other_tree(
    linked: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A merged line belongs to the iteration that wrote it; a rollback removes it."""
    monkeypatch.chdir(linked)
    done("iteration", "end")
    done("iteration", "start")
    put(linked / "d/new", b"newer\n")
    done("iteration", "end", "--snapshot")
    monkeypatch.chdir(linked.with_name("main"))
    done("sprint", "create", "own", "--goal", "it works")
    done("sprint", "start")
    done("iteration", "snapshot")
    done("iteration", "start")
    put(Path("f"), with_line(8, b"ours"))
    done("iteration", "end", "--snapshot")
    done("restore", "f", "--from", "fix@2", "--yes")
    assert done("why", "f:1", "--json").json["iterations"] == ["fix:1"]
    done("iteration", "start")
    put(Path("f"), with_line(4, b"later", Path("f").read_bytes()))
    done("iteration", "end", "--snapshot")
    found = [done("why", f"f:{n}", "--json").json["iterations"] for n in (1, 5, 9)]
    assert found == [["fix:1"], ["2"], ["1"]]
    assert "The changes of fix@2 were merged" in done("log").out
    done("rollback", "iter:1", "--files", "--yes")
    assert files(Path.cwd())["f"] == with_line(8, b"ours")
