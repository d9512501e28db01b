"""Importing the file in which the ralph-loop plugin stores its loop."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

FIXTURE = (
    Path(__file__).resolve().parents[4]
    / "fixtures"
    / "loops"
    / "ralph-loop"
    / "ralph-loop.local.md"
)
SPRINT = "ralph-loop-2026-06-02t08-00-00z"


@pytest.fixture
def loop(folder: Path, done: Run) -> Path:
    """Return the file of such a loop, next to an empty log."""
    (folder / ".claude").mkdir()
    file = folder / ".claude" / "ralph-loop.local.md"
    shutil.copy(FIXTURE, file)
    os.utime(file, (1_780_388_400, 1_780_388_400))
    done("init")
    return file


def events(done: Run) -> list[Any]:
    """Return the recorded events."""
    return done("log", "--json", "--sprint", SPRINT).lines


def test_the_prompt_is_the_goal(loop: Path, done: Run) -> None:
    """Promise and limit are stored in the document; the loop continues."""
    answer = done("import", "ralph-loop", "--json").json
    assert (answer["sprint"], answer["found"]) == (SPRINT, {"iteration": 3})
    shown = done("show", "progress", "--json").json
    assert shown["goal"].startswith("Make the importer work.\n\nOutput <promise>")
    assert shown["completion-promise"] == "ALL DONE: the tests pass"
    assert shown["stats"]["max-iterations"] == 20
    assert shown["status"] == "in-progress"


def test_each_iteration_that_began_is_recorded(loop: Path, done: Run) -> None:
    """The first has the loop's time, later ones that of the file."""
    done("import", "ralph-loop")
    numbers = [
        (e["data"]["number"], e["at"])
        for e in events(done)
        if e["type"] == "iteration-started"
    ]
    assert numbers == [
        (1, "2026-06-02T08:00:00Z"),
        (2, "2026-06-02T08:20:00Z"),
        (3, "2026-06-02T08:20:00Z"),
    ]


def test_a_loop_that_went_on_brings_only_what_is_new(loop: Path, done: Run) -> None:
    """Importing at each iteration gives the same result as a single import."""
    whole = loop.read_text()
    for number in (1, 2, 2, 3):
        loop.write_text(whole.replace("iteration: 3", f"iteration: {number}", 1))
        done("import", "ralph-loop")
    kept = [(e["type"], e["data"]) for e in events(done)]
    done("import", "ralph-loop", "--sprint", "at-once")
    lines = done("log", "--json", "--sprint", "at-once").lines
    assert kept[1:] == [(e["type"], e["data"]) for e in lines][1:]
    assert done("import", "ralph-loop", "--json").json["recorded"] == 0


def test_another_loop_is_another_sprint(loop: Path, done: Run) -> None:
    """Each run of the plugin has its own start time."""
    done("import", "ralph-loop")
    loop.write_text(loop.read_text().replace("2026-06-02T08", "2026-06-03T08"))
    assert done("import", "ralph-loop", "--json").json["sprint"] != SPRINT


def test_one_that_is_no_longer_active_is_completed(loop: Path, done: Run) -> None:
    """The source's own end completes the sprint."""
    loop.write_text(loop.read_text().replace("active: true", "active: false"))
    done("import", "ralph-loop")
    status = done("show", "progress", "--sprint", SPRINT, "--json").json["status"]
    assert status == "completed"


def test_keys_of_nobody_are_counted_and_kept(loop: Path, done: Run) -> None:
    """Additions by a later version of the plugin are no obstacle."""
    loop.write_text(loop.read_text().replace("active: true", "mood: good\nactive: true"))
    answer = done("import", "ralph-loop", "--json").json
    assert answer["unread"] == 1
    assert "mood: good" in Path(answer["kept"]).read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("iteration: 3", "iteration: three", "iteration: is missing or not a whole number"),
        ("iteration: 3", "iteration: -1", "iteration: is missing or not a whole number"),
        ("iteration: 3", "iteration: 20000", "iteration: 20000 is more than 10000"),
        ("max_iterations: 20", "", "max_iterations: is missing"),
        ('"2026-06-02T08:00:00Z"', "today", "started_at: 'today' is not a time"),
        ("active: true", "active: perhaps", "active: must be true or false"),
        ("---\n\n", "", "has no front matter"),
    ],
)
def test_a_wrong_field_is_refused_in_one_line(
    loop: Path, run: Run, old: str, new: str, said: str
) -> None:
    """File and field are named, and nothing is recorded."""
    loop.write_text(loop.read_text().replace(old, new, 1))
    result = run("import", "ralph-loop")
    first = result.err.splitlines()[0]
    assert result.code == 1
    assert first.startswith("error: .claude/ralph-loop.local.md: ")
    assert said in first
    assert run("verify", "--json").json["events"] == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\x00\xff\x10", "is not UTF-8"),
        (b"words\n", "has no front matter"),
        (
            b"---\niteration: 1\nmax_iterations: 0\nstarted_at: 2026-06-02T08:00Z\n---\n",
            "prompt: is missing",
        ),
        (b" " * (64 * 2**20 + 1), "is longer than 64 MiB"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    loop: Path, run: Run, content: bytes, said: str
) -> None:
    """An unreadable file is refused by name."""
    loop.write_bytes(content)
    result = run("import", "ralph-loop")
    assert result.code == 1
    assert said in result.err.splitlines()[0]
    assert run("verify", "--json").json["events"] == 0


def test_no_link_is_followed(loop: Path, run: Run) -> None:
    """The file may have been created by anyone."""
    loop.rename(loop.parent / "elsewhere")
    loop.symlink_to(loop.parent / "elsewhere")
    result = run("import", "ralph-loop")
    assert (result.code, "is a symbolic link" in result.err) == (1, True)


def test_a_loop_that_ended_has_no_file(folder: Path, run: Run) -> None:
    """The plugin removes the file, which is reported as not found."""
    run("init")
    assert run("import", "ralph-loop").code == 3
