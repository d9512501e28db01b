"""`import` without a name detects the kind of a file or folder, and imports it."""

from pathlib import Path

import pytest

from sprintlog.cli.begin.import_path import recognise

from ...conftest import Run

FIXTURES = Path(__file__).resolve().parents[4] / "fixtures"


@pytest.fixture
def log(folder: Path, done: Run) -> Path:
    """Return a folder with an empty log."""
    done("init")
    return folder


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("loops/ralph/prd.json", "prd"),
        ("loops/ralph/feature_list.json", "prd"),
        ("loops/orchestrator/history.jsonl", "orchestrator"),
        ("loops/orchestrator/events-20260602-080000.jsonl", "orchestrator"),
        ("loops/aiwg/ralph-external/session-state.json", "aiwg"),
        (
            "loops/aiwg/ralph/ralph-dates-1a2b3c4d/iterations/iteration-001/metrics.json",
            "aiwg",
        ),
        (
            "loops/aiwg/ralph/ralph-dates-1a2b3c4d/progress/iteration-000-baseline.json",
            "aiwg",
        ),
        ("loops/ralph-loop/ralph-loop.local.md", "ralph-loop"),
        ("agents/claude-2.1.330-transcript.jsonl", "transcript"),
        ("agents/codex-rollout.jsonl", "transcript"),
        ("agents/gemini-session.jsonl", "transcript"),
        ("agents/copilot-events.jsonl", "transcript"),
        ("documents/every-field.yaml", "progress"),
        ("documents/journal.json", "journal"),
    ],
)
def test_what_it_is_given_is_recognised(log: Path, done: Run, name: str, kind: str) -> None:
    """A file is detected by its contents, a folder by its files; then it is imported."""
    result = done("import", FIXTURES / name)
    assert f"is imported with `import {kind}`" in result.err
    assert done("verify", "--json").json["events"] > 0


@pytest.mark.parametrize("kind", ["orchestrator", "aiwg", "ralph-loop"])
def test_a_folder_of_one_tool_is_imported(log: Path, done: Run, kind: str) -> None:
    """Its files are found in their usual places and imported together."""
    answers = done("import", FIXTURES / "loops" / kind, "--json").lines
    assert {(x["kind"], x["recorded"] > 0) for x in answers} == {(kind, True)}


def test_an_export_is_recognised(log: Path, done: Run) -> None:
    """Lines that `export` wrote are a log."""
    done("import", FIXTURES / "loops" / "ralph" / "prd.json")
    (log / "all.jsonl").write_text(done("store export").out)
    assert recognise(log / "all.jsonl") == "log"


@pytest.mark.parametrize("word", ["", "--json"])
def test_a_folder_without_records_is_refused(log: Path, run: Run, word: str) -> None:
    """The refusal lists the known kinds."""
    (log / "empty").mkdir()
    result = run("import", "empty", *filter(None, [word]))
    assert (result.code, "contains nothing that import supports" in result.err) == (3, True)


@pytest.mark.parametrize("content", [b"", b"words", b"\x00\xff\x80", b"{}", b"[1, 2"])
def test_what_nobody_knows_is_refused(log: Path, run: Run, content: bytes) -> None:
    """One line names the file; nothing is recorded."""
    (log / "what.json").write_bytes(content)
    result = run("import", "what.json")
    assert result.code != 0
    assert result.err.startswith("error: what.json: is ")
    assert run("verify", "--json").json["events"] == 0


def test_a_word_that_is_no_path_is_no_command(log: Path, run: Run) -> None:
    """A command that is mistyped is answered with the one that is meant."""
    result = run("import", "transcrip")
    assert "did you mean `transcript`?" in result.err
