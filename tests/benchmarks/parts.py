"""`make bench ARGS=parts`: the costs of one append of an event of 300 bytes.

The parts are timed within complete appends, because a step repeated in a separate loop
finds its code and data in the CPU cache. Parts inside SQLite are measured with logs that
differ in one respect: the trigger, or the wait for the disk. All logs take turns. The
tenth percentile of single appends, which other processes hardly disturb, and the median of
the wait for the disk are reported.
"""

import gc
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import median, quantiles
from typing import Any, NamedTuple

from sprintlog.engine.log import append
from sprintlog.engine.log.stores.sqlite import store

from .logs import Bench
from .rows.rows_log import BareTable, OurLog, the_draft
from .table import piped

TURN, ROUNDS = 20, 150
TRIGGER = "events_are_appended"
_CALIBRATION = 20_000


class Part(NamedTuple):
    """A part of an append, in microseconds."""

    name: str
    microseconds: float


class Meter:
    """Times the named steps of a log, each without the steps that it calls."""

    def __init__(self) -> None:
        self.took: dict[str, list[int]] = defaultdict(list)
        self._inner = [0]

    def timed(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step that is timed."""
        clock, took, inner = time.perf_counter_ns, self.took[name], self._inner

        def timed_step(*given: Any, **named: Any) -> Any:
            inner.append(0)
            began = clock()
            try:
                return step(*given, **named)
            finally:
                whole = clock() - began
                took.append(whole - inner.pop())
                inner[-1] += whole

        return timed_step


class MeteredLog:
    """A log whose appends are timed step by step."""

    def __init__(self, bench: Bench, name: str, *, is_durable: bool = False) -> None:
        self.meter = meter = Meter()
        self.ours = OurLog(bench, name, is_durable=is_durable)
        self._append = meter.timed("append", self.ours.append)
        self._draft = [the_draft()]
        log: Any = self.ours.log
        for owner, step, name in (
            (log, "_write", "insert"),
            (log, "_recorded", "answer"),
            (log._identity, "check", "folder"),
            (log._head_file, "write", "head"),
            (log._stamping, "stamp", "stamp"),
        ):
            setattr(owner, step, meter.timed(name, getattr(owner, step)))

    def append_each(self) -> None:
        """Append some events individually."""
        gc.collect()
        # Module functions are shared by all logs, so the logs are timed in turn.
        before = {key: getattr(*key) for key in _SHARED}
        for (module, name), step in before.items():
            timed = self.meter.timed(_SHARED[module, name], step)
            setattr(module, name, timed)
        try:
            for _ in range(TURN):
                self._append(self._draft)
        finally:
            for (module, name), step in before.items():
                setattr(module, name, step)

    def undisturbed(self, step: str) -> float:
        """Return the duration of an undisturbed step, in microseconds."""
        return quick(self.meter.took[step]) / 1000

    def median(self, step: str) -> float:
        """Return the duration of a step in the middle of all appends, in microseconds."""
        return median(self.meter.took[step]) / 1000


def quick(took: Sequence[float]) -> float:
    """Return the tenth percentile."""
    return quantiles(took, n=10)[0]


_SHARED: dict[tuple[Any, str], str] = {
    (append, "check_limits"): "limits",
    (append, "place"): "place",
    (store, "insert"): "values",
}
"""The steps by the functions that the store calls, each with its module."""


def parts(bench: Bench, rounds: int = 0) -> list[Part]:
    """Measure the parts of an append; the last one is all of them together."""
    plain = MeteredLog(bench, "plain")
    durable = MeteredLog(bench, "durable", is_durable=True)
    without = MeteredLog(bench, "without-trigger")
    without.ours.log.connection.raw.execute(f"DROP TRIGGER {TRIGGER}")
    bare = BareTable(bench, "parts", plain.ours.log)
    inserts: list[float] = []
    logs = [plain, durable, without]
    for turn in range(rounds or ROUNDS):
        for log in logs if turn % 2 else reversed(logs):
            log.append_each()
        bare.make_ready(TURN)
        began = time.perf_counter_ns()
        bare.insert_each()
        inserts.append((time.perf_counter_ns() - began) / TURN / 1000)
    found = _told(plain, durable, without, quick(inserts))
    for log in logs:
        log.ours.log.close()
    bare.connection.close()
    return found


def _told(
    plain: MeteredLog, durable: MeteredLog, without: MeteredLog, bare: float
) -> list[Part]:
    once = _cost_of_timing()
    steps = {
        "limits: names, moment, size, JSON": "limits",
        "stamp: time, id, salt": "stamp",
        "place: envelope, header, two sha256": "place",
        "values for SQLite": "values",
    }
    found = [Part(name, plain.undisturbed(step) - once) for name, step in steps.items()]
    insert = without.undisturbed("insert") - once
    found += [
        Part("INSERT statement, without trigger", insert),
        Part("trigger: the next place only", plain.undisturbed("insert") - insert - once),
        Part("folder: still the files we opened?", plain.undisturbed("folder") - once),
        Part("head file", plain.undisturbed("head") - once),
        Part("answer; is a checkpoint due?", plain.undisturbed("answer") - once),
        Part("everything between these", plain.undisturbed("append") - once),
    ]
    whole = sum(part.microseconds for part in found)
    return [
        *found,
        Part("one append, not waiting for the disk", whole),
        Part("wait for the disk", durable.median("insert") - plain.median("insert")),
        Part("a bare INSERT of a ready row, not waiting", bare),
    ]


def _cost_of_timing() -> float:
    """Return the overhead of the clock for a step, in microseconds."""
    meter = Meter()
    nothing = meter.timed("nothing", lambda: None)
    for _ in range(_CALIBRATION):
        nothing()
    return quick(meter.took["nothing"]) / 1000


def lines_of(found: list[Part], *, is_markdown: bool) -> list[str]:
    """Return the parts as the lines of a table."""
    if is_markdown:
        head = [piped(("part of one append", "µs")), "|---|--:|"]
        return head + [piped((name, f"{took:.1f}")) for name, took in found]
    return [f"{name:<44} {took:>8.1f} µs" for name, took in found]
