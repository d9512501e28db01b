"""Trees that want git to run something, or to write elsewhere, when it looks at them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sprintlog.engine.outside.snapshots.branching import make_branch
from sprintlog.engine.outside.snapshots.placing import place
from sprintlog.engine.outside.snapshots.plan import plan
from sprintlog.engine.outside.snapshots.store import Store

from .trees import environment, extracted, git, picture, put, taken

HOOKS = (
    "applypatch-msg", "post-checkout", "post-commit", "post-index-change", "post-merge",
    "post-rewrite", "pre-auto-gc", "pre-commit", "reference-transaction", "update",
)  # fmt: skip


class Trap:
    """A tree full of programs, each of which leaves a mark when it is run."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.root.mkdir()
        self.program = folder / "trap"
        self.mark = folder / "mark"
        put(self.program, f'#!/bin/sh\necho "$0" >> {self.mark}\ncat\n'.encode(), 0o755)

    @property
    def is_sprung(self) -> bool:
        """Tell whether something was run."""
        return self.mark.exists()

    def set(self) -> None:
        """Set every trap that a tree can hold."""
        git(self.root, "init", "-q")
        put(self.root / "a.txt", b"a $Id$\r\n")
        git(self.root, "add", "a.txt")
        git(self.root, "commit", "-qm", "a")
        self._configure(self.root / ".git/config")
        for hook in HOOKS:
            put(self.root / ".git/hooks" / hook, self.program.read_bytes(), 0o755)
        attributes = b"* filter=trap diff=trap merge=trap text eol=lf ident export-subst\n"
        put(self.root / ".gitattributes", attributes)
        put(self.root / ".git/info/attributes", attributes)
        put(self.root / ".gitmodules", b'[submodule "x"]\n\tpath=x\n\tupdate=!trap\n')
        git(self.root, "init", "-q", "--bare", "bare")
        self._configure(self.root / "bare/config")
        (self.root / "inner").mkdir()
        git(self.root / "inner", "init", "-q")
        self._configure(self.root / "inner/.git/config")
        put(self.root / "pointer/.git", b"gitdir: ../bare\n")
        put(self.root / "pointer/file", b"x")
        (self.root / "out").symlink_to("/etc")
        for name in ("git", "git-fast-import", "git-ls-files"):
            put(self.root / name, self.program.read_bytes(), 0o755)
        os.utime(self.root / "a.txt", ns=(0, 0))

    def _configure(self, config: Path) -> None:
        program = self.program
        with config.open("a") as file:
            file.write(
                f"[core]\n\tfsmonitor = {program}\n\thooksPath = {program.parent}\n"
                f"\tpager = {program}\n\teditor = {program}\n\tsshCommand = {program}\n"
                f"\tgitProxy = {program}\n\tattributesFile = {program}\n"
                f'[filter "trap"]\n\tclean = {program}\n\tsmudge = {program}\n'
                f"\tprocess = {program}\n\trequired = true\n"
                f'[diff "trap"]\n\ttextconv = {program}\n\tcommand = {program}\n'
                f'[merge "trap"]\n\tdriver = {program}\n[diff]\n\texternal = {program}\n'
                f"[alias]\n\tls-files = !{program}\n\tfast-import = !{program}\n"
                f"[gc]\n\tauto = 1\n[uploadpack]\n\tpackObjectsHook = {program}\n"
            )

    def variables(self) -> dict[str, str]:
        """Return an environment that points git elsewhere in every way."""
        elsewhere = str(self.root / "elsewhere")
        named = (
            "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
            "GIT_COMMON_DIR", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE",
            "GIT_TRACE", "GIT_TRACE2", "GIT_TRACE_SETUP", "GIT_QUARANTINE_PATH",
        )  # fmt: skip
        programs = (
            "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH",
            "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR",
        )  # fmt: skip
        return {
            **environment(),
            **dict.fromkeys(named, elsewhere),
            **dict.fromkeys(programs, str(self.program)),
            "GIT_EXEC_PATH": str(self.root),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": str(self.program),
            "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={self.program}'",
            "GIT_DEFAULT_HASH": "sha256",
            "GIT_TEMPLATE_DIR": str(self.root / ".git"),
            "PATH": os.pathsep.join([".", "", environment()["PATH"]]),
        }


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    """Give a tree whose traps are set."""
    trap = Trap(tmp_path)
    trap.set()
    trap.mark.unlink(missing_ok=True)
    return trap


def test_traps_do_spring(trap: Trap) -> None:
    """Git as people call it runs what the tree brings along."""
    subprocess.run(
        ["git", "status"],
        cwd=trap.root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert trap.is_sprung


def test_nothing_is_run_and_nothing_written_elsewhere(trap: Trap, tmp_path: Path) -> None:
    """Taking and bringing back runs nothing, and leaves the repository as it is."""
    # From within the tree, where `.` is on the path.
    os.chdir(trap.root)
    store = Store(tmp_path / "snapshots", trap.variables())
    theirs = picture(trap.root / ".git")
    before = picture(trap.root, without=(".git", "inner", "pointer"))
    first = taken(store, trap.root)
    assert store.read(first.commit).files["a.txt"].size == len(b"a $Id$\r\n")
    (trap.root / "a.txt").write_bytes(b"other")
    shutil.rmtree(trap.root / "bare")
    (trap.root / ".gitattributes").unlink()
    wanted, present = store.read(first.commit), store.read(taken(store, trap.root).commit)
    with store.blobs() as blob:
        place(trap.root, plan(wanted, present), blob, keep_in=store.folder / "kept")
    new = extracted(store, first.commit, tmp_path / "new")
    with store.lock():
        store.drop([first.commit])
        store.tidy()
    assert not trap.is_sprung
    assert picture(trap.root, without=(".git", "inner", "pointer")) == before
    assert new == before
    assert picture(trap.root / ".git") == theirs
    assert not (trap.root / "elsewhere").exists()


def test_list_of_tracked_files_that_leads_elsewhere_runs_nothing(
    trap: Trap, tmp_path: Path
) -> None:
    """A sparse list of a partial clone fetches nothing; the snapshot says what it lacks."""
    quiet = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    (trap.root / ".gitattributes").unlink()
    (trap.root / ".git/info/attributes").unlink()
    for name in ("one/a", "two/b"):
        put(trap.root / name, b"x")
    git(trap.root, *quiet, "add", "one", "two")
    git(trap.root, *quiet, "commit", "-qm", "b")
    git(trap.root, *quiet, "sparse-checkout", "set", "--sparse-index", "one")
    with (trap.root / ".git/config").open("a") as config:
        config.write(
            '[extensions]\n\tpartialClone = x\n[remote "x"]\n\tpromisor = true\n'
            f"\turl = ext::{trap.program}\n\tuploadpack = {trap.program}\n"
        )
    trap.mark.unlink(missing_ok=True)
    store = Store(tmp_path / "snapshots", environment())
    made = taken(store, trap.root)
    assert not trap.is_sprung
    assert "tracked files could not be read" in dict(made.left_out)[""]
    assert "a.txt" in store.read(made.commit).files


def test_branch_in_a_hostile_repository_runs_nothing(trap: Trap, tmp_path: Path) -> None:
    """A branch is made without a hook or a program of the repository being run."""
    store = Store(tmp_path / "snapshots", trap.variables())
    before = picture(trap.root / ".git", without=("objects", "refs"))
    made = taken(store, trap.root)
    commit = make_branch(store, made.commit, trap.root, "best", message="x")
    assert not trap.is_sprung
    assert picture(trap.root / ".git", without=("objects", "refs")) == before
    assert (trap.root / ".git/refs/heads/best").read_text().strip() == commit
