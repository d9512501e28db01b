"""Commands whose file operations fail or are killed, one at a time."""

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from errno import EINTR, EIO, ENOLCK
from pathlib import Path

import pytest

from sprintlog.engine.log.envelope import Head
from sprintlog.engine.log.stores.head_file import HeadFile
from tests import needs

from ...copies import copy_tree
from ..runner import Done, Runner, environment, fast_folder
from ..scenes import SCENES, Scene, Template, begin, prepare
from ..shim import build
from ..sweep import Case, cases, planted, sample, sweep

SEED = 20260115
SECONDS_NEXT = 10.0
"""Generous here, where other tests may be running; the long form asks for one second."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Provide a folder in memory, where the disk's speed does not matter."""
    with fast_folder() as folder:
        yield folder


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_failed_operation_leaves_all_or_nothing(
    scene: Scene, runner: Runner, folder: Path
) -> None:
    """Whatever operation fails or is killed, repeating the command repairs everything."""
    template = prepare(runner, scene, folder)
    chosen = sample(template, size=18, chance=random.Random(SEED))
    found = sweep(runner, template, chosen, folder, seconds_next=SECONDS_NEXT)
    assert list(found) == []


@pytest.mark.long
def test_edit_is_recorded_once_whenever_a_command_is_killed(
    runner: Runner, folder: Path
) -> None:
    """An edit has one key from its detection until our file has replaced it."""
    template = prepare(runner, SCENES[5], folder)
    kills = [case for case in cases(template) if case.how == "kill-before"]
    found = sweep(runner, template, kills, folder, seconds_next=SECONDS_NEXT)
    assert list(found) == []


def test_answer_before_the_commit_is_found(runner: Runner, folder: Path) -> None:
    """The sweep detects an acknowledgement before the event is durable."""
    template = prepare(runner, SCENES[0], folder)
    found = planted(runner, template, folder, "acknowledge_first")
    assert "acknowledged and lost" in str(found)


def test_state_file_written_in_place_is_found(runner: Runner, folder: Path) -> None:
    """The sweep finds a state file that is torn by a kill."""
    template = prepare(runner, SCENES[2], folder)
    found = planted(runner, template, folder, "plain_state_files")
    assert "is torn" in str(found)


def test_digest_noted_too_late_is_found(runner: Runner, folder: Path) -> None:
    """The sweep detects that our own file is mistaken for an edit after a kill."""
    template = prepare(runner, SCENES[2], folder)
    found = planted(runner, template, folder, "digest_after_rename")
    assert "edit-observed" in str(found)


def test_descriptor_that_fails_to_close_denies_nothing(
    runner: Runner, folder: Path
) -> None:
    """Read and written data is correct whether or not closing the file fails."""
    for scene in (SCENES[2], SCENES[4]):
        template = prepare(runner, scene, folder / scene.name)
        for at in _operations(template, "close"):
            for how in (f"error:{EINTR}", f"error:{EIO}"):
                done = _strike(runner, template, Case(at, how))
                assert (done.code, "error" in done.err) == (0, False), (at, how, done)


def test_head_file_that_fails_to_close_is_believed(runner: Runner, folder: Path) -> None:
    """An interrupted close does not hide that the end of the log is lost."""
    template = prepare(runner, SCENES[0], folder)
    with closing(HeadFile(template.folder / ".sprintlog" / "log.db-head")) as file:
        file.write(Head(99, bytes(32)))
    (at,) = _operations(template, "close", "log.db-head")[:1]
    done = _strike(runner, template, Case(at, f"error:{EINTR}"))
    assert (done.code, "its end is lost" in done.err) == (4, True)


@pytest.mark.parametrize("mode", ["write_ahead_log", "rollback_journal"])
def test_unread_log_is_not_called_damaged(mode: str, runner: Runner, folder: Path) -> None:
    """If the disk fails to return a page, the log is not reported as damaged."""
    template = prepare(runner, SCENES[0], folder, (mode,))
    at = _operations(template, "read", "log.db")[-1]
    for how in (f"error:{EIO}", f"error:{EIO}:on", f"error:{EIO}:same"):
        done = _strike(runner, template, Case(at, how))
        assert done.code == 1
        assert "failed with an input/output error, which does not" in done.err


def test_disk_without_locks_is_told_at_once(runner: Runner, folder: Path) -> None:
    """A lock that the disk refuses is not waited for as if another process had it."""
    template = prepare(runner, SCENES[0], folder, ("rollback_journal",))
    at = _operations(template, "lock", "log.db")[3]
    done = _strike(runner, template, Case(at, f"error:{ENOLCK}:same"))
    assert (done.code, "support locks (No locks available)" in done.err) == (1, True)
    assert done.seconds < SECONDS_NEXT


def test_failure_beside_the_log_names_the_file(runner: Runner, folder: Path) -> None:
    """A lock or a copy that fails after the import is reported with its file."""
    template = prepare(runner, SCENES[4], folder)
    for at in (
        _operations(template, "lock", "files.lock")[0],
        _operations(template, "write", ".sprintlog-new")[0],
    ):
        done = _strike(runner, template, Case(at, f"error:{EIO}"))
        assert "error: theirs/PROGRESS.yaml: cannot be brought up to date" in done.err


def _operations(template: Template, name: str, file: str = "") -> list[int]:
    """Return the numbers of the operations of a name, on the files that end so."""
    lines = (template.folder.parent / "clean.trace").read_text().splitlines()
    parts = [line.split(" ") for line in lines]
    return [int(p[0]) for p in parts if p[1] == name and p[5].endswith(file)]


def _strike(runner: Runner, template: Template, case: Case) -> Done:
    """Inject one fault into a scene in a copy of its folder."""
    place = template.folder.parent / "struck"
    shutil.rmtree(place, ignore_errors=True)
    copy_tree(template.folder, place)
    scene = template.scene
    return runner.run(
        place,
        *scene.arguments,
        stdin=scene.stdin,
        plants=list(template.plants),
        fault=case._asdict(),
    )


def test_shim_sees_what_the_system_sees(runner: Runner, folder: Path) -> None:
    """No write, sync, rename or deletion by Python or SQLite bypasses the shim."""
    strace = needs.program("strace")
    begin(runner, folder)
    log, trace = (
        folder.parent / f"{folder.name}.strace",
        folder.parent / f"{folder.name}.shim",
    )
    command = [sys.executable, "-m", "sprintlog.cli", "phase", "start", "setup"]
    settings = {"FAULT_ROOT": str(folder), "FAULT_TRACE": str(trace)}
    try:
        done = subprocess.run(
            [strace, "-y", "-o", log, "-E", f"LD_PRELOAD={build()}", *command],
            cwd=folder,
            env=environment() | settings,
            capture_output=True,
            check=False,
            timeout=60,
        )
        if b"ptrace" in done.stderr:
            needs.skip("the right to trace", "allow ptrace for strace")
        assert done.returncode == 0, done.stderr
        assert _by_shim(trace.read_text()) == _by_system(log.read_text(), folder)
    finally:
        log.unlink(missing_ok=True)
        trace.unlink(missing_ok=True)


_KINDS = {
    "fdatasync": "fsync",
    "pwrite64": "pwrite",
    "ftruncate": "truncate",
    "linkat": "link",
    "unlinkat": "unlink",
}


def _by_shim(trace: str) -> list[str]:
    names = [line.split(" ")[1] for line in trace.splitlines()]
    wanted = {
        "write",
        "pwrite",
        "fsync",
        "truncate",
        "rename",
        "exchange",
        "link",
        "unlink",
    }
    return ["rename" if n == "exchange" else n for n in names if n in wanted]


def _by_system(log: str, folder: Path) -> list[str]:
    found = []
    for line in log.splitlines():
        call = re.match(
            r"(write|pwrite64|fsync|fdatasync|ftruncate|\w*link\w*|rename\w*)\(", line
        )
        if call and f"{folder}/" in f"{line.replace('>', '/')}" and "readlink" not in line:
            if f"{folder}.shim" in line:
                continue
            name = call[1]
            found.append("rename" if name.startswith("rename") else _KINDS.get(name, name))
    return found
