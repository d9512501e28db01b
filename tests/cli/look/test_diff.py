"""`diff`: differences between two points, in three formats."""

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sprintlog.engine.sprint.state.patch import FieldChange, apply
from sprintlog.projections.history.differences import told
from sprintlog.projections.state_files.yaml.reader import load

from ..conftest import PLAN, Run

AT = "2026-01-15T09:0{}:00Z"


@pytest.fixture
def history(sprint: Path, done: Run) -> Path:
    """Return a folder whose sprint finished a phase and started the next."""
    steps = [
        ("phase", "start"),
        ("phase", "complete", "--summary", "on a branch"),
        ("phase", "start", "--model", "opus"),
    ]
    for minute, step in enumerate(steps, start=1):
        done(*step, "--at", AT.format(minute))
    return sprint


def shown(done: Run, *arguments: str) -> Any:
    """Return the document as of a point."""
    return load(done("show", "progress", *arguments).out.encode())


def test_tells_each_field_in_a_line(history: Path, done: Run) -> None:
    """A line names the field by its ids, with both values."""
    lines = done("diff", "version:3", "version:4").out.splitlines()
    assert lines[:2] == [
        "phases[setup].status: in-progress → completed",
        f"phases[setup].completed-at: + {AT.format(2)}",
    ]
    assert "phases[setup].summary: + on a branch" in lines
    back = done("diff", "version:4", "version:3").out
    assert "phases[setup].summary: - on a branch\n" in back


def test_tells_what_happened_until_now(history: Path, done: Run) -> None:
    """Without a second point, it is the present."""
    assert done("diff", "start").out == done("diff", "start", "version:5").out


def test_says_when_nothing_differs(history: Path, done: Run) -> None:
    """If the states are equal, there are no lines and no operations."""
    assert done("diff", "version:5").out == "no difference\n"
    assert done("diff", "version:5", "--json-patch").json == []
    assert done("diff", "version:5", "--unified").out == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [("start", "version:5"), ("version:5", "position:2"), (AT.format(1), AT.format(3))],
)
def test_patch_leads_from_one_to_the_other(
    history: Path, done: Run, old: str, new: str
) -> None:
    """The JSON Patch between two points produces exactly the other document."""
    patch = done("diff", old, new, "--json-patch").json
    reached = apply(shown(done, "--at", old), patch)
    assert reached == shown(done, "--at", new)


def test_unified_diff_is_that_of_the_files(history: Path, done: Run) -> None:
    """Removed and added lines are those of the state file's text."""
    lines = done("diff", "version:3", "version:4", "--unified").out.splitlines()
    assert lines[:2] == [
        "--- PROGRESS.yaml\tauth version 3",
        "+++ PROGRESS.yaml\tauth version 4",
    ]
    assert {"-    status: in-progress", "+    status: completed"} <= set(lines)


def test_compares_two_sprints(history: Path, done: Run) -> None:
    """`SPRINT@POINT` is a point of a sprint, `SPRINT@` that sprint now."""
    (history / "plan.yaml").write_text(PLAN + "  - id: ship\n    prompt: Ship it\n")
    done("sprint", "create", "next", "--plan", "plan.yaml", "--sprint-dir", "next")
    answer = done("diff", "auth@start", "next@", "--json").json
    assert answer["old"] == {"sprint": "auth", "version": 1}
    assert answer["new"] == {"sprint": "next", "version": 1}
    (added,) = [c for c in answer["changes"] if c["what"] == "added"]
    assert added["field"] == "phases[ship]"
    assert added["new"] == {"id": "ship", "status": "pending", "prompt": "Ship it"}


def test_compares_what_is_known_of_iterations(history: Path, done: Run) -> None:
    """`--file best` compares the output of `show best`."""
    for passed in (5, 7):
        done("iteration", "start")
        metrics = ("--metric", "test_count=9", "--metric", f"tests_passed={passed}")
        done("iteration", "end", *metrics)
    lines = done("diff", "iter:1", "iter:2", "--file", "best").out.splitlines()
    assert "iteration_metrics.iteration: 1 → 2" in lines


def test_tells_items_by_their_ids(history: Path, done: Run) -> None:
    """Items inserted before others do not change these."""
    done("phase", "inject", "--id", "docs", "--prompt", "x", "--position", "before:review")
    lines = done("diff", "version:5").out
    assert "phases[docs]: + {" in lines
    assert "phases[review]" not in lines


def test_shows_where_long_texts_differ(history: Path, done: Run) -> None:
    """For two texts with a common beginning, the output starts near the difference."""
    done("phase", "complete", "build/login/implement", "--summary", "word " * 30 + "one")
    done("phase", "reopen", "build/login/implement")
    done("phase", "start", "build/login/implement")
    done("phase", "complete", "build/login/implement", "--summary", "word " * 30 + "two")
    changes = done("diff", "version:6", "version:9", "--json").json["changes"]
    (change,) = [one for one in changes if one["field"].endswith(".summary")]
    line = told(msgspec.convert(change, FieldChange), chars_max=72)
    assert line.endswith(".summary: …d word word one → …d word word two")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nope",), 1),
        (("version:99",), 3),
        (("nobody@start",), 3),
        (("start", "--unified", "--json"), 2),
    ],
)
def test_refuses_what_is_no_point(
    history: Path, run: Run, arguments: tuple[str, ...], code: int
) -> None:
    """An invalid point, and a point before the sprint, end as for --at."""
    assert run("diff", *arguments).code == code


def test_says_how_the_files_differ(folder: Path, done: Run) -> None:
    """For a goal loop it compares the files of two iterations, by default the last two."""
    done("init", "--here")
    done("sprint", "create", "s", "--goal", "Win")
    done("sprint", "start")
    for text in ("one", "two"):
        (folder / "a").write_text(text)
        done("iteration", "start")
        done("iteration", "end", "--snapshot")
    for points in (("iter:1", "iter:2"), ("iter:1",), ()):
        found = done("diff", *points)
        assert found.out == "changed  a\n"
        lines, fields = (shlex.split(x)[1:] for x in found.err.split("`")[1::2])
        assert done(*lines).out.endswith(
            "-one\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n"
        )
        assert done(*fields).out.startswith("stats.")
    assert "changed  a" not in done("diff", "iter:1", "version:5").out
