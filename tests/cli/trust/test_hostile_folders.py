"""Commands in a folder that tries to make them run or write something."""

import os
from contextlib import chdir
from pathlib import Path

import pytest

from sprintlog.engine.adapters import replace
from sprintlog.engine.log.event import Event
from sprintlog.engine.service.streams.catalogue import new_event, sprint_stream
from sprintlog.engine.sprint.events import Place, RestoreStarted, SprintCompiled
from sprintlog.projections.workspace import Workspace

from ...adapters.traps import Trap
from ...adapters.trees import Picture, git, picture, put
from ..conftest import PLAN, Run

DOCUMENT = """\
sprint-id: auth
status: not-started
phases:
  - id: one
    status: pending
    prompt: Do one
"""


def test_programs_of_a_repository_are_not_run(folder: Path, done: Run) -> None:
    """`import progress --git` and `doctor` run no program named in a repository."""
    trap = Trap(folder)
    trap.set()
    quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    put(trap.root / ".gitattributes", b"")
    put(trap.root / ".git/info/attributes", b"")
    put(trap.root / "PROGRESS.yaml", DOCUMENT.encode())
    git(trap.root, *quiet, "add", "PROGRESS.yaml")
    git(trap.root, *quiet, "commit", "-qm", "x")
    trap.mark.unlink(missing_ok=True)
    with chdir(trap.root):
        done("init", "--here")
        done("import", "progress", "--git", "PROGRESS.yaml")
        done("doctor")
    assert not trap.is_sprung


def test_modules_of_a_folder_are_not_imported(sprint: Path, done: Run) -> None:
    """`verify --determinism` starts sprintlog itself, whatever modules the folder has."""
    for name in ("click.py", "sprintlog/__init__.py", "msgspec.py"):
        put(sprint / name, b"open('mark', 'w')")
    done("verify", "--determinism")
    assert not (sprint / "mark").exists()


@pytest.mark.parametrize("target", [".sprintlog/log.db-x", ".git/config", "other"])
def test_state_file_that_is_a_link_is_not_followed(
    sprint: Path, run: Run, target: str
) -> None:
    """It is neither read nor written, wherever it leads."""
    put(sprint / target, b"theirs")
    (sprint / "PROGRESS.yaml").unlink()
    (sprint / "PROGRESS.yaml").symlink_to(target)
    result = run("note", "seen")
    assert (result.code, "PROGRESS.yaml: cannot be read: it is a link" in result.err) == (
        0,
        True,
    )
    assert (sprint / target).read_bytes() == b"theirs"
    assert "move the existing file elsewhere" in result.err
    (sprint / "PROGRESS.yaml").unlink()
    assert run("rebuild").code == 0


def test_folder_on_the_way_that_is_a_link_is_not_followed(folder: Path, run: Run) -> None:
    """A sprint's folder may be replaced by a link at any time."""
    put(folder / "plan.yaml", PLAN.encode())
    run("init", "--here")
    run("sprint", "create", "auth", "--plan", "plan.yaml", "--sprint-dir", "sprints/auth")
    (folder / "sprints").rename(folder / "real")
    (folder / "sprints").symlink_to("real")
    before = picture(folder / "real")
    result = run("sprint", "start")
    assert (result.code, "sprints/auth/PROGRESS.yaml" in result.err) == (0, True)
    assert "move the existing file elsewhere" in result.err
    assert picture(folder / "real") == before


def test_what_is_aside_is_read_only_where_it_is_a_file(sprint: Path, done: Run) -> None:
    """A link at a displaced file's path is not followed, so nothing is recorded."""
    put(sprint / "secret", b"token: x\n")
    (sprint / ".PROGRESS.yaml.sprintlog-old").symlink_to("secret")
    done("note", "seen")
    assert done("log", "--type", "edit-observed").out == "no events\n"
    assert (sprint / "secret").read_bytes() == b"token: x\n"


def test_pipe_in_the_place_of_a_file_holds_nobody(sprint: Path, run: Run) -> None:
    """Only plain files are opened, as state file, as checksum and as displaced file."""
    for name in (".PROGRESS.yaml.sprintlog-old", "PROGRESS.yaml.checksum"):
        os.mkfifo(sprint / name)
    assert run("note", "seen").code == 0
    (sprint / "PROGRESS.yaml").unlink()
    os.mkfifo(sprint / "PROGRESS.yaml")
    assert "not a regular file" in run("note", "seen").err


@pytest.mark.parametrize("name", ["PROGRESS.yaml", ".PROGRESS.yaml.sprintlog-old"])
def test_file_without_end_is_not_read_whole(
    sprint: Path, run: Run, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file longer than any state file is named, and unchanged."""
    monkeypatch.setattr(replace, "FILE_BYTES_MAX", 2**20)
    put(sprint / name, b"x" * (2**20 + 1))
    result = run("note", "seen")
    assert (result.code, "it is longer than 1 MiB" in result.err) == (0, True)
    assert (sprint / name).stat().st_size == 2**20 + 1
    assert name[0] == "." or "move the existing file elsewhere" in result.err


@pytest.mark.parametrize(
    "path",
    [
        ".husky/pre-commit", ".git/config", ".git/PROGRESS.yaml", "../PROGRESS.yaml",
        ".sprintlog/PROGRESS.yaml", "a/.GIT/PROGRESS.yaml", "/tmp/PROGRESS.yaml",
    ],
)  # fmt: skip
def test_place_that_a_log_names_is_checked(sprint: Path, run: Run, path: str) -> None:
    """A log may be forged: whatever path it names, only state files are written."""
    _forge(SprintCompiled({"phases": []}, Place(path)), sprint_stream("auth"))
    before = picture(sprint, without=(".sprintlog",))
    result = run("note", "seen")
    assert (result.code, path in result.err) == (0, True)
    assert picture(sprint, without=(".sprintlog",)) == before


def test_what_is_recorded_of_an_edit_is_masked(sprint: Path, done: Run) -> None:
    """Values, names of fields, and a reader's message about an unreadable file."""
    token = "ghp_" + "a" * 36
    for text in (f"{token}: {{x: {token}, {token}: 1}}\n", f"a: [{token}, &{token}"):
        put(sprint / "PROGRESS.yaml", text.encode())
        done("note", "seen")
    told = done("log", "--type", "edit-observed", "--json").out
    assert len(told.splitlines()) == 2
    assert token not in told


@pytest.mark.parametrize("into", [".git/hooks", "..", "a/../../b", ".sprintlog"])
def test_restore_that_a_log_began_is_checked(
    tree: Path, done: Run, run: Run, into: str
) -> None:
    """The next recording command finishes a restore, but not in folders of git or a log."""
    taken = done("log", "--type", "snapshot-taken", "--json").lines[-1]
    commit = taken["data"]["snapshot"]
    _forge(RestoreStarted(commit, commit, into=into), taken["stream"])
    before = _around(tree)
    result = run("note", "seen")
    assert "is not a folder of this work tree" in result.err
    assert _around(tree) == before


def _around(tree: Path) -> Picture:
    """Return everything in and around a tree except the files that each command writes."""
    seen = picture(tree.parent, without=("tree/.git/sprintlog",))
    return {path: found for path, found in seen.items() if path != "tree/PROGRESS.yaml"}


def _forge(event: Event, stream: str) -> None:
    """Append an event that no command would record, like a forged log."""
    with Workspace.open(Path.cwd()) as workspace:
        forged = new_event(event, at=workspace.now(), actor="x")
        version = max(recorded.version for recorded in workspace.log.read_stream(stream))
        workspace.log.append(stream, [forged], expect=version)
