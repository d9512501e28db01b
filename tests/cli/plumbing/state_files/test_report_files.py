"""The files of a loop: their paths, their content, and their protection."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from tests.spec.iterations.measured import BASELINE_OF_PEAK, PEAK, named

from ...conftest import Run
from ...record.iterations.test_tracker_examples import Loop, loop, options

__all__ = ["loop"]

FOLDER = Path(".aiwg/ralph/ralph-001")


def layout(folder: Path) -> set[str]:
    """Return the files of the loop."""
    return {
        path.relative_to(folder / FOLDER).as_posix()
        for path in (folder / FOLDER).rglob("*")
        if path.is_file()
    }


def test_the_files_of_a_loop(loop: Loop, done: Run, folder: Path) -> None:
    """`--write` writes the document's layout: the same bytes again, readable by all."""
    loop(BASELINE_OF_PEAK, PEAK[:2])
    done("iteration", "select")
    numbered = (
        name.format(number)
        for number in (1, 2)
        for name in (
            "iterations/iteration-{:03d}/metrics.json",
            "reports/iteration-{:03d}.md",
        )
    )
    paths = {
        "progress/iteration-000-baseline.json",
        "best-iteration.yaml",
        "reports/output-selection.md",
        *numbered,
    }
    shutil.rmtree(folder / ".aiwg")
    first = done("report", "--write", "--json").json
    assert {one["state"] for one in first} == {"written"}
    assert layout(folder) == paths
    modes = {stat.S_IMODE((folder / FOLDER / path).stat().st_mode) for path in paths}
    assert modes == {0o644}
    baseline = json.loads(
        (folder / FOLDER / "progress/iteration-000-baseline.json").read_text()
    )
    assert baseline["iteration_metrics"]["testing"]["pass_rate"] == 62.5
    assert (baseline["baseline_stored"], baseline["next_action"]) == (
        True,
        "await_iteration_1",
    )
    text = (folder / FOLDER / "reports/iteration-001.md").read_text()
    # Later queries return the result; the file describes the iteration's end.
    told, then = done("report", "1").out.split("**Then**: ")
    assert (told, then) == (text, "the loop went on with iteration 2\n")
    assert {one["state"] for one in done("report", "--write", "--json").json} == {"same"}


def test_each_hook_is_one_command(loop: Loop, done: Run, folder: Path) -> None:
    """The baseline, end and selection commands write their own files on request."""
    loop(None, ())
    begin = options(named(BASELINE_OF_PEAK))
    done("iteration", "baseline", "--loop-id", "ralph-001", *begin, "--write")
    assert layout(folder) == {"progress/iteration-000-baseline.json", "best-iteration.yaml"}
    done("iteration", "snapshot")
    for row in PEAK:
        (folder / "login.ts").write_text(f"{row}\n")
        done("iteration", "start")
        end = ("iteration", "end", *options(named(row)), "--snapshot", "--write")
        told = done(*end).out.splitlines()
    assert told[1] == "ALERT: Working tests failing, recommend rollback"
    number = f"{len(PEAK):03d}"
    assert f"reports/iteration-{number}.md" in layout(folder)
    assert "- **Best Preserved**: yes" in done("report", str(len(PEAK))).out
    chosen = done("iteration", "select", "--apply", "--write").out.splitlines()
    assert chosen[0] == "Selected iteration 3 (quality: 0.88 vs final 0.81)"
    assert (folder / ".aiwg/output/login.ts").read_text() == f"{PEAK[2]}\n"
    report = (folder / FOLDER / "reports/output-selection.md").read_text()
    assert "  - `login.ts`" in report
    assert report == done("report", "--selection").out
    copied = [path.name for path in (folder / ".aiwg/output").rglob("*.*")]
    assert copied == ["login.ts"]
    again = done("iteration", "select", "--apply", "--write").out.splitlines()
    assert again[0] == chosen[0]
    assert (folder / ".aiwg/output/login.ts").read_text() == f"{PEAK[2]}\n"


@pytest.mark.parametrize("scores", [(0.9, 0.8), (0.8, 0.9)])
def test_all_is_the_result_without_a_snapshot_from_before(
    loop: Loop, done: Run, folder: Path, scores: tuple[float, float]
) -> None:
    """Without a record of the state before the loop, all files are the loop's result."""
    loop(None, ())
    for number, score in enumerate(scores, start=1):
        done("iteration", "start")
        (folder / "first.ts").touch()
        (folder / "login.ts").write_text(f"{number}\n")
        end = ("iteration", "end", "--score", score, "--metric", "tests_passed=1")
        done(*end, "--metric", "tests_failed=0", "--snapshot")
    best = scores.index(0.9) + 1
    chosen = done("iteration", "select", "--apply").out
    assert f"Selected iteration {best} " in chosen
    assert (folder / ".aiwg/output/login.ts").read_text() == f"{best}\n"
    assert (folder / ".aiwg/output/first.ts").is_file()


def test_the_state_before_the_loop_can_be_the_result(
    loop: Loop, done: Run, folder: Path
) -> None:
    """If the baseline is selected, its files are copied, not nothing."""
    loop(None, ())
    (folder / "login.ts").write_text("before\n")
    done("iteration", "snapshot")
    done("iteration", "baseline", *options({"test_count": 3, "tests_passed": 3}))
    done("iteration", "start")
    (folder / "login.ts").write_text("worse\n")
    line = options({"test_count": 2, "tests_passed": 2})
    done("iteration", "end", *line, "--snapshot")
    chosen = done("iteration", "select", "--apply")
    assert chosen.out.startswith("Selected baseline ")
    assert "why: Iteration 1: CRITICAL Test count decreased" in chosen.err
    assert (folder / ".aiwg/output/login.ts").read_text() == "before\n"


def test_a_snapshot_holds_what_was_run(loop: Loop, done: Run, folder: Path) -> None:
    """The files of an iteration are saved after its commands, with their reports."""
    loop(None, ())
    done("iteration", "start")
    done(
        "iteration",
        "end",
        "--build",
        "echo 1 > built",
        "--metric",
        "tests_passed=1",
        "--snapshot",
    )
    listing = done("show", "iteration", "1", "--files").out
    assert "built" in listing


@pytest.mark.parametrize("link", [".aiwg", str(FOLDER), str(FOLDER / "reports")])
@pytest.mark.parametrize("target", ["..", "src"])
def test_no_link_is_followed(
    loop: Loop, run: Run, folder: Path, link: str, target: str
) -> None:
    """A link in the path is refused, even inside the work tree, and nothing is written."""
    loop(BASELINE_OF_PEAK, PEAK[:1])
    shutil.rmtree(folder / ".aiwg")
    (folder / "src").mkdir()
    (folder / link).parent.mkdir(parents=True, exist_ok=True)
    (folder / link).symlink_to(folder / target)
    before = sorted(os.listdir(folder.parent)), os.listdir(folder / "src")
    refused = run("report", "--write")
    assert refused.code == 1
    assert "link" in refused.err or "is outside" in refused.err
    assert (sorted(os.listdir(folder.parent)), os.listdir(folder / "src")) == before
    assert not list((folder / ".aiwg").glob("ralph/*/progress/*"))


def test_what_others_wrote_is_kept(loop: Loop, done: Run, folder: Path) -> None:
    """Third-party content at a report's path is stored."""
    loop(BASELINE_OF_PEAK, PEAK[:1])
    done("report", "--write")
    report = folder / FOLDER / "reports/iteration-001.md"
    report.write_text("mine\n")
    told = done("report", "--write")
    (kept,) = (path for path in folder.rglob("edits/*") if path.read_text() == "mine\n")
    assert kept.name in told.err
    assert report.read_text() == done("report", "1").out


def test_a_loop_without_a_folder_name_is_refused(folder: Path, done: Run, run: Run) -> None:
    """A sprint's id that is not a folder's name cannot redirect its files."""
    (folder / "plan.yaml").write_text("phases: [{id: a, prompt: b}]")
    done("init")
    done("sprint", "create", "a loop", "--plan", "plan.yaml")
    done("sprint", "start")
    done("iteration", "start")
    done("iteration", "end", "--metric", "tests_passed=1")
    refused = run("report", "--write")
    assert (refused.code, (folder / ".aiwg").exists()) == (1, False)
    assert "--loop-id" in refused.err


def test_what_cannot_be_written_says_how_to_go_on(
    loop: Loop, run: Run, folder: Path
) -> None:
    """A file at a folder's path is reported in one line, with a command for later."""
    loop(BASELINE_OF_PEAK, PEAK[:1])
    shutil.rmtree(folder / ".aiwg")
    (folder / ".aiwg").write_text("x")
    result = run("report", "--write")
    assert result.code == 1
    assert (
        "iteration-000-baseline.json: cannot be read: a parent is not a folder"
        in result.err
    )
    assert "`sprintlog report --write`" in result.err
    assert (folder / ".aiwg").read_text() == "x"
