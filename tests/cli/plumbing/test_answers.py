"""The `--json` answers of commands: each follows its schema."""

from pathlib import Path

import jsonschema
import pytest

from sprintlog.projections.views.answers import ANSWERS, LINES

from ..answers import check_answers, command_of, commands
from ..conftest import Run

QUESTIONS = (
    *(
        ("iteration", "alerts", "--all"),
        ("audit",),
        ("store", "backup", "copy.db"),
        ("store", "copy", ".", "copied"),
        ("best",),
        ("iteration", "best"),
        ("diff", "start"),
    ),
    *(
        ("why", "status"),
        ("why", "--all"),
        ("config",),
        ("iteration", "decide"),
        ("doctor",),
    ),
    *(
        ("journal", "entry", "list"),
        ("journal", "entry", "observations"),
        ("journal", "entry", "show", "login-1"),
    ),
    *(("store", "export", "--out", "all.jsonl"), ("gate", "show"), ("list",)),
    *(("iteration", "compare", "1", "2"), ("iteration", "diff", "iter:1", "iter:2")),
    *(
        ("store", "prune"),
        ("store", "prune", "--dry-run"),
        ("iteration", "select"),
        ("iteration", "snapshot"),
    ),
    *(("journal", "search", "tokens"), ("journal", "status"), ("log",), ("next",)),
    *(("journal", "learning", "list"), ("journal", "learning", "show", "learning-0001")),
    *(
        ("journal", "learning", "extract", "login-1"),
        ("journal", "pattern", "list"),
        ("prepare", "login"),
    ),
    *(
        ("query", "SELECT * FROM v_events"),
        ("query", "--tables"),
        ("uninstall", "--dry-run"),
        ("setup", "--dry-run"),
        ("queue", "list"),
    ),
    *(("queue", "show", "req-1"), ("queue", "decide", "--auto", "--dry-run")),
    ("queue", "approve", "req-1", "--reasoning", "yes", "--dry-run"),
    *(("rebuild",), ("recover", "login", "--failure", "tokens"), ("replay",)),
    *(("report",), ("report", "1"), ("report", "--write"), ("iteration", "rules", "show")),
    *(("restore", "iter:1", "--into", "../old"), ("rollback", "best", "--files")),
    *(
        ("rollback", "iter:1", "--plan"),
        ("fork", "two", "--from", "start", "--dry-run"),
        ("undo", "--yes"),
        ("redo", "--yes"),
    ),
    *(("show", "best"), ("show", "event", "1"), ("show", "iteration", "1")),
    *(
        ("show", "journal"),
        ("show", "progress"),
        ("show", "session"),
        ("sprint", "list"),
        ("status",),
    ),
    *(("verify",), ("note", "a remark"), ("why", "theirs.json:1")),
    *(("extensions", "list"), ("extensions", "check")),
    *(("import", "progress", "PROGRESS.yaml"), ("import", "journal", "theirs.json")),
)
"""Each command with a special answer, and one that only records."""
ELSEWHERE = {
    "extensions project",
    *(
        "adopt",
        "compile",
        "gate run",
        "gate record",
        "import aiwg",
        "store import",
        "import orchestrator",
        "import prd",
        "import ralph-loop",
        "import transcript",
        "init",
        "journal migrate",
        "run",
        *("race start", "race join", "race show", "race apply", "race clean"),
        "schema",
        "serve",
        "session reconcile",
        "redact",
        "verify head",
        "verify prove",
        "scan",
        "wait",
    ),
}
"""Commands whose answers need a special workspace: covered by their own tests."""


@pytest.fixture
def life(tree: Path, done: Run) -> Path:
    """Return a work tree whose sprint and journal have some of everything."""
    done("iteration", "baseline", "--metric", "test_count=8", "--metric", "tests_passed=5")
    for number, passed in ((1, 9), (2, 7)):
        metrics = ("--metric", "test_count=9", "--metric", f"tests_passed={passed}")
        done("iteration", "measure", "--number", number, *metrics)
    done("queue", "add", "A bug", "--priority", "high", "--type", "bug")
    done("queue", "add", "Another", "--priority", "low", "--type", "docs")
    done("journal", "open", "--project-name", "auth")
    seen = "--observation", '{"type": "finding", "title": "t", "category": "documentation"}'
    done(
        "journal entry record", "login", "--status", "failed", "--summary", "tokens", *seen
    )
    done(
        "journal learning add",
        "tokens last an hour",
        "--type",
        "codebase-pattern",
        "--prd",
        "login",
    )
    done("journal pattern add", "Service and handler", "--type", "file-structure")
    (tree / "theirs.json").write_text(done("show", "journal").out)
    return tree


def test_every_command_answers_what_its_schema_says(life: Path, run: Run) -> None:
    """Of every command with `--json` an answer is got and compared with its struct."""
    for words in QUESTIONS:
        result = run(*words, "--json")
        assert result.out, (words, result)


def test_every_command_is_asked() -> None:
    """A command with a special answer is tested above or in its own tests."""
    asked = {command_of(words) for words in QUESTIONS}
    known = {name for name, _ in commands()}
    assert asked | ELSEWHERE >= ANSWERS.keys()
    assert known >= ANSWERS.keys() | LINES


def test_an_answer_that_is_not_of_its_schema_is_found() -> None:
    """An additional or missing field, or one of another type, is detected."""
    right = '{"sprint": "a", "do": "done"}'
    check_answers(["next", "--json"], 0, right)
    wrong = ('{"do": "done"}', '{"sprint": 1, "do": "done"}', f'{right[:-1]}, "more": 1}}')
    for answer in wrong:
        with pytest.raises(AssertionError):
            check_answers(["next", "--json"], 0, answer)


def test_the_schema_of_one_command(done: Run, sprint: Path) -> None:
    """An answer is valid under its JSON Schema."""
    for words in (("status",), ("sprint", "list"), ("next",), ("log",), ("note", "x")):
        schema = done("schema", "answers", *words[: 1 + (words[0] == "sprint")]).json
        for answer in done(*words, "--json").lines:
            jsonschema.validate(answer, schema)


def test_the_schema_of_no_command(run: Run, sprint: Path) -> None:
    """An unknown command, or a group of commands, has no answers."""
    for words in (("gate",), ("gates", "show"), ("status", "more")):
        assert run("schema", "answers", *words).code == 3
    assert run("schema", "progress", "status").code == 2
