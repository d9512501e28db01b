"""How the library opens and creates workspaces."""

from os import urandom
from pathlib import Path

import pytest

import sprintlog
from sprintlog.commands import CreateSprint
from sprintlog.errors import NotFoundError, RefusedError
from sprintlog.stores import MemoryLog


def test_a_new_log_is_found_from_below(tmp_path: Path) -> None:
    """`init` also creates the folder; `open` finds the log from a subfolder."""
    folder = tmp_path / "new" / "tree"
    with sprintlog.init(folder) as workspace:
        assert workspace.location.root == folder
    (folder / "deep").mkdir()
    with sprintlog.open(str(folder / "deep")) as workspace:
        assert workspace.location.folder == folder / ".sprintlog"
        assert workspace.sprints() == {}


def test_where_the_folder_stands_is_taken_from_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder the current one is meant."""
    monkeypatch.chdir(tmp_path)
    sprintlog.init().close()
    with sprintlog.open() as workspace:
        assert workspace.location.root == tmp_path


def test_a_log_can_be_elsewhere(tmp_path: Path) -> None:
    """`log` specifies the log's own folder, for creating and for opening it."""
    place = tmp_path / "logs" / "one"
    sprintlog.init(tmp_path / "tree", log=place).close()
    assert (place / "log.db").is_file()
    with sprintlog.open(tmp_path / "tree", log=str(place)) as workspace:
        assert workspace.location.folder == place


def test_no_log_and_a_second_log_are_errors(tmp_path: Path) -> None:
    """Opening creates nothing, and nothing overwrites a log."""
    with pytest.raises(NotFoundError):
        sprintlog.open(tmp_path)
    sprintlog.init(tmp_path).close()
    with pytest.raises(RefusedError, match="a log already exists"):
        sprintlog.init(tmp_path)


def test_one_that_is_there_can_be_opened_instead(tmp_path: Path) -> None:
    """With `exist_ok`, the first call creates the log and each further one opens it."""
    with sprintlog.init(tmp_path, exist_ok=True) as workspace:
        workspace.handle(
            CreateSprint({"phases": [{"id": "a", "prompt": "b"}]}), sprint_id="one"
        )
    with sprintlog.init(tmp_path, exist_ok=True) as workspace:
        assert list(workspace.sprints()) == ["one"]
    with pytest.raises(RefusedError, match="a log already exists"):
        sprintlog.init(tmp_path, exist_ok=False)


def test_a_store_of_ones_own_is_used(tmp_path: Path) -> None:
    """Reads and appends use the store; no database is created."""
    store = MemoryLog(clock=lambda: 1_700_000_000_000, entropy=urandom)
    with sprintlog.open(tmp_path, store=store) as workspace:
        assert workspace.log is store
        assert workspace.now() > "2023"
    assert not (tmp_path / ".sprintlog" / "log.db").exists()
