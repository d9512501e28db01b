"""The location of a new log, and its discovery by commands."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest


def make_repository(folder: Path) -> None:
    """Create a git repository with one commit."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    for arguments in (
        ("init", "-q"),
        (*identity, "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True, env=environment)


def test_lives_in_the_git_directory(folder: Path, done: Any) -> None:
    """In a repository, the log is not affected by `git clean`."""
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
    """`init` refuses an existing log, and changes nothing."""
    assert run("init").code == 1
    assert len(run("log", "--json").lines) == 2


def test_is_found_from_below(
    sprint: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands search upwards for the first folder that contains a log."""
    (sprint / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(sprint / "a" / "b")
    assert done("status", "--json").json["sprint"] == "auth"


def test_two_logs_for_one_tree_are_an_error(
    folder: Path, done: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are named, and the variable selects one."""
    make_repository(folder)
    done("init")
    assert run("init", "--here").code == 1
    (folder / ".git" / "sprintlog").rename(folder / "aside")
    done("init", "--here")
    (folder / "aside").rename(folder / ".git" / "sprintlog")
    result = run("log", "--all")
    assert result.code == 1
    assert f"{folder}/.sprintlog and {folder}/.git/sprintlog" in result.err
    monkeypatch.setenv("SPRINTLOG_DIR", str(folder / ".git" / "sprintlog"))
    assert done("log", "--all").out == "no events\n"


def test_log_that_git_tracks_is_not_used(
    folder: Path, done: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pull could replace it; listing it as safe permits it."""
    make_repository(folder)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    done("init", "--here")
    for version in ("2", "4"):
        git = ["git", "-c", f"index.version={version}"]
        subprocess.run([*git, "add", "-f", ".sprintlog/log.db"], cwd=".", check=True)
        result = run("log", "--all")
        assert (result.code, "git tracks it" in result.err) == (1, True)
        subprocess.run([*git, "rm", "-rq", "--cached", ".sprintlog"], check=True)
        (folder / "other.sprintlog").touch()
        subprocess.run([*git, "add", "../other.sprintlog"], check=True)
        assert done("log", "--all").code == 0
        (folder / ".git" / "index").unlink()


@pytest.mark.parametrize("place", [".", ".sprintlog", ".sprintlog/log.db"])
def test_log_of_another_user_is_not_used(
    sprint: Path, run: Any, done: Any, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It controls written files and commands: it must be listed as safe."""
    config = sprint / "config" / "sprintlog"
    config.mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config.parent))
    if os.getuid() == 0:
        os.chown(sprint / place, 4711, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    result = run("status")
    assert (result.code, "belongs to another user" in result.err) == (1, True)
    assert str(config / "safe") in result.err
    assert "warning  owner" in run("doctor").out
    for line in (str(sprint), str(sprint / ".sprintlog"), "*"):
        (config / "safe").write_text(f"# mine\n/elsewhere\n{line}\n")
        assert done("status").code == 0


def test_folder_that_is_there_keeps_its_mode(
    folder: Path, run: Any, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder open to others is refused, with a command for the required mode."""
    place = folder / "it is there"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setenv("SPRINTLOG_DIR", str(place))
    result = run("init")
    assert (result.code, f"chmod 700 '{place}'`" in result.err) == (1, True)
    assert place.stat().st_mode & 0o7777 == 0o1777
    assert list(place.iterdir()) == []
    place.chmod(0o700)
    done("init")


@pytest.mark.parametrize("is_worktree", [True, False])
def test_git_file_of_another_tree_is_not_followed(
    folder: Path, done: Any, is_worktree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A `.git` file counts only if its git directory refers back to this tree."""
    theirs = folder / "theirs"
    theirs.mkdir()
    make_repository(theirs)
    if is_worktree:
        subprocess.run(["git", "worktree", "add", "-q", "../x"], cwd=theirs, check=True)
    ours = folder / "ours"
    ours.mkdir()
    named = theirs / ".git" / "worktrees" / "x" if is_worktree else theirs / ".git"
    (ours / ".git").write_text(f"gitdir: {named}\n")
    monkeypatch.chdir(ours)
    assert done("init", "--json").json["folder"] == str(ours / ".sprintlog")
    assert not (theirs / ".git" / "sprintlog").exists()


def test_lives_in_the_git_directory_of_a_submodule(
    folder: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submodule's git directory names its tree."""
    for name in ("part", "whole"):
        (folder / name).mkdir()
        make_repository(folder / name)
    git = ["git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add"]
    monkeypatch.chdir(folder / "whole")
    subprocess.run([*git, str(folder / "part"), "sub dir"], check=True)
    monkeypatch.chdir("sub dir")
    made = done("init", "--json").json["folder"]
    assert made == str(folder / "whole" / ".git" / "modules" / "sub dir" / "sprintlog")


def test_follows_the_variable(
    folder: Path, done: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPRINTLOG_DIR specifies the log's folder and takes precedence."""
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
    done("sprint", "start", "--sprint", "x")
    assert (main / "PROGRESS.yaml").read_bytes() == before
    assert not (folder / "linked" / "PROGRESS.yaml").exists()
    monkeypatch.chdir(main)
    done("rebuild")
    assert (main / "PROGRESS.yaml").read_bytes() != before


def test_says_where_it_looked(folder: Path, run: Any) -> None:
    """Without a log every command ends with 3 and prints the command to create one."""
    result = run("status")
    assert result.code == 3
    assert "sprintlog init" in result.err


def test_shadows_no_log_by_accident(
    sprint: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below a log `init` is refused; --here creates a separate one and reports it."""
    (sprint / "below").mkdir()
    monkeypatch.chdir(sprint / "below")
    assert run("init").code == 1
    assert "instead of" in run("init", "--here").out


@pytest.mark.parametrize("entry", ["/x" * 5000, "/dev/null/bin", "\udcff"])
def test_a_path_that_cannot_be_searched_is_no_obstacle(
    folder: Path, done: Any, run: Any, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """A PATH folder that cannot be searched does not stop a command."""
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}{os.environ['PATH']}")
    done("init")
    assert "there is no command 'hello'" in run("hello").err
