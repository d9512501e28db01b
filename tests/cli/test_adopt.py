"""`adopt`: an edit that was observed becomes facts."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def edited(sprint: Path, done: Any) -> Path:
    """Return a folder in which somebody completed and added in the file itself."""
    done("phase", "start")
    file = sprint / "PROGRESS.yaml"
    text = file.read_text()
    begin = text.index("- id: setup")
    text = text[:begin] + text[begin:].replace("in-progress", "completed", 1)
    text = text.replace("prompt: Read it all", "prompt: Read it twice\n    owner: ana")
    file.write_text(text.replace("completed-phases: 0", "completed-phases: 1"))
    done("note", "hello")
    return sprint


def test_becomes_true(edited: Path, done: Any, state: Any) -> None:
    """What can become facts does; the rest is told on stderr and in the fact."""
    result = done("adopt", "--actor", "operator:ana", "--json")
    types = [event["type"] for event in result.json]
    assert types == ["sprint-imported", "phase-completed", "edit-adopted"]
    assert "not adopted: stats/completed-phases: is derived" in result.err
    document = state()
    assert document["phases"][0]["status"] == "completed"
    assert document["phases"][2]["prompt"] == "Read it twice"
    assert document["phases"][2]["owner"] == "ana"
    assert done("verify", "--json").json["sound"]


def test_only_once_unless_named(edited: Path, done: Any, run: Any) -> None:
    """An adopted edit is done with; named by its version it may be adopted again."""
    done("adopt")
    assert run("adopt").code == 3
    (edit,) = done("log", "--type", "edit-observed", "--json").lines
    assert done("adopt", edit["version"], "--json").json["unchanged"]
    done("rollback", "--to", f"version:{edit['version']}")
    assert len(done("adopt", edit["version"], "--json").json) == 3


def test_there_is_none(sprint: Path, run: Any) -> None:
    """Without an edit, or at a version that is none, it ends with 3."""
    assert run("adopt").code == 3
    assert run("adopt", 1).code == 3


def test_is_a_decision(edited: Path, done: Any) -> None:
    """The audit tells the edit and what became of it."""
    done("adopt", "--actor", "operator:ana")
    found = done("audit", "--kind", "edit", "--json").json["decisions"]
    assert [d["type"] for d in found] == ["edit-observed", "edit-adopted"]
    assert found[1]["actor"] == "operator:ana"
    assert "setup/status" in found[1]["said"]
