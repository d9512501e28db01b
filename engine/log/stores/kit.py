"""Checks for store implementations, also used by the project's own store tests."""

from collections.abc import Callable
from hashlib import shake_128
from itertools import count
from typing import Any, TypeVar

from ...errors import ConflictError, KeyConflictError, NotFoundError, RefusedError
from ..chain import check_chain
from ..envelope import ERASURES, NewEvent, Span
from ..port import Expect, Log, Wait
from . import create_log

ErrorT = TypeVar("ErrorT", bound=Exception)


def check_store(store: Any, place: str) -> None:
    """Check a store at a location that does not contain a log yet.

    `store` is the class that the entry point names. For a store that exists only within its
    process, such as a log in memory, `place` is "". Raise `AssertionError` naming the
    violated rule.
    """
    log: Log = store.create(place, **_given())
    _appends(log)
    _keys(log)
    _reads(log)
    _erases(log)
    _caches(log)
    events = [*log.read()]
    head = log.head()
    check_chain(events)
    _takes_over(log, create_log("memory:", clock=_clock(), entropy=_entropy()))
    log.close()
    if not place:
        return
    with_error(RefusedError, lambda: store.create(place, **_given()), "over another log")
    opened: Log = store(place, readonly=False, check_head=True, **_given())
    _must([*opened.read()] == events, "acknowledged events are there when reopened")
    _must(opened.head() == head, "and its head is the same")
    opened.append("after", [_new(9)], expect=0)
    opened.close()
    missing = f"{place}-is-not-there"
    with_error(
        NotFoundError,
        lambda: store(missing, readonly=False, check_head=True, **_given()),
        "if there is no log",
    )


def with_error(kind: type[ErrorT], act: Callable[[], object], rule: str) -> ErrorT:
    """Return the expected error that an action raises; otherwise raise `AssertionError`."""
    try:
        act()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} is raised {rule}")


def _new(number: int) -> NewEvent:
    payload = b'{"text":"%d"}' % number
    return NewEvent("note-added", payload, "2026-01-30T12:00:00Z", "runtime")


def _clock() -> Callable[[], int]:
    seconds = count(1_769_774_400)
    return lambda: next(seconds) * 1000


def _entropy() -> Callable[[int], bytes]:
    calls = count()
    return lambda size: shake_128(str(next(calls)).encode()).digest(size)


def _given() -> dict[str, Any]:
    return {"clock": _clock(), "entropy": _entropy(), "wait": Wait(0)}


def _appends(log: Log) -> None:
    _must(log.head().position == 0, "a new log is empty")
    first = log.append("a", [_new(1), _new(2)], expect=0)
    log.append("b", [_new(3)], expect=Expect.NONE)
    log.append("a", [_new(4)], expect=2)
    places = [(event.position, event.stream, event.version) for event in log.read()]
    _must(
        places == [(1, "a", 1), (2, "a", 2), (3, "b", 1), (4, "a", 3)],
        "positions run through the log and versions through each stream, without gaps",
    )
    _must(first.events == [*log.read(until=2)], "an append answers what is stored")
    error = with_error(
        ConflictError,
        lambda: log.append("a", [_new(5)], expect=1),
        "for a version that it is not at",
    )
    _must(error.fields["actual"] == 3, "a conflict says at which version the stream is")
    with_error(
        ConflictError,
        lambda: log.append("new", [_new(5)], expect=Expect.EXISTS),
        "for a stream that is not there",
    )
    _must(log.head().position == 4, "a refused append stores nothing")


def _keys(log: Log) -> None:
    given: dict[str, Any] = {"expect": Expect.ANY, "key": "k", "key_digest": b"d"}
    first = log.append("a", [_new(5)], **given)
    again = log.append("a", [_new(5)], **given)
    _must(again.duplicate and again.events == first.events, "a key records once")
    _must(log.find_key("k") == first.events, "a key is found")
    other = given | {"key_digest": b"other"}
    with_error(
        KeyConflictError,
        lambda: log.append("a", [_new(6)], **other),
        "for a key of another command",
    )


def _reads(log: Log) -> None:
    _must([e.version for e in log.read_stream("a", after=1, until=3)] == [2, 3], "ranges")
    _must([*log.read_stream("none")] == [], "a stream that is not there is empty")
    _must(log.streams() == {"a": 4, "b": 1}, "each stream is known with its version")
    rows = [row for page in log.scan("a") for row in page.rows]
    stored = [event.payload for event in log.read_stream("a")]
    texts = [x.encode() if isinstance(x := row[2], str) else x for row in rows]
    _must(texts == stored, "a scan returns the stored payloads")
    last = [*log.read_stream("a")][-1]
    _must(log.hash_of("a", 4) == last.hash, "the hash at a version is its event's")
    _must(log.find_id(last.id) == last, "an event is found by its id")


def _erases(log: Log) -> None:
    said = NewEvent("payload-erased", b"{}", "2026-01-30T12:00:00Z", "operator")
    before = next(iter(log.read_stream("b")))
    log.erase([Span("b", 1, 1)], stream=ERASURES, said=said)
    erased = next(iter(log.read_stream("b")))
    _must(erased.payload is None and erased.salt is None, "an erased payload is gone")
    _must(erased.hash == before.hash, "its place in the chain stays")


def _caches(log: Log) -> None:
    kept = log.checkpoints
    kept.save("a", 4, b"state", format_=1)
    _must(kept.load("a", 4, format_=1) in (b"state", None), "a saved state is unchanged")
    _must(kept.load("a", 4, format_=2) is None, "one of another format is not given")
    kept.forget("a")
    _must(kept.versions("a", format_=1) == [], "a stream's states are gone")
    log.digests.know("file", b"digest", version=3)
    _must(log.digests.since("file", b"digest") == 3, "a digest is known with its version")
    with log.locks.hold("kit"):
        pass


def _takes_over(log: Log, other: Log) -> None:
    events = [*log.read()]
    with other.taking_over() as take:
        take(events)
    _must([*other.read()] == events, "another store takes over its events unchanged")
    other.close()


def _must(is_so: bool, rule: str) -> None:
    if not is_so:
        raise AssertionError(rule)
