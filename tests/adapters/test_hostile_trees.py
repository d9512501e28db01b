"""Trees that try to make git run programs or write elsewhere when it reads them."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sprintlog.engine.adapters.snapshots.branch import make_branch
from sprintlog.engine.adapters.snapshots.placement import place
from sprintlog.engine.adapters.snapshots.plan import plan
from sprintlog.engine.adapters.snapshots.store import Store

from .traps import Trap
from .trees import environment, extracted, git, picture, put, taken


def test_traps_do_spring(trap: Trap) -> None:
    """Ordinary git commands run the programs that the tree contains."""
    subprocess.run(
        ["git", "status"],
        cwd=trap.root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    assert trap.is_sprung


def test_nothing_is_run_and_nothing_written_elsewhere(
    trap: Trap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snapshots and restores run nothing, and do not change the repository."""
    # From inside the tree, because `.` is in PATH.
    monkeypatch.chdir(trap.root)
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
    """A sparse list of a partial clone fetches nothing; the snapshot lists omissions."""
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
    assert "" not in dict(made.left_out)
    # The objects required for the list are in the remote.
    for folder in (trap.root / ".git/objects").iterdir():
        shutil.rmtree(folder)
    (trap.root / ".git/objects/pack").mkdir()
    made = taken(store, trap.root)
    assert not trap.is_sprung
    left = dict(made.left_out)[""]
    assert "tracked files could not be read" in left
    assert str(trap.root / ".git/index") in left
    assert "a.txt" in store.read(made.commit).files


def test_branch_in_a_hostile_repository_runs_nothing(trap: Trap, tmp_path: Path) -> None:
    """A branch is created without running a hook or program of the repository."""
    store = Store(tmp_path / "snapshots", trap.variables())
    before = picture(trap.root / ".git", without=("objects", "refs"))
    made = taken(store, trap.root)
    snapshot = store.read(made.commit)
    commit, _ = make_branch(store, snapshot, trap.root, "best", message="x", own=())
    assert not trap.is_sprung
    assert picture(trap.root / ".git", without=("objects", "refs")) == before
    assert (trap.root / ".git/refs/heads/best").read_text().strip() == commit
