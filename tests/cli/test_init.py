"""Where a log is made, and how commands find it."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest


def make_repository(folder: Path) -> None:
    """Make a git repository with one commit."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    for arguments in (
        ("init", "-q"),
        (*identity, "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True, env=environment)


def test_lives_in_the_git_directory(folder: Path, done: Any) -> None:
    """In a repository the log is where cleaning up does not reach it."""
    make_repository(folder)
    answer = done("init", "--json").json
    assert answer["folder"] == str(folder / ".git" / "sprintlog")
    subprocess.run(["git", "clean", "-fdxq"], cwd=folder, check=True)
    assert done("verify").code == 0


def test_lives_beside_the_work_without_git(folder: Path, done: Any) -> None:
    """Elsewhere the log is in .sprintlog, which git ignores of itself."""
    assert done("init", "--json").json["folder"] == str(folder / ".sprintlog")
    assert (folder / ".sprintlog" / ".gitignore").read_text() == "*\n"


def test_never_runs_over_a_log(sprint: Path, run: Any) -> None:
    """`init` refuses where a log is, and changes nothing."""
    assert run("init").code == 1
    assert len(run("log", "--json").lines) == 2


def test_is_found_from_below(
    sprint: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands walk up to the first folder that holds a log."""
    (sprint / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(sprint / "a" / "b")
    assert done("status", "--json").json["sprint"] == "auth"


def test_prefers_the_hidden_folder(folder: Path, done: Any) -> None:
    """`.sprintlog` wins over the git directory beside it."""
    make_repository(folder)
    done("init")
    done("init", "--here")
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]\n")
    done("sprint", "create", "x", "--plan", "plan.yaml")
    (folder / ".sprintlog" / "log.db").unlink()
    assert done("log", "--all").out == "no events\n"


def test_follows_the_variable(
    folder: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPRINTLOG_DIR names the log's folder, whatever else is there."""
    monkeypatch.setenv("SPRINTLOG_DIR", str(folder / "elsewhere"))
    done("init")
    assert (folder / "elsewhere" / "log.db").exists()
    assert done("log", "--all").code == 0


def test_is_shared_by_all_work_trees(
    folder: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All work trees share the log; only a sprint's own tree writes its file."""
    main = folder / "main"
    main.mkdir()
    make_repository(main)
    subprocess.run(["git", "worktree", "add", "-q", "../linked"], cwd=main, check=True)
    monkeypatch.chdir(main)
    (main / "plan.yaml").write_text("phases: [{id: a, prompt: b}]\n")
    done("init")
    done("sprint", "create", "x", "--plan", "plan.yaml")
    before = (main / "PROGRESS.yaml").read_bytes()
    monkeypatch.chdir(folder / "linked")
    done("sprint", "start")
    assert (main / "PROGRESS.yaml").read_bytes() == before
    assert not (folder / "linked" / "PROGRESS.yaml").exists()
    monkeypatch.chdir(main)
    done("rebuild")
    assert (main / "PROGRESS.yaml").read_bytes() != before


def test_says_where_it_looked(folder: Path, run: Any) -> None:
    """Without a log every command ends with 3 and says how to make one."""
    result = run("status")
    assert result.code == 3
    assert "sprintlog init" in result.err


def test_shadows_no_log_by_accident(
    sprint: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a log `init` is refused; --here makes one of its own and says so."""
    (sprint / "below").mkdir()
    monkeypatch.chdir(sprint / "below")
    assert run("init").code == 1
    assert "no longer" in run("init", "--here").out
