"""Files of sprintlog in a work tree are never part of a restore or a difference."""

from pathlib import Path

import pytest

from ...adapters.trees import git
from ..conftest import PLAN, Run
from ..goals import HOOK, Make

STATE = "PROGRESS.yaml"


def kept(done: Run) -> str:
    """Save the files, and return the name of the snapshot."""
    return f"snapshot:{done('iteration', 'snapshot', '--json').json['snapshot']}"


def test_state_files_are_in_no_snapshot(sprint: Path, done: Run) -> None:
    """State files of sprint, journal and loop, and sprintlog's other files, are omitted."""
    (sprint / f"{STATE}.checksum").touch()
    done(
        "journal entry record",
        "auth",
        "--status",
        "completed",
        "--observation",
        "finding: x",
    )
    done("iteration", "baseline", "--metric", "test_count=1", "--write")
    (sprint / ".sprintlog/note").touch()
    (sprint / "theirs").touch()
    done("iteration", "snapshot")
    listed = done("show", "iteration", "0", "--files", "--json").json["listing"]
    assert [file["path"] for file in listed] == ["plan.yaml", "theirs"]


def test_file_that_became_a_state_file_is_left_alone(sprint: Path, done: Run) -> None:
    """A file that is in an older snapshot is neither restored nor compared."""
    (sprint / "two").mkdir()
    (sprint / "two" / STATE).write_text("theirs\n")
    first = kept(done)
    (sprint / "two" / STATE).unlink()
    done("sprint", "create", "two", "--plan", "plan.yaml", "--sprint-dir", "two")
    ours = (sprint / "two" / STATE).read_bytes()
    named = ("--sprint", "auth")
    done("iteration", "snapshot", *named)
    second = done("log", *named, "--type", "snapshot-taken", "--json").lines[-1]
    ends = (first, f"snapshot:{second['data']['snapshot']}")
    assert done("iteration", "diff", *ends, *named).out == "no file differs\n"
    assert done("iteration", "diff", *ends, "--patch", *named).out.strip() == ""
    done("rollback", first, "--files", "--yes", *named)
    assert (sprint / "two" / STATE).read_bytes() == ours
    done("restore", first, "--into", "../first", *named)
    assert not (sprint.parent / "first/two" / STATE).exists()


def test_other_work_tree_gets_no_state_file(
    folder: Path, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another tree's snapshot is restored only with `--into`, and without its state."""
    main, linked = folder / "main", folder / "linked"
    main.mkdir()
    monkeypatch.chdir(main)
    git(main, "init", "-q")
    git(main, "commit", "-qm", "first", "--allow-empty")
    git(main, "worktree", "add", "-q", str(linked))
    (main / "plan.yaml").write_text(PLAN)
    done("init")
    done("sprint", "create", "auth", "--plan", "plan.yaml")
    (main / "work").write_text("done\n")
    snapshot = kept(done)
    monkeypatch.chdir(linked)
    words = ("rollback", snapshot, "--files", "--sprint", "auth")
    refused = run(*words, "--yes")
    assert (refused.code, "files belong to" in refused.err) == (1, True)
    assert "--into ." in refused.err
    planned = run(*words, "--into", ".")
    assert (planned.code, "create  work" in planned.out) == (1, True)
    assert [path.name for path in linked.iterdir()] == [".git"]
    wrong = run(*words, "--into", "..", "--yes")
    assert "is not the root of this work tree" in wrong.err
    done(*words, "--into", ".", "--yes")
    assert sorted(path.name for path in linked.iterdir()) == [".git", "plan.yaml", "work"]


def test_what_hooks_said_is_never_taken_away(
    folder: Path, run: Run, done: Run, goal_agent: Make
) -> None:
    """A rollback with files leaves transcripts, which PROGRESS.yaml names or will again."""
    command = goal_agent("", HOOK, options=("--hook-command", "echo said", "--snapshot"))
    assert run(*command).code == 0
    assert len([*(folder / "transcripts").iterdir()]) == 3
    done("rollback", "iter:1", "--yes")
    assert len([*(folder / "transcripts").iterdir()]) == 3
    assert (folder / "said.txt").read_text().count("\n") == 1
    found = done("iteration", "diff", "iter:1", "iter:2", "--json").json["files"]
    assert [file["path"] for file in found] == ["said.txt"]
