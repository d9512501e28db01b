"""How much of the tables is hashed for an answer that is believed byte for byte."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event
from sprintlog.engine.sprint import events as f
from sprintlog.projections.sql import proof
from sprintlog.projections.sql.read_model import refreshed
from sprintlog.projections.workspace import Workspace

AT = "2026-01-15T09:00:00Z"
CHANGED_BLOCKS_MAX = 24
"""One event touches a page or two of every table and of every index."""


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Provide the lengths of all data hashed for proofs."""
    found: list[int] = []
    digest_of = proof.digest_of

    def counted(block: bytes) -> bytes:
        found.append(len(block))
        return digest_of(block)

    monkeypatch.setattr(proof, "digest_of", counted)
    return found


def note(workspace: Workspace, count: int) -> None:
    """Record notes of some length."""
    told = [new_event(f.NoteAdded("x" * 500), at=AT, actor="runtime")] * count
    workspace.log.append("sprint/auth", told, expect=Expect.ANY)


def test_each_byte_is_hashed_once_and_what_changed_again(
    sprint: Path, hashed: list[int]
) -> None:
    """A query after one event reads every block once, and hashes few for writing."""
    with Workspace.open(sprint) as workspace:
        note(workspace, 8_000)
        size = refreshed(workspace).stat().st_size
        assert sum(hashed) == size > 100 * proof.BLOCK_BYTES
        for _ in range(3):
            hashed.clear()
            assert refreshed(workspace).stat().st_size == size
            assert sum(hashed) == size
            note(workspace, 1)
            hashed.clear()
            before, size = size, refreshed(workspace).stat().st_size
            assert sum(hashed) - before <= CHANGED_BLOCKS_MAX * proof.BLOCK_BYTES


def test_what_is_carried_on_is_proven(sprint: Path, hashed: list[int]) -> None:
    """The reused digests are those of the complete file, however it grew."""
    with Workspace.open(sprint) as workspace:
        for count in (1, 1_000, 1, 3, 3_000, 1):
            note(workspace, count)
            file = refreshed(workspace)
            inode, carried = file.stat().st_ino, proof.proven(file)
            assert carried is not None
            proof.prove(file)
            assert proof.proven(file) == carried
            with closing(sqlite3.connect(file)) as connection:
                mode = connection.execute("PRAGMA journal_mode").fetchone()
                assert mode == ("delete",)
                (ok,) = connection.execute("PRAGMA integrity_check").fetchone()
                assert ok == "ok"
        note(workspace, 1)
        assert refreshed(workspace).stat().st_ino == inode


@pytest.mark.parametrize("digests", [b"", b"\0" * 32, None], ids=["none", "other", "more"])
def test_other_digests_prove_nothing(
    sprint: Path, done: Any, digests: bytes | None
) -> None:
    """A copy with missing, additional or different digests is created again."""
    done("query", "SELECT 1")
    file = sprint / ".sprintlog" / "query.db"
    kept = file.with_name("query.db-sha256")
    kept.write_bytes(kept.read_bytes() + b"\0" if digests is None else digests)
    assert proof.proven(file) is None
    os.link(file, sprint / "before")
    done("query", "SELECT 1")
    assert proof.proven(file) is not None
    assert file.stat().st_ino != (sprint / "before").stat().st_ino
