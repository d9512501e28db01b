"""`iteration diff` of one iteration: its changes, as far as files were saved."""

import re
from pathlib import Path

import pytest

from ...conftest import Run


@pytest.fixture
def loop(folder: Path, done: Run) -> Run:
    """Return a function that runs commands, after three iterations with saved files."""
    done("init")
    done("sprint", "create", "win", "--goal", "Win")
    done("sprint", "start")
    for number in (1, 2, 3):
        done("iteration", "start", *(["--snapshot"] if number > 1 else []))
        (folder / f"made-{number}").write_text("new")
        (folder / "count").write_text(str(number))
        done("iteration", "end", "--snapshot")
    return done


def test_one_alone_is_compared_with_what_was_before(loop: Run) -> None:
    """It shows the iteration's changes; a bare number also names the iteration."""
    wanted = ["changed  count", "added    made-3"]
    assert loop("iteration", "diff", "iter:3").out.splitlines() == wanted
    assert loop("iteration", "diff", "3", "made-3").out.splitlines() == wanted[1:]
    assert loop("iteration", "diff", "1", "3", "made-2").out.splitlines() == [
        "added    made-2"
    ]


def test_after_a_rollback_it_begins_with_what_was_brought_back(
    folder: Path, loop: Run
) -> None:
    """Lines removed by a rollback were not removed by the next iteration."""
    loop("rollback", "iter:1", "--yes")
    loop("iteration", "start", "--snapshot")
    (folder / "other").write_text("new")
    loop("iteration", "end", "--snapshot")
    assert loop("iteration", "diff", "4").out.splitlines() == ["added    other"]
    assert "### Files that changed" in loop("report", "4").out


def test_before_the_first_nothing_is_known(loop: Run, run: Run) -> None:
    """Changes of the first iteration are unknown; this is reported, and nothing shown."""
    refused = run("iteration", "diff", "iter:1")
    assert (refused.code, refused.out) == (3, "")
    assert "no files were saved before iteration 1 started" in refused.err
    assert (
        "run `sprintlog iteration snapshot` before the first run to save them"
        in refused.err
    )
    refused = run("iteration", "diff", "iter:1", "now")
    assert refused.code == 1
    assert "rollback iter:N --files --dry-run" in refused.err


def test_the_page_names_them(folder: Path, loop: Run) -> None:
    """Each iteration's row lists its changed files; those of the first are unknown."""
    loop("report", "--html", "page.html")
    said = (folder / "page.html").read_text(encoding="utf-8")
    found = dict(re.findall(r'data-n="(\d)">(.*?)</tr>', said))
    assert '<td class="s">2: count, made-3</td>' in found["3"]
    assert "made-" not in found["1"]


def test_a_page_needs_no_store_of_snapshots(folder: Path, loop: Run) -> None:
    """If the store is missing or damaged, the page shows everything else."""
    store = folder / ".sprintlog" / "snapshots" / "store.git"
    (store / "HEAD").write_text("damaged")
    loop("report", "--html", "page.html")
    said = (folder / "page.html").read_text(encoding="utf-8")
    assert "files changed" not in said
    assert 'data-n="3"' in said
