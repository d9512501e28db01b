"""Writers that continue through outages, and the expected state of their log."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from itertools import count
from os import urandom
from typing import Any

import psycopg

from sprintlog.engine.log.append import Stamping
from sprintlog.engine.log.chain import check_chain
from sprintlog.engine.log.envelope import NewEvent
from sprintlog.engine.log.port import Expect, Wait
from sprintlog.engine.log.stores import wall_clock
from sprintlog.engine.log.stores.postgres.rows import bounds, event_values
from sprintlog.engine.log.stores.postgres.store import PostgresLog

PATIENCE = Wait(120.0)
SECONDS_MAX = 300.0
"""How long a writer may take after the others ended: longer than its patience."""
APPEND_UNSETTLED = f"SELECT sprintlog.append({', '.join(['%b'] * 23)}, _settles => true)"


def event(number: int, **changes: Any) -> NewEvent:
    """Return an event that identifies its number and its writer."""
    return NewEvent(
        "note-added", b'{"n":%d}' % number, "2026-01-30T12:00:00Z", "runtime", **changes
    )


def opened(url: str, wait: Wait = PATIENCE) -> PostgresLog:
    """Open a log as another machine does."""
    return PostgresLog(url, clock=wall_clock, entropy=urandom, wait=wait)


class Writers:
    """Threads that append to one log, each to a separate stream and to a shared one.

    Each appends at least `appends` events, and more while `may_end` is not set.
    """

    def __init__(self, url: str, *, writers: int, appends: int) -> None:
        self.url, self.appends = url, appends
        self.may_end = threading.Event()
        self.may_end.set()
        self.problems: list[str] = []
        self.acknowledged: Counter[str] = Counter()
        self._threads = [
            threading.Thread(target=self._guarded, args=(f"w{n}",), daemon=True)
            for n in range(writers)
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def is_going_on(self) -> bool:
        """Return whether one of them is still running."""
        return any(thread.is_alive() for thread in self._threads)

    def wait(self) -> None:
        """Wait until all have ended; one that does not is a problem."""
        for thread in self._threads:
            thread.join(SECONDS_MAX)
            if thread.is_alive():
                self.problems.append("a writer does not come to its end")

    def _guarded(self, name: str) -> None:
        try:
            self._write(name)
        except Exception as error:  # noqa: BLE001 (reported by the test)
            self.problems.append(f"{name}: {type(error).__name__}: {error}")

    def _write(self, name: str) -> None:
        with closing(opened(self.url)) as log:
            for number in count():
                if number >= self.appends and self.may_end.is_set():
                    break
                # In turn: with the expected version, with a key, and with neither.
                stream, expect = (name, number - number // 3)
                given: dict[str, Any] = {"expect": expect}
                if number % 3 == 2:
                    stream, given = "common", {"expect": Expect.ANY}
                elif number % 3 == 1:
                    given |= {"key": f"{name}-{number}", "key_digest": bytes(32)}
                appended = log.append(stream, [event(number, correlation_id=name)], **given)
                if appended.duplicate and "key" not in given:
                    self.problems.append(f"{name}: {number} is called a duplicate")
                self.acknowledged[name] += 1


def faults_of(url: str, writers: Writers) -> list[str]:
    """Return the problems of a log after its writers ended: lost or duplicate events."""
    found = list(writers.problems)
    with closing(opened(url)) as log:
        events = list(log.read())
        found += [str(problem) for problem in check_chain(events)]
        found += [*log.problems()]
    said = Counter((e.correlation_id, e.payload) for e in events)
    found += [f"{who} {what!r} {n} times" for (who, what), n in said.items() if n > 1]
    for name, told in writers.acknowledged.items():
        there = {what for who, what in said if who == name}
        lost = [n for n in range(told) if b'{"n":%d}' % n not in there]
        found += [f"{name}: {n} was acknowledged and is not there" for n in lost]
    if len(events) != sum(writers.acknowledged.values()):
        found.append(
            f"{len(events)} events, {sum(writers.acknowledged.values())} acknowledged"
        )
    return found


def followed(
    url: str,
    *,
    writers: int,
    appends: int,
    rollbacks: int,
    pause: Callable[[], None] = lambda: time.sleep(0.002),
    tell: Callable[[int], None] = lambda seen: None,
) -> list[str]:
    """Let a reader follow writers and others that roll back; return its problems."""
    at_work = Writers(url, writers=writers, appends=appends)
    stop = threading.Event()
    undone = [
        threading.Thread(target=_roll_back, args=(url, stop), daemon=True)
        for _ in range(rollbacks)
    ]
    seen: list[int] = []
    with closing(opened(url)) as log:
        at_work.start()
        for thread in undone:
            thread.start()
        is_last = False
        while not is_last:
            is_last = not at_work.is_going_on()
            seen += [e.position for e in log.read(after=seen[-1] if seen else 0)]
            tell(len(seen))
            pause()
        stop.set()
    for thread in undone:
        thread.join(SECONDS_MAX)
    found = faults_of(url, at_work)
    if seen != [*range(1, writers * appends + 1)]:
        found.append(f"the reader saw {len(seen)} positions, not each one once in order")
    return found


def _roll_back(url: str, stop: threading.Event) -> None:
    """Append within transactions that are rolled back."""
    with closing(opened(url)) as log:
        number = log._log
        with psycopg.connect(log.address.given, autocommit=True) as raw:
            while not stop.is_set():
                given = append_call(number, "undone", [event(0)], at=None)
                with raw.transaction(force_rollback=True):
                    raw.execute(APPEND_UNSETTLED, given)


def append_call(
    log: int, stream: str, new_events: list[NewEvent], *, at: int | None
) -> tuple[Any, ...]:
    """Return the statements of an append that settles, at a version or any."""
    expect = Expect.ANY if at is None else at
    prepared = Stamping(wall_clock, urandom).prepare(stream, new_events, expect=expect)
    values = event_values(prepared)
    return (
        log, 0, bytes(32), None, 0, False, "10000", stream, *bounds(expect), None,
        None, prepared.stamps.recorded_at, *values,
    )  # fmt: skip
