"""`report --html`: the sprint as one page in a file."""

import os
from pathlib import Path

import pytest

from ..conftest import Run


def test_the_page_is_written(sprint: Path, done: Run) -> None:
    """The file has all sections, and the answer names it."""
    answer = done("report", "--html", "night.html", "--json").json
    content = (sprint / "night.html").read_text(encoding="utf-8")
    assert answer == {"file": "night.html", "bytes": len(content.encode())}
    for identity in ("head", "timeline", "quality", "iterations", "events"):
        assert f'id="{identity}"' in content


def test_the_page_of_a_point_stays(sprint: Path, done: Run) -> None:
    """The page of a version is the same after later events."""
    done("report", "--html", "a.html", "--at", "version:2")
    done("phase", "start", "setup")
    done("report", "--html", "b.html", "--at", "version:2")
    assert (sprint / "a.html").read_bytes() == (sprint / "b.html").read_bytes()


def test_nothing_is_followed(sprint: Path, done: Run, tmp_path: Path) -> None:
    """A link at the file's place is replaced, and its target is unchanged."""
    other = tmp_path / "other"
    other.write_text("theirs")
    os.symlink(other, sprint / "night.html")
    done("report", "--html", "night.html")
    assert other.read_text() == "theirs"
    assert not (sprint / "night.html").is_symlink()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--html", "."], "is a folder"),
        (["--html", "nowhere/night.html"], "No such file"),
        (["--open"], "--open requires --html FILE"),
        (["3", "--html", "night.html"], "do not accept an iteration"),
        (["--html", "night.html", "--at", "version:99"], "has no event at version 99"),
    ],
)
def test_what_cannot_be_written_is_said(
    sprint: Path, run: Run, line: list[str], said: str
) -> None:
    """One line states the problem, and no file is created."""
    result = run("report", *line)
    assert result.code != 0
    assert said in result.err
    assert not list(sprint.glob("*night.html*"))
