"""Commands in a folder that wants something else to be run or written."""

from contextlib import chdir
from pathlib import Path

from ..outside.traps import Trap
from ..outside.trees import git, put
from .conftest import Run

DOCUMENT = """\
sprint-id: auth
status: not-started
phases:
  - id: one
    status: pending
    prompt: Do one
"""


def test_programs_of_a_repository_are_not_run(folder: Path, done: Run) -> None:
    """`import progress --git` and `doctor` run nothing that a repository names."""
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
    """`verify --determinism` starts sprintlog itself, whatever the folder calls so."""
    for name in ("click.py", "sprintlog/__init__.py", "msgspec.py"):
        put(sprint / name, b"open('mark', 'w')")
    done("verify", "--determinism")
    assert not (sprint / "mark").exists()
