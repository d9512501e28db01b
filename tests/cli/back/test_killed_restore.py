"""In-place restores that were interrupted, and the processes that finish them."""

import shutil
from pathlib import Path

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.events import NoteAdded
from sprintlog.projections.workspace import Workspace

from ..conftest import Run
from ..restores import cut_short, files


def test_killed_restore_is_finished_by_the_next_command(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that was recorded and not done is done before anything else."""
    cut_short(done, monkeypatch)
    assert files(tree)["src/login"] == b"worse\n"
    done("note", "next")
    assert files(tree)["src/login"] == b"good\n"
    types = [event["type"] for event in done("log", "--json").lines]
    assert types[-2:] == ["files-restored", "note-added"]


def test_killed_restore_is_finished_by_the_library_too(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next action on a sprint first finishes its restore; expectations hold."""
    cut_short(done, monkeypatch)
    with Workspace.open(tree) as workspace:
        version = workspace.sprint("auth").version
        workspace.handle_with(
            "auth", lambda sprint, at: [NoteAdded("next")], expect=version
        )
    assert files(tree)["src/login"] == b"good\n"
    types = [event["type"] for event in done("log", "--json").lines]
    assert types[-2:] == ["files-restored", "note-added"]


def test_nobody_goes_on_unknowing_beside_a_killed_restore(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a callback, an action is refused if the restore cannot be finished."""
    cut_short(done, monkeypatch)
    with Workspace.open(tree) as workspace:
        workspace.environment = {"PATH": str(tree)}
        with pytest.raises(RefusedError, match="cannot be finished: snapshots need git"):
            workspace.handle_with("auth", lambda sprint, at: [NoteAdded("next")])
        told: list[str] = []
        workspace.tell = told.append
        workspace.handle_with("auth", lambda sprint, at: [NoteAdded("next")])
        assert len(told) == 1


def test_restore_that_cannot_be_finished_stops_nothing(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If git is missing, the next command reports it but records nevertheless."""
    cut_short(done, monkeypatch)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tree))
        assert "cannot be finished: snapshots need git" in done("note", "next").err
        done("iteration", "end")
    done("note", "after")
    assert files(tree)["src/login"] == b"good\n"


def test_restore_whose_store_is_lost_is_given_up(
    tree: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore that can never be finished is reported once, and recorded as abandoned."""
    cut_short(done, monkeypatch)
    shutil.rmtree(tree / ".git/sprintlog/snapshots/store.git")
    assert "is given up: the store does not contain snapshot" in done("note", "next").err
    assert done("note", "after").err == ""
    (event,) = done("log", "--type", "files-restored", "--json").lines
    assert (event["data"]["written"], event["data"]["left_count"]) == (0, 1)
