"""The journal's file: edits, losses, foreign files, and the work tree that owns it."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.strict_journal import read

from ..conftest import Run


def test_edit_is_kept_observed_and_overwritten(
    journal: Path, folder: Path, done: Run
) -> None:
    """A hand edit is preserved and recorded field by field before our file replaces it."""
    ours = journal.read_bytes()
    edited = ours.replace(b'"summary": "stuck"', b'"summary": "done"')
    journal.write_bytes(edited)
    told = done("journal entry record", "b", "--status", "failed")
    assert "was edited by others" in told.err
    observed = done("log", "--journal", "--type", "edit-observed", "--json").lines[0]
    assert observed["data"]["changes"] == [
        {"op": "replace", "path": "/entries/0/summary", "value": "done"}
    ]
    kept = folder / ".sprintlog" / "edits" / observed["data"]["kept"]
    assert kept.read_bytes() == edited
    data = read(journal.read_bytes())
    assert data["entries"][0]["summary"] == "stuck"
    assert len(data["entries"]) == 3


def test_an_edit_is_made_true_by_adopting_it(journal: Path, done: Run, run: Run) -> None:
    """Manual corrections remain, and so do events recorded in the meantime."""
    data = json.loads(journal.read_bytes())
    data["entries"][0]["summary"] = "put right"
    data["learnings"][0]["content"] = "better words"
    journal.write_text(json.dumps(data))
    learning = data["learnings"][0]["id"]
    done("journal learning use", learning)
    told = done("adopt", "--journal")
    assert (told.err, "journal-corrected" in told.out) == ("", True)
    now = read(journal.read_bytes())
    assert now["entries"][0]["summary"] == "put right"
    assert now["learnings"][0]["content"] == "better words"
    assert now["learnings"][0]["times_referenced"] == 1
    assert run("adopt", "--journal").code == 3
    done("verify")


def test_an_edit_that_still_stands_is_adopted(journal: Path, done: Run) -> None:
    """Nothing needs to be recorded between an edit and its adoption."""
    done("journal learning add", "Slow tests", "--type", "test-pattern", "--prd", "auth")
    journal.write_text(journal.read_text().replace("Slow tests", "Slow stubs"))
    done("adopt", "--journal")
    assert "Slow stubs" in journal.read_text()


def test_what_cannot_be_adopted_is_told(journal: Path, done: Run) -> None:
    """A removed entry remains removed, and a later change here remains."""
    data = json.loads(journal.read_bytes())
    (first, second) = data["entries"]
    data["entries"] = [{**second, "prd_id": "other"}]
    data["project_name"] = "shop"
    journal.write_text(json.dumps(data))
    done("rebuild")
    told = done("adopt", "--journal")
    for said in (f"{first['id']}: nothing", f"{second['id']}: its id", "project_name:"):
        assert f"not adopted: {said}" in told.err
    assert len(read(journal.read_bytes())["entries"]) == 2


def test_edit_too_large_to_record_is_kept(journal: Path, folder: Path, done: Run) -> None:
    """An edit whose difference is too large for an event is stored and reported."""
    journal.write_text(json.dumps({"entries": ["x" * 2_000_000]}))
    done("journal entry record", "b", "--status", "failed")
    observed = done("log", "--journal", "--type", "edit-observed", "--json").lines[0]
    assert "too large" in observed["data"]["problem"]
    assert (folder / ".sprintlog" / "edits" / observed["data"]["kept"]).exists()
    assert len(read(journal.read_bytes())["entries"]) == 3


def test_lost_and_broken_files_come_back(journal: Path, run: Run, done: Run) -> None:
    """`rebuild` writes the file again byte for byte; `verify` and `doctor` miss it."""
    ours = journal.read_bytes()
    journal.unlink()
    assert run("verify").code == 4
    assert run("rebuild", "--check").code == 4
    assert any(c["status"] == "problem" for c in run("doctor", "--json").json["checks"])
    done("rebuild")
    assert journal.read_bytes() == ours
    done("verify", "--determinism")
    assert done("rebuild", "--check", "--json").lines[-1]["stream"] == "journal"
    done("verify")
    journal.write_bytes(b"{")
    told = run("doctor").out
    assert "import journal .ralph/progress.json" in told
    done("rebuild")
    assert journal.read_bytes() == ours


def test_is_verified_with_its_saved_states(journal_path: Path, done: Run) -> None:
    """A journal long enough for saved states is sound, also folded from them."""
    command = '{"entry": {"prd_id": "a", "status": "failed"}}'
    for _ in range(70):
        done("append", "entry-recorded", "--data", command)
    done("verify")
    assert done("journal", "status", "--json").json["attempts"] == {"a": 70}


def test_is_recorded_once_where_the_file_cannot_be_written(
    journal: Path, done: Run, run: Run
) -> None:
    """A recorded entry ends with 0 whatever happens to the file, so there is no retry."""
    journal.unlink()
    journal.mkdir()
    told = done("journal entry record", "b", "--status", "failed")
    assert "warning: .ralph/progress.json" in told.err
    assert "the events are safe in the log" in told.err
    assert run("rebuild", "--check").code != 0
    journal.rmdir()
    done("rebuild")
    assert [e["id"] for e in read(journal.read_bytes())["entries"]][-1] == "b-1"


def test_status_goes_on_after_the_last_id(journal: Path, done: Run, run: Run) -> None:
    """Without free ids for a learning the figures are printed nevertheless."""
    data = json.loads(journal.read_bytes())
    data["learnings"] = [{**data["learnings"][0], "id": "learning-9999"}]
    Path("theirs.json").write_text(json.dumps(data))
    done("import", "journal", "theirs.json")
    assert done("journal", "status", "--json").json["next_learning_id"] is None
    assert "next learning id: none left" in done("journal", "status").out
    assert run("journal learning add", "x", "--type", "tool-usage", "--prd", "p").code == 1


def test_foreign_file_is_not_overwritten(journal_path: Path, run: Run) -> None:
    """A journal does not replace another tool's file, which must be imported first."""
    journal_path.parent.mkdir()
    journal_path.write_text("{}")
    refused = run("journal entry record", "a", "--status", "failed")
    assert refused.code == 1
    assert "`sprintlog import journal .ralph/progress.json`" in refused.err
    assert journal_path.read_text() == "{}"


STATUS = (
    '{"status": "executing", "indicator": "x", "elapsed_seconds": 10, "last_output": "",'
    ' "timestamp": "2026-02-01 10:00:00"}'
)


def test_status_file_of_another_tool_is_called_so(
    journal_path: Path, run: Run, done: Run
) -> None:
    """A file that is not a journal is not imported: its kind and a command are printed."""
    journal_path.parent.mkdir()
    journal_path.write_text(STATUS)
    for line in (["journal", "entry", "record", "a", "--status", "failed"],
                 ["import", "journal", journal_path]):  # fmt: skip
        refused = run(*line)
        assert refused.code == 1
        assert "the status file of a running loop" in refused.err
        assert "`sprintlog journal open --place .ralph/journal.json`" in refused.err
    done("journal", "open", "--place", ".ralph/journal.json")
    done("journal entry record", "a", "--status", "failed")
    assert journal_path.read_text() == STATUS
    assert len(read(Path(".ralph/journal.json").read_bytes())["entries"]) == 1
    done("verify")
    Path(".ralph/journal.json").unlink()
    done("rebuild")
    assert len(read(Path(".ralph/journal.json").read_bytes())["entries"]) == 1


def test_place_comes_from_the_environment(
    journal_path: Path, done: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SPRINTLOG_JOURNAL is the path of a new journal's file, relative to the root."""
    monkeypatch.setenv("SPRINTLOG_JOURNAL", "notes/journal.json")
    done("journal entry record", "a", "--status", "failed")
    assert len(read(Path("notes/journal.json").read_bytes())["entries"]) == 1
    assert not journal_path.exists()
    for wrong in ("notes/x.json", "../journal.json", ".git/journal.json"):
        monkeypatch.setenv("SPRINTLOG_JOURNAL", wrong)
        assert run("journal entry list").code == 1


def test_an_open_journal_moves(journal: Path, done: Run, run: Run, folder: Path) -> None:
    """Its file is elsewhere from then on; the old file is unchanged."""
    before = journal.read_bytes()
    (folder / "sub").mkdir()
    done("journal", "open", "--place", "sub/progress.json")
    assert (folder / "sub" / "progress.json").read_bytes() == before
    journal.write_text(STATUS)
    done("journal entry record", "b", "--status", "failed")
    assert journal.read_text() == STATUS
    assert len(read((folder / "sub" / "progress.json").read_bytes())["entries"]) == 3
    assert run("journal", "open", "--place", ".ralph/progress.json").code == 1
    assert (
        "nothing to record" in done("journal", "open", "--place", "sub/progress.json").out
    )
    assert done("log", "--type", "edit-observed", "--journal").out == "no events\n"


def test_only_its_work_tree_writes_the_file(
    folder: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the work tree that opened the journal has its file."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for line in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"],
                 ["worktree", "add", "-q", "other"]):  # fmt: skip
        subprocess.run([*git, *line], check=True)
    done("init")
    monkeypatch.chdir(folder / "other")
    done("journal entry record", "a", "--status", "failed")
    monkeypatch.chdir(folder)
    done("journal entry record", "a", "--status", "completed")
    assert not (folder / ".ralph").exists()
    assert len(done("journal entry list", "--json").json) == 2
    monkeypatch.chdir(folder / "other")
    done("rebuild")
    assert len(read(Path(".ralph/progress.json").read_bytes())["entries"]) == 2
