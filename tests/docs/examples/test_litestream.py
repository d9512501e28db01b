"""Litestream itself replicates a log, and the restored copy is intact."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from os import urandom
from pathlib import Path

import pytest

from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.stores import create_log, open_log, wall_clock
from tests import needs

from ..sessions import ROOT, answers, begin, differences, session_of

PAGE = ROOT / "docs" / "how-to" / "replicate-a-log.md"
PROGRAM = shutil.which("litestream", path=f"{Path(sys.executable).parent}:/usr/bin")
EVENTS = 400

pytestmark = needs.unless(PROGRAM, "litestream", needs.INSTALL["litestream"])


def litestream(*words: str) -> list[str]:
    """Return a call of the program."""
    assert PROGRAM is not None
    return [PROGRAM, *words]


@contextmanager
def replicating(database: Path, copies: Path) -> Iterator[None]:
    """Replicate a database as it grows; the rest is sent at the end."""
    at_work = subprocess.Popen(
        litestream("replicate", "-log-level", "error", str(database), f"file://{copies}")
    )
    try:
        yield
    finally:
        at_work.terminate()
        at_work.wait(timeout=60)
    words = litestream("replicate", "-once", str(database), f"file://{copies}")
    subprocess.run(words, check=True, timeout=60)


@pytest.mark.long
def test_the_page_shows_what_happens(tmp_path: Path) -> None:
    """Every command of the how-to, including Litestream's, prints the shown output."""
    session = session_of(PAGE)
    assert any("litestream restore" in typed.command for typed in session.commands)
    assert differences(session, answers(begin(session, tmp_path))) == []


def test_a_log_that_is_copied_as_it_grows_comes_back(tmp_path: Path) -> None:
    """With checkpoints by Litestream and sprintlog, each event is restored intact."""
    database, copies = tmp_path / "log.db", tmp_path / "copies"
    given = {"clock": wall_clock, "entropy": urandom}
    with closing(create_log(f"sqlite:{database}", **given)) as log:  # type: ignore[arg-type]
        payload = b'{"text":"%s"}' % (b"x" * 2000)
        said = NewEvent("note-added", payload, "2026-01-30T12:00:00Z", "runtime")
        with replicating(database, copies):
            for version in range(EVENTS):
                log.append("a", [said], expect=version)
        head = log.head()
    back = tmp_path / "back" / "log.db"
    back.parent.mkdir()
    words = litestream("restore", "-o", str(back), f"file://{copies}")
    subprocess.run(words, check=True, timeout=120)
    with closing(open_log(f"sqlite:{back}", **given)) as log:  # type: ignore[arg-type]
        events = list(log.read())
        assert [*check_chain(events)] == []
        assert [*log.problems()] == []
        assert log.head() == head
        assert all(b.position == a.position + 1 for a, b in pairwise(events))
