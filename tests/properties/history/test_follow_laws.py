"""Following a log returns the same events as reading it, with concurrent appends."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from os import urandom
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.envelope import NewEvent, RecordedEvent
from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.database import head_path
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.engine.service.streams.history import PAUSES_PER_LOOK, follow

from .test_exchange_laws import laws

DRAFT = NewEvent("note-added", b'{"text":"x"}', "2026-01-15T09:00:00Z", "runtime")


class Over(Exception):  # noqa: N818 - not an error
    """The reader is no longer needed."""


@laws
@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=12), st.integers(0, 5)
)
def test_following_is_reading(steps: list[tuple[int, bool]], there: int) -> None:
    """Every event arrives once, in order, even while the head file lags behind."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "log", "log.db")
        log = SqliteLog.create(path, clock=lambda: 0, entropy=urandom)
        other = SqliteLog(path, clock=lambda: 0, entropy=urandom)
        if there:
            other.append("sprint/s", [DRAFT] * there, expect=Expect.ANY)

        def pauses() -> Iterator[None]:
            for count, lags in steps:
                kept = head_path(path).read_bytes()
                if count:
                    other.append("sprint/s", [DRAFT] * count, expect=Expect.ANY)
                if lags:
                    head_path(path).write_bytes(kept)
                yield
            for _ in range(PAUSES_PER_LOOK + 1):
                yield
            raise Over

        waiting, seen = pauses(), list[RecordedEvent]()
        with suppress(Over):
            for page in follow(log, after=0, pause=lambda: next(waiting)):
                seen += page
        assert seen == list(log.read())
        other.close()
        log.close()
