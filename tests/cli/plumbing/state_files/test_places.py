"""State file paths: a finished sprint frees its path, a folder selects a sprint."""

from pathlib import Path
from typing import Any

import pytest

from ...conftest import Run

PLAN = "phases: [{id: a, prompt: x}]\n"


@pytest.fixture
def finished(folder: Path, done: Run) -> Path:
    """Return a folder in which the sprint `one` is finished."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    finish(done, "one")
    return folder


def finish(done: Run, name: str) -> None:
    """Create a sprint in this folder and bring it to its end."""
    done("sprint", "create", name, "--plan", "plan.yaml")
    done("sprint", "start", "--sprint", name)
    done("phase", "skip", "--sprint", name)
    done("sprint", "complete", "--sprint", name)


def test_the_next_sprint_takes_the_place_of_a_finished_one(
    finished: Path, done: Run, state: Any
) -> None:
    """The finished sprint's last file is stored in the log's folder, and not updated."""
    last = (finished / "PROGRESS.yaml").read_bytes()
    done("sprint", "create", "two", "--plan", "plan.yaml")
    assert state()["sprint-id"] == "two"
    assert (finished / ".sprintlog/finished/one.PROGRESS.yaml").read_bytes() == last
    assert not list(finished.glob(".sprintlog/edits/*"))
    done("note", "late", "--sprint", "one")
    done("rebuild")
    assert state()["sprint-id"] == "two"
    done("rebuild", "--check")
    done("verify")
    assert done("show", "progress", "--sprint", "one").out.encode() != b""


def test_a_hand_edit_of_the_finished_file_is_kept(finished: Path, done: Run) -> None:
    """A manual edit of the file before it was replaced is recorded and stored."""
    file = finished / "PROGRESS.yaml"
    file.write_text(file.read_text() + "mine: true\n")
    done("sprint", "create", "two", "--plan", "plan.yaml")
    observed = done("log", "--sprint", "one", "--type", "edit-observed", "--json").json
    assert observed["data"]["changes"] == [{"op": "add", "path": "/mine", "value": True}]


def test_an_unfinished_sprint_keeps_its_place(finished: Path, run: Run, done: Run) -> None:
    """Neither a new nor a reopened sprint takes the path of unfinished work."""
    done("sprint", "create", "two", "--plan", "plan.yaml")
    refused = run("sprint", "create", "three", "--plan", "plan.yaml")
    assert (refused.code, "belongs to sprint two" in refused.err) == (1, True)
    for back in (("sprint", "reopen"), ("rollback", "version:2")):
        refused = run(*back, "--sprint", "one")
        assert (refused.code, "belongs to sprint two" in refused.err) == (1, True)
        assert "`sprintlog sprint complete --sprint two`" in refused.err
    done("verify")
    assert done("rebuild").out.startswith("one: no file in this work tree\n")


def test_a_reopened_sprint_takes_its_place_back(
    finished: Path, done: Run, state: Any
) -> None:
    """If its successor is also finished, the reopened sprint writes the file again."""
    finish(done, "two")
    done("sprint", "reopen", "--sprint", "one")
    assert (state()["sprint-id"], state()["status"]) == ("one", "in-progress")
    assert (finished / ".sprintlog/finished/two.PROGRESS.yaml").exists()
    done("rebuild", "--check")
    done("sprint", "complete", "--sprint", "one")
    assert state()["sprint-id"] == "one"
    done("verify")


def test_the_folder_one_stands_in_chooses_the_sprint(
    folder: Path, run: Run, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of several sprints, the one whose file is here or nearest above is selected."""
    (folder / "plan.yaml").write_text(PLAN)
    done("init")
    for name in ("one", "two"):
        done("sprint", "create", name, "--plan", "plan.yaml", "--sprint-dir", name)
    (folder / "two/src").mkdir()
    assert "more than one sprint" in run("status").err
    for place in ("two", "two/src"):
        monkeypatch.chdir(folder / place)
        assert done("status", "--json").json["sprint"] == "two"
    assert done("status", "--sprint", "one", "--json").json["sprint"] == "one"
    monkeypatch.setenv("SPRINTLOG_SPRINT", "one")
    assert done("status", "--json").json["sprint"] == "one"
