"""The contract of every store for reading."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from sprintlog.engine.errors import RefusedError, SprintlogError
from sprintlog.engine.log.chain import check_chain, recorded
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect, Log, Page
from tests.lengths import examples

DRAFT = NewEvent(
    type="note-added", payload=b"{}", at="2026-01-30T12:00:00Z", actor="runtime"
)
BOUNDS = [
    (0, None, [1, 2, 3, 4]),
    (2, None, [3, 4]),
    (0, 2, [1, 2]),
    (1, 3, [2, 3]),
    (3, 3, []),
    (3, 1, []),
    (4, None, []),
    (99, None, []),
    (0, 99, [1, 2, 3, 4]),
    (0, 0, []),
    (-5, -1, []),
    (-5, 1, [1]),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("after", "until", "expected"), BOUNDS)
def test_bounds_of_the_log(
    log: Log, after: int, until: int | None, expected: list[int]
) -> None:
    """`after` is exclusive, `until` inclusive, and both may be outside the log."""
    log.append("a", [DRAFT, DRAFT], expect=0)
    log.append("b", [DRAFT, DRAFT], expect=0)
    assert [event.position for event in log.read(after=after, until=until)] == expected


@pytest.mark.parametrize(("after", "until", "expected"), BOUNDS)
def test_bounds_of_a_stream(
    log: Log, after: int, until: int | None, expected: list[int]
) -> None:
    """A stream is read by version, with the same kinds of bounds."""
    for version in range(4):
        log.append("other", [DRAFT], expect=version)
        log.append("a", [DRAFT], expect=version)
    events = list(log.read_stream("a", after=after, until=until))
    assert [event.version for event in events] == expected
    assert {event.stream for event in events} <= {"a"}


def test_unknown_stream_is_empty(log: Log) -> None:
    """A stream without events has version 0."""
    log.append("a", [DRAFT], expect=0)
    assert log.version("b") == 0
    assert list(log.read_stream("b")) == []


def test_streams_are_named_in_order_with_their_versions(log: Log) -> None:
    """All streams are listed by name, each with its last version."""
    assert log.streams() == {}
    for stream, times in (("b", 1), ("ä", 1), ("a", 3), ("B", 2)):
        log.append(stream, [DRAFT] * times, expect=0)
    assert list(log.streams().items()) == [("B", 2), ("a", 3), ("b", 1), ("ä", 1)]
    assert log.version("a") == 3


def test_long_logs_are_read_whole(log: Log) -> None:
    """Reading does not stop at the size of a page, whole or part."""
    log.append("a", [DRAFT] * 1500, expect=0)
    assert [event.position for event in log.read()] == list(range(1, 1501))
    assert [event.version for event in log.read_stream("a", after=500)] == list(
        range(501, 1501)
    )


def test_reader_in_the_middle_sees_the_end_it_began_with(log: Log) -> None:
    """An append during a read succeeds, and that read does not return it."""
    log.append("a", [DRAFT] * 3, expect=0)
    reading = log.read()
    next(reading)
    log.append("a", [DRAFT], expect=3)
    assert [event.position for event in reading] == [2, 3]


def test_closed_log_refuses(log: Log) -> None:
    """After closing every call is an error; closing again is not."""
    log.close()
    log.close()
    with pytest.raises(SprintlogError):
        log.head()
    with pytest.raises(RefusedError):
        log.append("a", [DRAFT], expect=0)


appends = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.integers(1, 3),
    st.one_of(st.integers(0, 4), st.sampled_from(Expect)),
    st.sampled_from([None, None, "k1", "k2", "k3"]),
    st.sampled_from([b"one", b"two"]),
)


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(appends, min_size=1, max_size=200))
def test_stores_agree(
    open_all: Callable[[Path], dict[str, Log]],
    steps: list[tuple[str, int, int | Expect, str | None, bytes]],
) -> None:
    """Any sequence of appends results in the same answers and events in every store."""
    with TemporaryDirectory() as folder:
        logs = open_all(Path(folder))
        answers: dict[str, list[object]] = {name: [] for name in logs}
        for name, log in logs.items():
            for stream, count, expect, key, digest in steps:
                try:
                    appended = log.append(
                        stream,
                        [DRAFT] * count,
                        expect=expect,
                        key=key,
                        key_digest=digest if key else None,
                    )
                    answers[name].append(appended)
                except SprintlogError as error:
                    answers[name].append((type(error), error.fields))
            answers[name] += [*log.read(), log.streams(), log.head()]
            assert list(check_chain(log.read())) == []
            log.close()
        first, *others = answers.values()
        assert all(other == first for other in others)


def test_events_are_found_by_id(log: Log) -> None:
    """An id leads to its event, and an unknown one to none."""
    events = log.append("a", [DRAFT] * 3, expect=0).events
    assert log.find_id(events[1].id) == events[1]
    assert log.find_id("01890000-0000-7000-8000-000000000000") is None


@pytest.mark.parametrize(("after", "until", "expected"), BOUNDS)
def test_pages_are_the_rows_of_reading(
    log: Log, after: int, until: int | None, expected: list[int]
) -> None:
    """Bulk reads return the same rows as `read`, with the same bounds."""
    log.append("a", [DRAFT] * 4, expect=0)
    rows = [row for page in log.pages(after=after, until=until) for row in page]
    assert [row[0] for row in rows] == expected
    assert list(map(recorded, rows)) == list(log.read(after=after, until=until))


def test_many_pages_are_one_after_another(log: Log) -> None:
    """No page is empty or contains a whole long log, and nothing is missing."""
    log.append("a", [DRAFT] * 1500, expect=0)
    pages = list(log.pages())
    assert len(pages) > 1
    assert [row[0] for page in pages for row in page] == list(range(1, 1501))


def test_a_scan_gives_what_a_fold_needs(log: Log) -> None:
    """A scan returns time, form, payload, version and position, of one type or of all."""
    log.append("other", [DRAFT], expect=0)
    log.append("a", [DRAFT, structs.replace(DRAFT, type="rolled-back")], expect=0)
    noted, rolled = log.read_stream("a")
    rows = [(e.version, e.position, e.at, e.type, "{}") for e in (noted, rolled)]
    for only, expected in ((None, rows), ("rolled-back", rows[1:]), ("x-none", [])):
        found = [row for page in log.scan("a", only=only) for row in _whole(page)]
        assert found == expected
    (last,) = log.scan("a", after=1, until=9)
    assert [*last.versions] == [2]


def test_the_form_of_an_event_says_its_schema_version(log: Log) -> None:
    """If the schema version is not the first, the form states it, anywhere in a stream."""
    later = structs.replace(DRAFT, schema_version=2)
    for version in range(0, 800, 200):
        log.append("a", [DRAFT] * 199 + [later], expect=version)
    forms = [form for page in log.scan("a") for _, form, _ in page.rows]
    assert [n for n, form in enumerate(forms, 1) if form == (DRAFT.type, 2)] == [
        200, 400, 600, 800,
    ]  # fmt: skip
    assert len(forms) == 800
    assert {*forms} == {DRAFT.type, (DRAFT.type, 2)}


@pytest.mark.parametrize("others", [0, 1, 3])
def test_a_scan_of_many_rows_has_the_same_bounds(log: Log, others: int) -> None:
    """The bounds mean the same for any length of a stream and any part of the log."""
    for version in range(0, 900, 90):
        log.append("a", [DRAFT] * 89, expect=version)
        rolled = structs.replace(DRAFT, type="rolled-back")
        log.append("a", [rolled], expect=version + 89)
        log.append("b", [DRAFT] * 90 * others or [DRAFT], expect=Expect.ANY)
    for after, until in ((0, None), (0, 700), (5, 899), (100, 300), (899, None), (3, 9999)):
        wanted = [*range(after + 1, min(until or 900, 900) + 1)]
        pages = log.scan("a", after=after, until=until)
        rows = [row for page in pages for row in _whole(page)]
        assert [row[0] for row in rows] == wanted
        assert [row[1] for row in rows] == [
            e.position for e in log.read_stream("a", after=after, until=until)
        ]
        pages = log.scan("a", after=after, until=until, only="rolled-back")
        found = [version for page in pages for version in page.versions]
        assert found == [version for version in wanted if version % 90 == 0]


def _whole(page: Page) -> list[tuple[Any, ...]]:
    """Return version, position and row of each event, the payload as text."""
    texts = [(*row, p.decode() if isinstance(p, bytes) else p) for *row, p in page.rows]
    return [
        (version, position, *row)
        for version, position, row in zip(page.versions, page.positions, texts, strict=True)
    ]


def test_gives_the_hash_of_an_event(log: Log) -> None:
    """By stream and version; None for one that was never recorded."""
    appended = log.append("a", [DRAFT, DRAFT], expect=0)
    assert log.hash_of("a", 2) == appended.events[1].hash
    assert [log.hash_of("a", n) for n in (-1, 0, 3)] == [None] * 3
    assert log.hash_of("b", 1) is None
