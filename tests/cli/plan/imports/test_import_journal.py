"""Importing progress.json and progress.txt: complete, once, and without overwriting."""

import json
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.masking import mask
from tests.strict_journal import read

from ...conftest import Run
from ...journal.journal_commands import without_empty

EXAMPLE = Path(__file__).resolve().parents[4] / "fixtures" / "documents" / "journal.json"
PLACE = ".ralph/progress.json"
TEXT = "# Progress\n\n- tried `make`\r\n- ghp_" + "a1" * 20 + "\n\ttabbed “é”\n"


@pytest.fixture
def ralph(folder: Path, done: Run) -> Path:
    """Return the folder of the journal's file, next to an empty log."""
    done("init")
    (folder / ".ralph").mkdir()
    return folder / ".ralph"


@pytest.fixture
def example(ralph: Path) -> Path:
    """Return the example as left by another tool."""
    file = ralph / "progress.json"
    file.write_bytes(EXAMPLE.read_bytes())
    return file


def changed(file: Path, change: Any) -> Path:
    """Change a file as another tool would; return it."""
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    return file


def test_takes_every_part_with_its_own_time(example: Path, done: Run) -> None:
    """Each entry, learning and pattern becomes an event, at its own time."""
    answer = done("import", "journal", PLACE, "--json").json
    assert (answer["recorded"], answer["problems"]) == (12, [])
    events = done("log", "--journal", "--json").lines
    data = json.loads(EXAMPLE.read_text())
    times = [data["created_at"], *(e["timestamp"] for e in data["entries"])]
    times += [x["created_at"] for x in data["learnings"]]
    times += [p["discovered_at"] for p in data["patterns"]]
    assert [event["at"] for event in events] == times
    assert {event["actor"] for event in events} == {"import:progress.json"}


def test_is_byte_stable(example: Path, done: Run) -> None:
    """Import, write, import again, even elsewhere: same bytes, nothing added."""
    done("import", "journal", PLACE)
    ours = example.read_bytes()
    assert read(ours) == without_empty(json.loads(EXAMPLE.read_text()))
    assert done("import", "journal", PLACE, "--json").json["unchanged"]
    assert done("import", "journal", EXAMPLE, "--json").json["unchanged"]
    assert example.read_bytes() == ours
    assert len(done("log", "--journal", "--json").lines) == 12
    done("verify")


def test_keeps_the_original(example: Path, folder: Path, done: Run) -> None:
    """The file is written in our layout; the original is stored, and was no edit."""
    told = done("import", "journal", PLACE)
    assert "the original is saved as" in told.err
    (kept,) = (folder / ".sprintlog" / "edits").iterdir()
    assert kept.read_bytes() == EXAMPLE.read_bytes()
    assert done("log", "--journal", "--type", "edit-observed").out == "no events\n"


def test_takes_what_another_tool_wrote_later(example: Path, done: Run) -> None:
    """Only new parts of a later version of the file are imported; it was no edit either."""
    done("import", "journal", PLACE)

    def later(data: Any) -> None:
        data["entries"].append({**data["entries"][0], "id": "auth-login-2", "iteration": 2})
        data["learnings"][1]["times_referenced"] = 3
        data["learnings"][2]["still_valid"] = False

    answer = done("import", "journal", changed(example, later), "--json").json
    assert (answer["recorded"], answer["problems"]) == (3, [])
    data = read(example.read_bytes())
    assert len(data["entries"]) == 6
    assert data["learnings"][1]["times_referenced"] == 3
    assert data["learnings"][2]["still_valid"] is False
    assert done("journal entry record", "auth-login", "--status", "failed", "--json").json[
        "entry"
    ] == "auth-login-3"  # fmt: skip


def test_tells_what_it_does_not_take(example: Path, done: Run) -> None:
    """Differences to the records are reported and stay; the rest is imported."""
    done("import", "journal", PLACE)

    def other(data: Any) -> None:
        data["entries"][0]["summary"] = "something else"
        data["learnings"][0]["source_entry_id"] = "gone-1"

    told = done("import", "journal", changed(example, other))
    assert (
        "entries[0].summary: differs from the recorded value, which is unchanged"
        in told.out
    )
    assert read(example.read_bytes())["entries"][0]["summary"] != "something else"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(version="2.0"), "version: progress.json version 2.0 is too"),
        (lambda d: d.update(version="0.9"), "version: '0.9': 1.0 is the first"),
        (lambda d: d.pop("entries"), "entries: field is required"),
        (lambda d: d.update(mood="x"), "mood: there is no such field"),
        (lambda d: d["entries"][1].update(status="done"),
         'entries[1].status: invalid value "done"'),
        (lambda d: d["entries"][1].update(timestamp="0001-01-01T00:00:00Z"),
         "entries[1].timestamp: field is required"),
        (lambda d: d["learnings"][0].update(id="learning-1"), "learnings[0].id: is not"),
    ],
)  # fmt: skip
def test_refuses_naming_file_and_field(
    example: Path, run: Run, change: Any, said: str
) -> None:
    """A file that is not progress.json is refused in one line, and nothing recorded."""
    file = changed(example, change)
    before = file.read_bytes()
    result = run("import", "journal", PLACE)
    assert result.code == 1
    assert result.err.startswith(f"error: {PLACE}: {said}")
    assert run("journal", "status", "--json").json["version"] == 0
    assert file.read_bytes() == before


def test_keeps_fields_of_a_later_version(example: Path, done: Run) -> None:
    """Fields of a later 1.x are stored, reported and written back under that version."""
    changed(example, lambda d: d.update(version="1.1", mood="good"))
    answer = done("import", "journal", PLACE, "--json").json
    assert answer["problems"] == ["mood: kept, as of a later version"]
    data = json.loads(example.read_text())
    assert (data["version"], data["mood"]) == ("1.1", "good")
    done("journal entry record", "a", "--status", "failed")
    assert json.loads(example.read_text())["mood"] == "good"


@pytest.mark.long
def test_takes_more_than_one_append_holds(ralph: Path, done: Run) -> None:
    """A file with more events than one append allows is imported completely, once."""
    entries = [
        {
            "id": f"a-{number}",
            "timestamp": "2026-01-01T00:00:00Z",
            "prd_id": "a",
            "iteration": number,
            "status": "failed",
            "observations": [],
        }
        for number in range(1, 10_101)
    ]
    document = {"version": "1.0", "created_at": "2026-01-01T00:00:00Z", "entries": entries}
    (ralph / "other.json").write_text(json.dumps(document))
    answer = done("import", "journal", ".ralph/other.json", "--json").json
    assert answer["recorded"] == 10_101
    assert done("import", "journal", ".ralph/other.json", "--json").json["unchanged"]


def test_says_a_file_that_is_too_long(ralph: Path, run: Run) -> None:
    """A file beyond the limit is refused before it is read completely."""
    with (ralph / "other.json").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    result = run("import", "journal", ".ralph/other.json")
    assert (result.code, result.err) == (
        1,
        "error: .ralph/other.json: is longer than 64 MiB\n",
    )


def test_text_becomes_the_first_learning(ralph: Path, done: Run) -> None:
    """All of progress.txt is stored as one learning, masked, and the file renamed."""
    source = ralph / "progress.txt"
    source.write_bytes(TEXT.encode())
    done("journal", "migrate", "--at", "2026-02-01T10:00:00Z")
    data = read((ralph / "progress.json").read_bytes())
    assert data["entries"] == []
    assert data["learnings"] == [
        {
            "id": "learning-0000",
            "type": "codebase-pattern",
            "content": mask(TEXT),
            "context": "Migrated from progress.txt",
            "source_prd_id": "migration",
            "created_at": "2026-02-01T10:00:00Z",
            "still_valid": True,
        }
    ]
    assert not source.exists()
    assert (ralph / "progress.txt.backup").read_bytes() == TEXT.encode()
    learned = done(
        "journal learning add", "x", "--type", "tool-usage", "--prd", "a", "--json"
    )
    assert learned.json["learning"] == "learning-0001"


def test_text_beside_a_json_is_left(example: Path, ralph: Path, done: Run) -> None:
    """If progress.json exists, nothing happens, and both files are mentioned."""
    (ralph / "progress.txt").write_text("old")
    told = done("journal", "migrate")
    assert "use `sprintlog import journal FILE` to import it" in told.err
    assert (ralph / "progress.txt").exists()
    done("import", "journal", PLACE)
    before = example.read_bytes()
    told = done("journal", "migrate")
    assert "progress.txt is unchanged" in told.err
    assert example.read_bytes() == before
    assert (ralph / "progress.txt").read_text() == "old"


def test_neither_file_begins_an_empty_journal(ralph: Path, done: Run) -> None:
    """Without either file, an empty journal is created successfully."""
    done("journal", "migrate")
    assert read((ralph / "progress.json").read_bytes())["entries"] == []
    assert "nothing to record" in done("journal", "migrate").out


def test_an_empty_text_is_put_aside(ralph: Path, done: Run) -> None:
    """An empty progress.txt is archived and adds no learning."""
    (ralph / "progress.txt").write_text("")
    done("journal", "migrate")
    assert "learnings" not in read((ralph / "progress.json").read_bytes())
    assert (ralph / "progress.txt.backup").exists()


def test_no_backup_is_replaced(ralph: Path, run: Run) -> None:
    """If progress.txt.backup exists already, nothing is done."""
    (ralph / "progress.txt").write_text("new")
    (ralph / "progress.txt.backup").write_text("old")
    result = run("journal", "migrate")
    assert result.code == 1
    assert "already exists and would be replaced" in result.err
    assert not (ralph / "progress.json").exists()
    assert (ralph / "progress.txt.backup").read_text() == "old"


def test_a_text_beyond_the_limit_is_refused(ralph: Path, run: Run) -> None:
    """A text above the payload limit is refused, never truncated."""
    (ralph / "progress.txt").write_text("x" * (1024 * 1024 + 1))
    result = run("journal", "migrate")
    assert result.code == 1
    assert "at most 1048576 are allowed" in result.err
    assert (ralph / "progress.txt").exists()


def test_a_killed_migration_is_finished(ralph: Path, done: Run) -> None:
    """A migration killed before the text was renamed renames it the next time."""
    (ralph / "progress.txt").write_bytes(TEXT.encode())
    done("journal", "migrate")
    (ralph / "progress.txt.backup").rename(ralph / "progress.txt")
    done("journal", "migrate")
    assert (ralph / "progress.txt.backup").read_bytes() == TEXT.encode()
    assert len(done("journal learning list", "--json").json) == 1


@pytest.mark.parametrize("place", ["progress.txt", "scripts/ralph/progress.txt"])
def test_a_text_is_looked_for_where_loops_keep_it(
    folder: Path, ralph: Path, done: Run, place: str
) -> None:
    """The usual places are searched; the existing file is set aside."""
    source = folder / place
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_text("## 2026-01-01 - US-001\n- did it\n")
    answer = done("journal", "migrate", "--json").json
    assert (answer["entries"], answer["learnings"], answer["patterns"]) == (1, 1, 0)
    assert not source.exists()
    assert source.with_name("progress.txt.backup").exists()


def test_several_texts_are_asked_about(folder: Path, ralph: Path, run: Run) -> None:
    """If two paths have a text, neither is imported until one is specified."""
    for place in (folder, ralph):
        (place / "progress.txt").write_text("old")
    refused = run("journal", "migrate")
    assert (refused.code, "`sprintlog journal migrate FILE`" in refused.err) == (1, True)
    assert not (ralph / "progress.json").exists()


def test_a_text_that_is_named_is_taken_at_any_time(
    folder: Path, ralph: Path, done: Run, run: Run
) -> None:
    """It is also imported into an open journal; a file at another path is only read."""
    done("journal", "migrate")
    (folder / "old.txt").write_text("## 2026-01-01 - US-001\n- did it\n")
    assert "1 entries, 1 learnings" in done("journal", "migrate", "old.txt").out
    assert (folder / "old.txt").exists()
    assert "nothing to record" in done("journal", "migrate", "old.txt").out
    assert done("journal entry list", "--json").json[0]["id"] == "us-001-1"
    assert done("prepare", "US-002", "--json").json["learnings"] == []
    assert run("journal", "migrate", "gone.txt").code == 3
    (ralph / "progress.txt").write_text("later")
    told = done("journal", "migrate")
    assert "use `sprintlog journal migrate FILE` to import" in told.err
    done("journal", "migrate", ".ralph/progress.txt")
    assert (ralph / "progress.txt.backup").read_text() == "later"


def test_an_empty_optional_enum_is_absent(example: Path, done: Run) -> None:
    """Files of the specification's structs may have one; it is not written (JRN-075)."""

    def empty(document: Any) -> None:
        entry = document["entries"][0]
        entry["observations"] = [
            {"type": "finding", "title": "t", "category": "", "severity": ""}
        ]
        entry["context"] = {"recovery_action": ""}

    changed(example, empty)
    done("import", "journal", PLACE)
    entry = done("show", "journal").json["entries"][0]
    assert entry["observations"] == [{"type": "finding", "title": "t"}]
    assert not entry.get("context")
