"""The morning after: the best iteration, the current files, and how to restore the best."""

from pathlib import Path

import pytest

from ..conftest import Run

BACK = "`sprintlog rollback best --files`"
FIGURES = {1: (4, 2), 3: (3, 0), 4: (3, 3), 5: (3, 3), 6: (3, 0)}
"""By iteration how many tests there were, and how many of them passed."""


@pytest.fixture
def night(sprint: Path, done: Run, run: Run) -> Path:
    """Return a night: 4 is the best, 5 the same work, 6 broke it; 2 was not measured."""
    for number in range(1, 7):
        done("iteration", "start")
        work = 4 if number == 5 else number
        (sprint / "work.txt").write_text(f"work {work}\n")
        done("iteration", "snapshot")
        if number not in FIGURES:
            broken = "echo '`no` module \x1b[31m'; exit 3"
            run("iteration", "end", "--run", broken, "--report", "junit=none.xml")
            continue
        count, passed = FIGURES[number]
        figures = (f"test_count={count}", f"tests_passed={passed}", "build_status=success")
        done("iteration", "end", *(x for one in figures for x in ("--metric", one)))
    return sprint


def test_alone_it_says_whose_files_are_there(night: Path, done: Run) -> None:
    """A regression left them; the best iteration and how to restore it come first."""
    done("sprint", "pause", "--reason", "lunch")
    lines = done().out.splitlines()
    said = "as iteration 6 left them (regression); the best is iteration 4"
    assert f"files: {said} ({score(done)})" in lines
    same = "those of iteration 5, the same files as the best"
    assert lines[-1] == f"next: run {BACK} to restore the best files ({same})"


def score(done: Run) -> str:
    """Return the score of the best iteration as printed by `best`."""
    return done("iteration best").out.partition("quality: ")[2].partition(")")[0]


def test_after_the_way_back_nothing_advises_it(night: Path, done: Run) -> None:
    """The iteration of the files is reported, until an undo; a redo reports it again."""
    there = "restored from iteration 5: the same files as the best, iteration 4"
    for way in (["rollback", "best", "--files"], ["redo"]):
        done(*way, "--yes")
        assert (night / "work.txt").read_text() == "work 4\n"
        assert BACK not in done().out
        status = done("status").out
        assert (f"files: {there}" in status, "advice:" in status) == (True, False)
        done("undo", "--yes")
        assert (there in done("status").out, BACK in done().out) == (False, True)


def test_files_put_elsewhere_are_no_way_back(night: Path, done: Run) -> None:
    """Results written into a folder of the work tree do not change the advice."""
    done("iteration", "select", "--apply")
    status = done("status").out
    assert ("advice: roll back" in status, "as iteration 6 left them" in status) == (
        True,
        True,
    )


def test_that_nothing_is_lost_is_said_everywhere(night: Path, done: Run) -> None:
    """If the later one has the same files, best, status, report and preview say so."""
    said = "the same files as the best"
    assert f"targets iteration 5: {said}, and later" in done("iteration best").out
    assert f"roll back to iteration 5, {said} and later: " in done("status").out
    assert said in done("report").out
    shown = done("rollback", "best", "--files", "--dry-run").out
    assert shown.startswith(
        f"files  return to the end of iteration 5: {said}, iteration 4, and later\n"
    )


def test_fewer_tests_than_before_are_said(night: Path, done: Run) -> None:
    """All tests of the best one pass, but one was removed: this is reported."""
    said = "3 in iteration 4, 4 in iteration 1: some were removed"
    assert f"tests: {said}" in done("iteration best").out
    assert f"- **Tests**: {said}" in done("report").out
    assert "were removed" not in done("iteration best", "--at", "iter:1").out


def test_the_page_advises_nothing_that_was_done(night: Path, done: Run) -> None:
    """Once files were restored, neither the page nor `status` advises a rollback."""
    for is_advised in (True, False):
        done("report", "--html", "night.html")
        page = (night / "night.html").read_text()
        assert ("takes the advice" in page) is is_advised
        whose = "as iteration 6 left them" if is_advised else "restored from iteration 5"
        assert f"<b>files </b>{whose}" in page
        assert ("advice: " in done("status").out) is is_advised
        done("rollback", "best", "--files", "--yes")


def test_alerts_are_counted_over_all_iterations(night: Path, done: Run) -> None:
    """The total number, and the last one's iteration; `alerts` lists the others."""
    found = done("iteration alerts", "--all", "--json").json
    numbers = {one["triggered_at"] for one in found}
    last = [one for one in found if one["triggered_at"] == 6]
    assert f"alerts: {len(found)} alerts in {len(numbers)} iterations, last in " in (
        done("status").out
    )
    more = len(found) - len(last)
    assert (
        f"{more} more alert{'' if more == 1 else 's'} in " in done("iteration alerts").err
    )


def test_what_nobody_measured_has_a_report(night: Path, done: Run, run: Run) -> None:
    """The reason, the command and the end of its output."""
    text = done("report", "2").out
    assert "**Not measured**: `" in text
    assert ": exit code 3\n\n```text\n`no` module \\x1b[31m\n```\n" in text
    whole = done("report", "2", "--json").json
    assert whole["judgement"]["failed"]["exit_code"] == 3
    assert (whole["best"]["iteration"], whole["recommendation"]) == (4, None)
    refused = run("report", "9")
    assert (refused.code, "there is no iteration 9" in refused.err) == (3, True)


def test_an_iteration_under_way_has_a_report(night: Path, done: Run) -> None:
    """Unmeasured iterations are shown with the known data."""
    done("iteration", "start")
    assert "**Not measured**: `nobody measured it`" in done("report", "7").out
    assert done("report", "7", "--json").json["judgement"]["score"] is None


def test_the_table_of_the_report_fits(night: Path, done: Run) -> None:
    """No line of the table is longer than 100 characters; its columns are aligned."""
    rows = [x for x in done("report").out.splitlines() if x.startswith("|")]
    assert max(map(len, rows)) <= 100
    assert len({row.index("|", 5) for row in rows}) == 1
    assert rows[3].split(" | ")[-1].startswith("``exit 3: echo ")
    assert rows[5].endswith("| best |")
    assert "Coverage" not in rows[0]


def test_what_differs_between_files_is_one_command_away(night: Path, done: Run) -> None:
    """`compare` names the command that shows the lines, with visible control characters."""
    hint = "`sprintlog iteration diff iter:5 iter:6 --patch`"
    assert hint in done("iteration compare", "5", "6").err
    assert "iteration diff" not in done("iteration compare", "4", "5").err
    (night / "work.txt").write_text("red \x1b[31m\n")
    done("iteration", "start")
    done("iteration", "snapshot")
    assert (
        "\n+red \\x1b[31m\n" in done("iteration", "diff", "iter:6", "iter:7", "--patch").out
    )


def test_an_event_says_first_what_it_says(night: Path, done: Run) -> None:
    """The event's meaning comes first, then its data; the rest of its envelope is below."""
    lines = done("show", "event", "3").out.splitlines()
    told = done("log", "--oneline", "--since", "position:3", "-n", "1").out
    assert lines[0] in told
    names = [line.split("  ")[0].strip() for line in lines[1:]]
    assert names[:5] == ["position", "at", "actor", "data", "stream"]
