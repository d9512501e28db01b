"""The journal's commands: their records, their answers, and the file they write."""

import json
from pathlib import Path
from unittest.mock import ANY

import pytest

from tests.strict_journal import read

from ..conftest import Run
from .journal_commands import command_lines, without_empty

EXAMPLE = Path(__file__).resolve().parents[3] / "fixtures" / "documents" / "journal.json"
AT = "2026-02-01T10:00:00Z"


def test_example_comes_from_commands_alone(journal_path: Path, done: Run) -> None:
    """The specification's example is reproduced by commands, without empty fields."""
    document = json.loads(EXAMPLE.read_text())
    for line in command_lines(document):
        done(*line)
    made = read(journal_path.read_bytes())
    assert made == without_empty(document)
    assert json.dumps(made) == json.dumps(without_empty(document))
    assert journal_path.stat().st_mode & 0o777 == 0o644
    assert done("show", "journal").out == journal_path.read_text()
    figures = done("journal", "status", "--json").json
    assert figures["attempts"] == {"auth-login": 1, "auth-oauth": 2, "user-profile": 2}
    assert figures["failure_patterns"] == {
        "dependency": 1,
        "api-issue": 1,
        "architecture": 1,
    }
    assert figures["next_learning_id"] == "learning-0005"
    assert figures["next_pattern_id"] == "pattern-0003"
    counts = [len(done("journal entry observations", "--last", n, "--json").json)
              for n in range(7)]  # fmt: skip
    assert counts == [0, 1, 3, 4, 5, 7, 7]
    assert len(done("journal entry observations", "--type", "blocker", "--json").json) == 1


def test_answers_with_the_ids_it_gave(journal: Path, done: Run) -> None:
    """Each recording command answers with its event, and the id of the new item."""
    answer = done("journal entry record", "auth", "--status", "partial", "--json").json
    assert (answer["stream"], answer["version"]) == ("journal", 5)
    assert (answer["type"], answer["entry"]) == ("entry-recorded", "auth-3")
    answer = done(
        "journal learning add", "x", "--type", "tool-usage", "--prd", "p", "--json"
    )
    assert answer.json["learning"] == "learning-0002"
    answer = done("journal pattern add", "x", "--type", "api-pattern", "--json")
    assert answer.json["pattern"] == "pattern-0001"
    assert done("journal entry record", "b", "--status", "failed").out == (
        "journal: entry-recorded b-1  [position 8, version 8]\n"
    )


def test_first_event_opens_the_journal(journal_path: Path, done: Run) -> None:
    """A journal that nobody opened begins when its first event happened."""
    answers = done(
        "journal entry record", "a", "--status", "failed", "--at", AT, "--json"
    ).json
    assert [answer["type"] for answer in answers] == ["journal-opened", "entry-recorded"]
    data = read(journal_path.read_bytes())
    assert (data["version"], data["created_at"]) == ("1.0", AT)


def test_reads_as_of_any_point(journal: Path, done: Run) -> None:
    """Every reading command answers as of a version, a position or a time."""
    assert len(done("journal entry list", "--at", "version:2", "--json").json) == 1
    assert len(done("journal entry list", "--at", f"{AT}", "--json").json) == 1
    assert done("journal learning list", "--at", "position:3", "--json").json == []
    old = json.loads(done("show", "journal", "--at", "version:3").out)
    assert len(old["entries"]) == 2
    assert "learnings" not in old


@pytest.mark.parametrize("point", ["start", "version:2", "position:3", AT, "0s ago"])
def test_every_reading_command_answers_as_of_then(
    journal: Path, done: Run, point: str
) -> None:
    """Every command that reads the journal accepts each form of a point."""
    for line in (
        ["journal", "entry", "list"],
        ["journal", "entry", "observations"],
        ["journal", "learning", "list"],
        ["journal", "pattern", "list"],
        ["journal", "status"],
        ["show", "journal"],
        ["recover", "auth"],
        ["log", "--journal"],
    ):
        done(*line, "--at", point)


@pytest.mark.parametrize("point", ["iter:1", "version:99", "2020-01-01T00:00:00Z"])
def test_refuses_a_point_that_is_none(journal: Path, run: Run, point: str) -> None:
    """A point at which there was no journal is refused."""
    assert run("journal entry list", "--at", point).code in (1, 3)


def test_records_once_under_a_key(journal: Path, run: Run, done: Run) -> None:
    """A key returns the first record; a different record with the key conflicts."""
    line = ["journal", "entry", "record", "b", "--status", "failed", "--key", "k", "--json"]
    first, again = done(*line).json, done(*line).json
    assert again == {**first, "duplicate": True}
    assert run("journal entry record", "c", "--status", "failed", "--key", "k").code == 5
    assert run("journal entry record", "c", "--status", "failed", "--expect", "2").code == 5


def test_masks_tokens_but_not_ids(journal_path: Path, done: Run) -> None:
    """Known tokens are masked, even in observations; an id of short words is not."""
    token = "ghp_" + "a1" * 20
    observation = json.dumps({"type": "finding", "title": f"has {token}"})
    prd = "sk-learn-integration-tests-1"
    done("journal entry record", prd, "--status", "failed", "--summary", token,
         "--observation", observation, "--guidance", token)  # fmt: skip
    entry = read(journal_path.read_bytes())["entries"][0]
    assert token not in json.dumps(entry)
    assert entry["observations"][0]["title"] == "has [masked: github-token f65b37ab]"
    assert (entry["prd_id"], entry["id"]) == (prd, f"{prd}-1")
    done("journal entry record", prd, "--status", "failed", "--summary", token, "--no-mask")
    assert read(journal_path.read_bytes())["entries"][1]["summary"] == token


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--observation", "hm"], "--observation 1: must begin with one of blocker"),
        (["--observation", '{"type": "finding"}'], "missing required field `title`"),
        (
            ["--observation", '{"type": "x", "title": "y"}'],
            'entry.observations[0].type: invalid value "x"',
        ),
        (
            ["--observation", '{"type": "finding", "title": "y", "mood": 1}'],
            "there is no field 'mood'; allowed: type, title",
        ),
        (["--observation", "{"], "--observation 1: not JSON"),
        (["--iteration", "-1"], "entry.iteration: must be >= 1"),
        (["--iteration", "0"], "entry.iteration: must be >= 1"),
        (["--duration", "-1"], "entry.duration_seconds: must be 0 or more"),
        (["--duration", "nan"], "entry.duration_seconds: must be 0 or more"),
    ],
)
def test_refuses_naming_the_field(
    journal_path: Path, run: Run, line: list[str], said: str
) -> None:
    """An invalid entry is refused in one line, and nothing is recorded."""
    result = run("journal entry record", "a", "--status", "failed", *line)
    assert result.code == 1
    assert said in result.err
    assert result.err.startswith("error: ")
    assert not journal_path.exists()


def test_cuts_fractions_of_seconds(journal_path: Path, done: Run) -> None:
    """Durations are truncated to whole seconds."""
    done("journal entry record", "a", "--status", "failed", "--duration", "12.9")
    assert read(journal_path.read_bytes())["entries"][0]["duration_seconds"] == 12


def test_what_is_not_there_is_not_found(journal: Path, run: Run) -> None:
    """A missing entry or learning is not found, with exit status 3."""
    for line in (
        ["journal", "entry", "show", "auth-9"],
        ["journal", "learning", "show", "learning-0009"],
        ["journal", "learning", "use", "learning-0009"],
        ["journal", "learning", "add", "x", "--type", "tool-usage", "--from", "auth-9"],
    ):
        assert run(*line).code == 3, line


def test_a_missing_journal_is_an_empty_one(journal_path: Path, done: Run) -> None:
    """Reading commands answer as for a journal without entries, created now (JRN-010)."""
    assert done("journal entry list").out == "no entries\n"
    assert done("journal", "status").out.startswith("version: 0\n")
    found = done("show", "journal", "--at", "start").json
    assert found == {"version": "1.0", "created_at": ANY, "entries": []}
    assert found["created_at"] > "2026"


def test_shows_parts_to_people(journal: Path, done: Run) -> None:
    """Entries, observations and learnings are printed as lines."""
    done("journal learning use", "learning-0001", "--prd", "auth")
    done("journal learning retire", "learning-0001", "--reason", "wrong")
    done("journal pattern add", "one way", "--type", "api-pattern")
    assert "1. blocker: no key" in done("journal entry show", "auth-1").out
    assert done("journal entry list", "--status", "failed").out.endswith("failed  stuck\n")
    assert "no key" in done("journal entry observations", "--prd", "auth").out
    assert done("journal learning list").out == "no learnings\n"
    assert "used 1  (retired) ask first" in done("journal learning list", "--all").out
    assert "still_valid: False" in done("journal learning show", "learning-0001").out
    assert "api-pattern  -  one way" in done("journal pattern list").out
    told = done("journal", "status", "--prd", "auth").out
    assert "attempts: auth 2" in told
    assert "last entry: auth-2 completed" in told


def test_lists_events_of_the_journal(journal: Path, done: Run) -> None:
    """`log --journal` lists the journal's events, by point too."""
    lines = done("log", "--journal", "--json").lines
    assert [line["stream"] for line in lines] == ["journal"] * 4
    assert len(done("log", "--journal", "--at", "version:2", "--json").lines) == 2
    assert "entry-recorded auth-2" in done("log", "--journal").out


def test_appends_events_of_the_journal(journal_path: Path, done: Run, run: Run) -> None:
    """`append` accepts the journal's events by their types, with the same rules."""
    command = {"entry": {"prd_id": "a", "status": "failed"}}
    answer = done("append", "entry-recorded", "--data", json.dumps(command), "--json").json
    assert answer[-1]["entry"] == "a-1"
    refused = run("append", "learning-retired", "--data", '{"learning_id": "learning-7"}')
    assert refused.code == 3
    assert run("append", "entry-recorded", "--stream", "sprint/a").code == 1
    assert len(read(journal_path.read_bytes())["entries"]) == 1


def test_the_schema_is_named_as_in_the_specification(done: Run) -> None:
    """Id, title and description are those of the specification's schema (JRN-002)."""
    schema = done("schema", "journal").json
    assert schema["$id"] == "https://ralph.dev/schemas/progress.json"
    assert schema["title"] == "Ralph Progress"
    assert (
        schema["description"]
        == "Structured progress tracking for Ralph CLI execution history"
    )
