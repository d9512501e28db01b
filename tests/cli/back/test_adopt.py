"""`adopt`: an observed edit becomes events."""

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def edited(sprint: Path, done: Any) -> Path:
    """Return a folder in which someone completed and added nodes in the file."""
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
    """Fields become events if possible; the rest is reported on stderr and in the event."""
    result = done("adopt", "--actor", "operator:ana", "--json")
    types = [event["type"] for event in result.json["events"]]
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
    assert done("adopt", edit["version"], "--json").json["events"] == []
    done("rollback", f"version:{edit['version']}")
    assert len(done("adopt", edit["version"], "--json").json["events"]) == 3


@pytest.mark.parametrize("policy", ["observe", "adopt", "refuse"])
def test_takes_an_edit_that_still_stands_in_the_file(
    sprint: Path, done: Any, state: Any, policy: str
) -> None:
    """Nothing needs to be recorded between an edit and its adoption."""
    done("iteration", "rules", "set", "--progress-edits", policy)
    file = sprint / "PROGRESS.yaml"
    file.write_text(file.read_text().replace("prompt: Read it all", "prompt: Read it"))
    done("adopt")
    assert state()["phases"][2]["prompt"] == "Read it"
    assert done("rebuild", "--check").code == 0


def test_shows_what_it_would_set(edited: Path, done: Any, state: Any) -> None:
    """A dry run lists each field with both values, and records nothing."""
    before, version = state(), done("status", "--json").json["version"]
    told = done("adopt", "--dry-run")
    lines = told.out.splitlines()
    assert "would set phases[setup].status: in-progress → completed" in lines
    assert "would set phases[review].prompt: Read it all → Read it twice" in lines
    assert "would set phases[review].owner: + ana" in lines
    assert not any("last-activity" in line for line in lines)
    assert lines[-1] == (
        "would record sprint-imported, phase-completed setup, edit-adopted; "
        "nothing was changed"
    )
    assert "not adopted: stats/completed-phases: is derived" in told.err
    assert (state(), done("status", "--json").json["version"]) == (before, version)


def test_shows_what_it_would_set_in_the_journal(journal: Path, done: Any) -> None:
    """The journal's fields are named like those of a sprint."""
    text = journal.read_text()
    journal.write_text(text.replace('"summary": "stuck"', '"summary": "unstuck"'))
    done("rebuild")
    told = done("adopt", "--journal", "--dry-run").out
    assert "].summary: stuck → unstuck\n" in told
    assert told.startswith("would set entries[")
    assert told.endswith(
        "would record journal-corrected, edit-adopted; nothing was changed\n"
    )
    assert '"summary": "stuck"' in journal.read_text()
    done("verify")


def test_there_is_none(sprint: Path, run: Any) -> None:
    """Without an edit, or at an invalid version, it ends with 3."""
    assert run("adopt").code == 3
    assert run("adopt", 1).code == 3


def test_is_a_decision(edited: Path, done: Any) -> None:
    """The audit lists the edit and its result."""
    done("adopt", "--actor", "operator:ana")
    found = done("audit", "--kind", "edit", "--json").json["decisions"]
    assert [d["type"] for d in found] == ["edit-observed", "edit-adopted"]
    assert found[1]["actor"] == "operator:ana"
    assert "setup/status" in found[1]["said"]


def edit_status(file: Path) -> None:
    """Edit the file at hand: the phase that runs is completed, and a figure is wrong."""
    text = file.read_text()
    begin = text.index("- id: setup")
    text = text[:begin] + text[begin:].replace("in-progress", "completed", 1)
    file.write_text(text.replace("completed-phases: 0", "completed-phases: 7"))


def test_adopts_by_itself_where_that_is_the_policy(
    sprint: Path, done: Any, state: Any
) -> None:
    """With the policy `adopt` the next command records events for an edit, and warns."""
    done("iteration", "rules", "set", "--progress-edits", "adopt")
    assert (
        done("iteration", "rules", "show", "--json").json["policies"]["progress_edits"]
        == "adopt"
    )
    done("phase", "start")
    edit_status(sprint / "PROGRESS.yaml")
    told = done("note", "hello")
    assert "it was adopted, but not stats/completed-phases: is derived" in told.err
    types = [event["type"] for event in done("log", "--last", "3", "--json").lines]
    assert types == ["edit-observed", "phase-completed", "edit-adopted"]
    assert state()["phases"][0]["status"] == "completed"
    assert state()["stats"]["completed-phases"] == 1
    (adopted,) = done("log", "--type", "edit-adopted", "--json").lines
    assert adopted["actor"] == "import:edit"
    assert done("rebuild", "--check").code == 0
    assert done("note", "again").err == ""


def test_what_cannot_be_adopted_is_kept(sprint: Path, done: Any) -> None:
    """With the policy `adopt` a torn file is kept and replaced as usual."""
    done("iteration", "rules", "set", "--progress-edits", "adopt")
    (sprint / "PROGRESS.yaml").write_text("torn: [")
    told = done("note", "hello")
    assert "it was not adopted" in told.err
    assert done("rebuild", "--check").code == 0


def test_records_nothing_where_edits_are_refused(sprint: Path, done: Any, run: Any) -> None:
    """With the policy `refuse` nothing is recorded; the edit remains until `rebuild`."""
    done("iteration", "rules", "set", "--progress-edits", "refuse")
    done("phase", "start")
    edit_status(sprint / "PROGRESS.yaml")
    edited = (sprint / "PROGRESS.yaml").read_bytes()
    before = done("log", "--json").lines
    for line in (["note", "x"], ["phase", "complete"], ["append", "activity-seen"]):
        result = run(*line)
        assert (result.code, "nothing is recorded until it is resolved" in result.err) == (
            1,
            True,
        )
    assert done("log", "--json").lines == before
    assert (sprint / "PROGRESS.yaml").read_bytes() == edited
    done("rebuild")
    done("adopt")
    done("note", "x")
    assert done("log", "--type", "phase-completed", "--json").lines


def test_refuses_a_policy_that_is_none(sprint: Path, run: Any) -> None:
    """An unknown policy is refused, typed or appended."""
    assert run("iteration", "rules", "set", "--progress-edits", "shrug").code == 2
    data = '{"progress_edits": "shrug"}'
    result = run("append", "rules-set", "--data", data)
    assert (result.code, "must be one of observe, adopt, refuse" in result.err) == (1, True)
