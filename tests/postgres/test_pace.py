"""A single writer waits for the disk itself, otherwise together with the others."""

from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.postgres.appends import ALONE_UNTIL_SURE, Pace
from sprintlog.engine.log.stores.postgres.store import PostgresLog

from .conftest import Open, note


def test_a_writer_is_alone_until_it_meets_another() -> None:
    """An append that does not follow the writer's last one reveals other writers."""
    pace = Pace()
    pace.found(is_alone=True)
    assert not pace.is_shared
    pace.found(is_alone=False)
    assert pace.is_shared


def test_a_writer_is_alone_again_after_many_appends() -> None:
    """Only consecutive appends count: another writer in between restarts the count."""
    pace = Pace()
    pace.found(is_alone=False)
    for met in (ALONE_UNTIL_SURE - 1, ALONE_UNTIL_SURE):
        for _ in range(met):
            assert pace.is_shared
            pace.found(is_alone=True)
        if met < ALONE_UNTIL_SURE:
            pace.found(is_alone=False)
    assert not pace.is_shared


def test_both_ways_record_the_same(log: PostgresLog, reopen: Open) -> None:
    """With and without another writer, there are no gaps."""
    other = reopen()
    ways = []
    for turn in range(ALONE_UNTIL_SURE + 6):
        writers = (log, other) if turn < 3 else (log,)
        for writer in writers:
            writer.append("a", [note()], expect=Expect.ANY)
            ways.append(writer.pace.is_shared)
    assert set(ways) == {True, False}
    assert not ways[-1]
    assert [e.version for e in log.read()] == [*range(1, len(ways) + 1)]
    other.close()
