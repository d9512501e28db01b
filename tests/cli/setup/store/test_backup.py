"""`backup`: a consistent copy, never over anything, and restored by hand."""

import os
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.errors import UnreadableError
from sprintlog.engine.log.stores.sqlite.backup import check_copy


def test_a_copy_holds_every_event(sprint: Path, done: Any) -> None:
    """The copy is one private file with the complete log, and its head is printed."""
    answer = done("store", "backup", "copy.db", "--json").json
    head = done("verify", "--json").json["head"]
    assert (answer["events"], answer["head"]) == (2, head)
    assert (sprint / "copy.db").stat().st_mode & 0o777 == 0o600
    assert not [path for path in sprint.iterdir() if path.name.startswith(".copy")]


def test_never_writes_over_anything(sprint: Path, run: Any) -> None:
    """An existing file is refused and unchanged."""
    (sprint / "copy.db").write_text("mine")
    assert run("store", "backup", "copy.db").code == 1
    assert (sprint / "copy.db").read_text() == "mine"


def test_restores_by_the_written_steps(sprint: Path, done: Any) -> None:
    """A copy restored by the steps in the help is an intact log."""
    done("store", "backup", "copy.db")
    (sprint / ".sprintlog").rename(sprint / "aside")
    done("init")
    (sprint / "copy.db").rename(sprint / ".sprintlog" / "log.db")
    (sprint / ".sprintlog" / "log.db-head").unlink()
    assert done("verify", "--json").json["events"] == 2
    done("phase", "start")


def test_a_damaged_copy_is_no_backup(sprint: Path, done: Any) -> None:
    """An unreadable copy does not count as a backup."""
    done("store", "backup", "copy.db")
    content = bytearray((sprint / "copy.db").read_bytes())
    at = content.find(b"plan.yaml")
    content[at] ^= 1
    (sprint / "copy.db").write_bytes(content)
    with pytest.raises(UnreadableError):
        check_copy(sprint / "copy.db", clock=lambda: 0, entropy=os.urandom)
