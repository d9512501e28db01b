"""The files of a loop as state files: updated, compared, stored, rebuilt."""

import shutil
from pathlib import Path

import pytest

from tests.spec.iterations.measured import BASELINE_OF_PEAK, PEAK, named

from ...conftest import Run
from ...record.iterations.test_tracker_examples import Loop, loop, options

__all__ = ["loop"]

FOLDER = Path(".aiwg/ralph/ralph-001")
TRACKER = FOLDER / "best-iteration.yaml"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of all loops."""
    files = (path for path in (folder / ".aiwg").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_named_loop_has_its_files_after_each_command(
    loop: Loop, done: Run, folder: Path
) -> None:
    """With a loop id, the files are those that `report --write` would write."""
    loop(BASELINE_OF_PEAK, PEAK[:2])
    before = contents(folder)
    assert {f"{FOLDER}/reports/iteration-{n:03d}.md" for n in (1, 2)} < before.keys()
    assert before[TRACKER.as_posix()].decode() == done("show", "best").out
    done("iteration", "select")
    assert len(contents(folder)) == len(before) + 1
    assert {one["state"] for one in done("report", "--write", "--json").json} == {"same"}
    done("verify")
    done("rebuild", "--check")


@pytest.mark.parametrize("lost", [".aiwg", TRACKER, FOLDER / "reports/iteration-001.md"])
def test_lost_files_are_missed_and_rebuilt(
    loop: Loop, run: Run, done: Run, folder: Path, lost: Path
) -> None:
    """`verify`, `doctor` and `rebuild --check` miss them; `rebuild` brings all of them."""
    loop(BASELINE_OF_PEAK, PEAK[:2])
    before = contents(folder)
    target = folder / lost
    shutil.rmtree(target) if target.is_dir() else target.unlink()
    assert "is missing" in run("verify").out
    assert [
        run(*line).code for line in (["verify"], ["doctor"], ["rebuild", "--check"])
    ] == [4, 4, 4]
    done("rebuild")
    assert contents(folder) == before
    done("verify")


def test_the_next_command_brings_a_lost_folder_back(
    loop: Loop, done: Run, folder: Path
) -> None:
    """If the tracker is missing, the next recording command writes all files."""
    loop(BASELINE_OF_PEAK, PEAK[:2])
    before = contents(folder)
    shutil.rmtree(folder / ".aiwg")
    done("note", "seen")
    assert contents(folder) == before


def test_an_edit_is_drift_and_kept(loop: Loop, run: Run, done: Run, folder: Path) -> None:
    """An edit of the tracker is reported, recorded by field, and stored."""
    loop(BASELINE_OF_PEAK, PEAK[:2])
    before = contents(folder)
    edited = before[TRACKER.as_posix()].replace(b"iteration_2", b"iteration_7")
    (folder / TRACKER).write_bytes(edited)
    assert f"{TRACKER} was edited by others" in run("verify").out
    told = done("note", "seen")
    assert f"{TRACKER} was edited by others" in told.err
    (seen,) = done("log", "--type", "edit-observed", "--json").lines
    assert (seen["data"]["path"], bool(seen["data"]["changes"])) == (str(TRACKER), True)
    kept = folder / ".sprintlog" / "edits" / seen["data"]["kept"]
    assert kept.read_bytes() == edited
    assert contents(folder) == before
    assert run("adopt").code == 3


def test_an_old_file_is_stale(loop: Loop, run: Run, done: Run, folder: Path) -> None:
    """A restored file that we wrote earlier is older than the log, and no edit."""
    loop(BASELINE_OF_PEAK, PEAK[:1])
    old = (folder / TRACKER).read_bytes()
    done("iteration", "start")
    done("iteration", "end", *options(named(PEAK[1])))
    (folder / TRACKER).write_bytes(old)
    assert f"{TRACKER} is older than the log" in run("verify").out
    done("rebuild")
    assert done("log", "--type", "edit-observed").out == "no events\n"


def test_a_loop_without_a_name_has_files_where_its_folder_is(
    loop: Loop, run: Run, done: Run, folder: Path
) -> None:
    """Without a loop id, nothing is written until the loop's folder exists."""
    loop(None, PEAK[:1])
    assert not (folder / ".aiwg").exists()
    done("report", "--write")
    done("iteration", "start")
    done("iteration", "end", *options(named(PEAK[1])))
    assert ".aiwg/ralph/auth/reports/iteration-002.md" in contents(folder)
    (folder / ".aiwg/ralph/auth/best-iteration.yaml").unlink()
    assert run("rebuild", "--check").code == 4
    shutil.rmtree(folder / ".aiwg")
    done("rebuild", "--check")


def test_a_loop_id_belongs_to_one_sprint(
    loop: Loop, done: Run, run: Run, folder: Path
) -> None:
    """A second sprint with the same loop id, and a fork of that name, are refused."""
    loop(BASELINE_OF_PEAK, PEAK[:1])
    before, loop_id = contents(folder), next((folder / ".aiwg/ralph").iterdir()).name
    done("sprint", "create", "two", "--goal", "x", "--sprint-dir", "two")
    line = ("iteration", "baseline", "--sprint", "two", "--metric", "tests_passed=1")
    refused = run(*line, "--loop-id", loop_id)
    assert (refused.code, f"{loop_id} belongs to sprint auth" in refused.err) == (1, True)
    assert f"`--loop-id {loop_id}-2`" in refused.err
    assert run("fork", loop_id, "--from", "version:3", "--sprint", "auth").code == 1
    assert contents(folder) == before
    done(*line, "--loop-id", f"{loop_id}-2")
    assert (folder / ".aiwg/ralph" / f"{loop_id}-2" / "best-iteration.yaml").is_file()


def test_a_fork_has_files_of_its_own(loop: Loop, done: Run, folder: Path) -> None:
    """Its loop has its name, so it does not change the files of the origin's loop."""
    loop(BASELINE_OF_PEAK, PEAK[:1])
    before = contents(folder)
    place = ("--sprint-dir", "two", "--sprint", "auth")
    done("fork", "two", "--from", "version:3", *place)
    done("iteration", "start", "--sprint", "two")
    done("iteration", "end", "--sprint", "two", *options(named(PEAK[1])))
    after = contents(folder)
    assert {name: after[name] for name in before} == before
    assert ".aiwg/ralph/two/best-iteration.yaml" in after
    done("verify")
