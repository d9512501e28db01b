"""The evidence of a measurement: commands, their output, and the reports."""

import os
import time
from hashlib import sha256
from pathlib import Path

import pytest

from ...conftest import Run
from ..loops.judged_loops import MEASURES, RUN, prepare

TOKEN = "ghp_" + "a1" * 18


def test_commands_and_reports_belong_to_the_measurement(
    folder: Path, run: Run, done: Run
) -> None:
    """An event has the commands and reports; copies are next to the log, by digest."""
    tree = prepare(done, folder)
    assert run("run", *MEASURES, *RUN).code == 0
    kinds = ("baseline-captured", "iteration-measured")
    events = [
        e["data"] for kind in kinds for e in done("log", "--type", kind, "--json").lines
    ]
    assert len(events) == 4
    for data in events:
        (ran,), (report,) = data["runs"], data["reports"]
        assert (ran["command"], ran["exit_code"]) == ("sh measure.sh", 0)
        assert ran["output_sha256"] == sha256(b"").hexdigest()
        copy = tree / ".sprintlog/reports" / report["kept"]
        assert (report["file"], len(copy.read_bytes())) == ("junit.xml", report["bytes"])
        assert sha256(copy.read_bytes()).hexdigest() == report["sha256"]
        assert copy.stat().st_mode & 0o777 == 0o600


def test_a_failure_keeps_what_was_run_and_read(folder: Path, run: Run, done: Run) -> None:
    """An unreadable report, and head and tail of the output, are stored, too."""
    tree = prepare(done, folder)
    done("sprint", "start")
    done("iteration", "start")
    script = "head -c 50000 /dev/zero | tr '\\0' x; echo '<cut' > bad.xml; exit 3"
    result = run("iteration", "end", "--run", script, "--report", "junit=bad.xml")
    assert result.code == 1
    (event,) = done("log", "--type", "measurement-failed", "--json").lines
    (ran,), (report,) = event["data"]["runs"], event["data"]["reports"]
    assert (ran["exit_code"], ran["output_bytes"]) == (3, 50_000)
    assert "characters left out]" in ran["output"]
    assert len(ran["output"]) < 7000
    assert (tree / ".sprintlog/reports" / report["kept"]).read_text() == "<cut\n"


def test_secrets_in_reports_are_masked(folder: Path, run: Run, done: Run) -> None:
    """The copy is masked, with the original's digest; a scan finds neither."""
    tree = prepare(done, folder)
    (tree / "measure.sh").write_text(
        f"echo {TOKEN}\n"
        f"echo '<testsuite><testcase name=\"{TOKEN}\"/></testsuite>' > junit.xml\n"
    )
    assert run("run", *MEASURES, "--no-snapshot", *RUN).code == 0
    written = [
        path.read_bytes() for path in (tree / ".sprintlog").rglob("*") if path.is_file()
    ]
    assert not [content for content in written if TOKEN.encode() in content]
    (event,) = done("log", "--type", "baseline-captured", "--json").lines
    (report,) = event["data"]["reports"]
    assert report["sha256"] == sha256((tree / "junit.xml").read_bytes()).hexdigest()
    assert "[masked" in (tree / ".sprintlog/reports" / report["kept"]).read_text()


def test_what_is_too_long_has_its_digest_alone(folder: Path, run: Run, done: Run) -> None:
    """A report over 1 MiB is not stored, but identified by its digest."""
    tree = prepare(done, folder)
    long = f"<testsuite><testcase name='a'/><!-- {'x' * 2**20} --></testsuite>"
    (tree / "long.xml").write_text(long)
    done("iteration", "baseline", "--report", "long.xml")
    (event,) = done("log", "--type", "baseline-captured", "--json").lines
    (report,) = event["data"]["reports"]
    assert "kept" not in report
    assert report["sha256"] == sha256(long.encode()).hexdigest()
    assert not (tree / ".sprintlog/reports").exists() or not [
        *(tree / ".sprintlog/reports").iterdir()
    ]


def test_what_cannot_be_kept_takes_nothing_away(folder: Path, run: Run, done: Run) -> None:
    """If no copy can be written, the measurement still counts, with its digest."""
    tree = prepare(done, folder)
    (tree / ".sprintlog/reports").write_text("in the way")
    assert run("run", *MEASURES, *RUN).code == 0
    events = done("log", "--type", "iteration-measured", "--json").lines
    assert [set(e["data"]["reports"][0]) for e in events] == [
        {"file", "bytes", "sha256"}
    ] * 3


@pytest.mark.long
def test_the_artefact_folder_of_an_iteration_is_real(
    folder: Path, run: Run, done: Run
) -> None:
    """A loop's files include its reports, which are state files and can be rebuilt."""
    tree = prepare(done, folder)
    done("iteration", "baseline", "--loop-id", "ralph-001", "--metric", "test_count=3")
    assert run("run", *MEASURES, *RUN).code == 0
    loop = tree / ".aiwg/ralph/ralph-001"
    copies = [loop / f"iterations/iteration-00{n}/reports/junit.xml" for n in (1, 2, 3)]
    assert [copy.read_text().count("<testcase") for copy in copies] == [4, 5, 6]
    copies[0].unlink()
    done("rebuild")
    assert copies[0].exists()
    done("verify")
    (copy,) = [
        path
        for path in (tree / ".sprintlog/reports").iterdir()
        if path.read_bytes() == copies[1].read_bytes()
    ]
    copy.write_text("other")
    done("rebuild")
    assert copies[1].read_text() == "the copy of this report is damaged\n"


@pytest.mark.long
def test_prune_removes_old_copies(folder: Path, run: Run, done: Run) -> None:
    """The newest and those of the best are kept; unreferenced ones are removed in time."""
    tree = prepare(done, folder)
    assert run("run", *MEASURES, *RUN).code == 0
    reports = tree / ".sprintlog/reports"
    assert len([*reports.iterdir()]) == 4
    stray = reports / ("0" * 64)
    stray.write_text("left by somebody who was killed")
    old = time.time() - 2 * 60 * 60
    os.utime(stray, (old, old))
    shown = done("store prune", "--keep", "1", "--dry-run", "--json").json
    assert len(shown["reports"]) == 2
    assert "2 reports" in done("store prune", "--keep", "1").out
    assert not stray.exists()
    assert len([*reports.iterdir()]) == 3
    done("verify")
    assert "kept reports" in done("doctor").out
