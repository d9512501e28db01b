"""`journal search`: an index built from the log on demand, and never authoritative."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sprintlog.projections.sql.search import search
from sprintlog.projections.workspace import Workspace

from ..conftest import Run


@pytest.fixture
def index(folder: Path, done: Run) -> Path:
    """Return the path of the index, next to a log with a journal."""
    done("init")
    seen = {"type": "finding", "title": "Callback needs a slash", "description": "Müller"}
    told = ("--observation", json.dumps(seen), "--observation", "blocker: no key")
    failed = ("--status", "failed", "--summary", "callback failed")
    done("journal entry record", "auth", *failed, *told)
    kind = ("--type", "api-convention", "--context", "providers")
    done("journal learning add", "End every callback with a slash", *kind, "--prd", "auth")
    return folder / ".sprintlog" / "search.db"


def found(done: Run, *words: str) -> list[tuple[str, str, int]]:
    """Return the results of a search: kind, id and number."""
    hits: Any = done("journal", "search", *words, "--json").json
    return sorted((hit["kind"], hit["id"], hit["number"]) for hit in hits)


def test_finds_what_holds_every_word(index: Path, done: Run) -> None:
    """Learnings, observations and summaries with all words are found, in any case."""
    assert found(done, "CALLBACK") == [
        ("learning", "learning-0001", 0),
        ("observation", "auth-1", 1),
        ("summary", "auth-1", 0),
    ]
    assert found(done, "slash", "callback") == [
        ("learning", "learning-0001", 0),
        ("observation", "auth-1", 1),
    ]
    assert found(done, "müller") == [("observation", "auth-1", 1)]
    assert found(done, "providers", "--kind", "observation") == []
    assert found(done, "callback", "--limit", "1") != []
    assert done("journal", "search", "nowhere").out == "nothing found\n"


def test_takes_words_as_words(index: Path, run: Run) -> None:
    """Operators of the query language are treated as ordinary words."""
    for words in ('"', "a OR b", "NEAR(", "*", "x:y", "-", "'; DROP TABLE texts", "\x00"):
        assert run("journal", "search", words).code in (0, 1)
    assert run("journal", "search", "callback").out.count("\n") == 3


def test_follows_the_log(index: Path, done: Run) -> None:
    """Later records are found later; recording creates no index."""
    assert not index.exists()
    assert found(done, "stub") == []
    done("journal learning add", "restart the stub", "--type", "tool-usage", "--prd", "a")
    assert found(done, "stub") == [("learning", "learning-0002", 0)]
    assert index.stat().st_mode & 0o777 == 0o600


def test_says_what_was_retired(index: Path, done: Run) -> None:
    """A retired learning is found and marked."""
    done("journal learning retire", "learning-0001")
    assert "(retired) End every callback" in done("journal", "search", "end").out
    assert done("journal", "search", "end", "--json").json[0]["still_valid"] is False


@pytest.mark.parametrize("content", [b"", b"x" * 5000, None])
def test_is_made_anew(index: Path, done: Run, content: bytes | None) -> None:
    """A damaged index, or one of another log, is created again."""
    before = found(done, "callback")
    if content is None:
        with sqlite3.connect(index) as connection:
            connection.execute("DELETE FROM texts")
            connection.execute("UPDATE known SET hash = x'00'")
        connection.close()
    else:
        index.write_bytes(content)
    assert found(done, "callback") == before
    done("rebuild")
    assert not index.exists()
    assert found(done, "callback") == before


def test_no_flipped_bit_is_found(index: Path, folder: Path) -> None:
    """Whichever bit of the index flips, the same is found."""
    chance = Random(7)
    with Workspace.open(folder) as workspace:
        before = search(workspace, "callback")
        for _ in range(30):
            content = bytearray(index.read_bytes())
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
            index.write_bytes(content)
            assert search(workspace, "callback") == before


def test_needs_no_file(index: Path, done: Run) -> None:
    """If the index cannot be written, it is built in memory."""
    index.mkdir()
    assert len(found(done, "callback")) == 3


def test_keeps_nobody_who_reads_it(index: Path, done: Run) -> None:
    """Other readers keep the old index open; a search creates a new one."""
    done("journal", "search", "callback")
    with closing(sqlite3.connect(index, isolation_level=None)) as other:
        other.execute("BEGIN")
        before = other.execute("SELECT count(*) FROM texts").fetchall()
        done("journal learning add", "Ask twice", "--type", "api-convention", "--prd", "x")
        assert found(done, "twice") == [("learning", "learning-0002", 0)]
        assert other.execute("SELECT count(*) FROM texts").fetchall() == before
