"""Reading never upgrades a log; the first recording command does, with a message."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.stores.sqlite.schema import _APPLIED, APPLICATION_ID, MIGRATIONS
from tests.cli.conftest import done as done
from tests.cli.conftest import folder as folder
from tests.cli.conftest import run as run

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"
READING = (
    *(("status",), ("log", "--all"), ("log", "--all", "--json"), ("show", "progress")),
    *(("verify",), ("verify", "--determinism"), ("doctor",), ("replay",), ("why", "--all")),
    *(("list",), ("report",), ("why", "plan.yaml:1"), ("rebuild", "--check")),
    *(("query", "--tables"), ("store", "export"), ("scan",), ("diff",), ("next",)),
)


@pytest.fixture(params=range(1, len(MIGRATIONS)))
def older(folder: Path, request: pytest.FixtureRequest) -> Path:
    """Create a log of an older schema, with the events of a stored log."""
    log = folder / ".sprintlog" / "log.db"
    log.parent.mkdir(0o700)
    with (
        closing(sqlite3.connect(log)) as made,
        closing(sqlite3.connect(LOGS / "schema-1.db")) as stored,
    ):
        steps = [text for _, texts in MIGRATIONS[: request.param] for text in texts]
        for text in (*_APPLIED, *steps):
            made.execute(text)
        for number, (name, _) in enumerate(MIGRATIONS[: request.param], start=1):
            row = (number, "sprintlog", name, "2026-05-01T10:00:00Z")
            made.execute("INSERT INTO _sqlite_migrations VALUES (?, ?, ?, ?)", row)
        made.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        made.execute(f"PRAGMA user_version = {request.param}")
        for row in stored.execute("SELECT * FROM events ORDER BY position"):
            made.execute(f"INSERT INTO events VALUES ({', '.join('?' * len(row))})", row)
        made.commit()
    log.chmod(0o600)
    return log


def bytes_of(log: Path) -> dict[str, str]:
    """Return the digest of each file of a log, by its name."""
    files = log.parent.glob("log.*")
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in files}


def test_reading_changes_no_byte_of_an_older_log(older: Path, run: Any) -> None:
    """Read commands work with an older schema and do not change its files."""
    before = bytes_of(older)
    for words in READING:
        answer = run(*words, *(("--sprint", "auth") if words[0] in ("status",) else ()))
        assert "Traceback" not in answer.err
        assert "schema" not in answer.err, (words, answer.err)
        assert bytes_of(older) == before, words
    assert run("status", "--sprint", "auth").code == 0
    assert "the log is sound" in run("verify").out


def test_the_first_record_brings_an_older_log_to_today(older: Path, done: Any) -> None:
    """The first append applies the pending migrations and reports this once."""
    first = done("note", "hello", "--sprint", "auth")
    assert first.err.count("older versions of sprintlog refuse") == 1
    assert f"now has schema {len(MIGRATIONS)}" in first.err
    assert "schema" not in done("note", "again", "--sprint", "auth").err
    assert done("verify").code == 0
    with closing(sqlite3.connect(older)) as log:
        assert log.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


def test_a_written_state_file_brings_an_older_log_to_today(older: Path, done: Any) -> None:
    """A command that writes only a state file brings the schema to today's as well."""
    done("rebuild", "--sprint", "auth")
    assert (older.parent.parent / "sprints" / "auth" / "PROGRESS.yaml").is_file()
