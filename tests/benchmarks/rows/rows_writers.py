"""Rows about many processes that append to one log at the same time."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.projections.workspace import wall_clock

from ..logs import Bench
from ..measure import OURS, WALL_OF_PROCESSES, Figure, rate, side_by_side
from .rows_log import the_draft

ROOT = Path(__file__).resolve().parents[3]
ROUNDS = 5


class Herd:
    """Some writers to one new log: started, ready, and waiting for the signal."""

    def __init__(self, log: SqliteLog, *, writers: int, events: int) -> None:
        self._log = log
        self._last = writers + events
        self._writers = [_start(log.path, number, self._last) for number in range(writers)]
        for process in self._writers:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        self.least = 0.0

    def append_all(self) -> None:
        """Let them append until the log has all events; record the smallest share."""
        for process in self._writers:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        done = [int(process.communicate()[0]) for process in self._writers]
        assert self._log.last_position() >= self._last
        self._log.close()
        self.least = min(done) * len(done) / sum(done)


def beside_one_another(bench: Bench, *, writers: int) -> Figure:
    """Measure the total rate of some writers against that of a single one."""
    events = bench.sizes.appends // 2
    herds: list[tuple[Herd, Herd]] = []

    def start() -> None:
        name = f"writers-{writers}-{len(herds)}"
        together = bench.new_log(f"{name}-together")
        alone = bench.new_log(f"{name}-alone")
        herds.append(
            (
                Herd(together, writers=writers, events=events),
                Herd(alone, writers=1, events=events),
            )
        )

    sides = side_by_side(
        lambda: herds[-1][0].append_all(),
        lambda: herds[-1][1].append_all(),
        rounds=ROUNDS if events > 1_000 else 1,
        by=WALL_OF_PROCESSES,
        units=(events, events),
        before=start,
    )
    least = min(together.least for together, _ in herds)
    note = f"the least writer: {least:.0%} of an equal share"
    return rate(sides, f"{OURS}one writer alone")._replace(note=note)


eight = partial(beside_one_another, writers=8)
thirty_two = partial(beside_one_another, writers=32)


def _start(path: Path, number: int, last: int) -> "subprocess.Popen[str]":
    named = (str(path), str(number), str(last))
    words = (sys.executable, "-m", "tests.benchmarks.rows.rows_writers", *named)
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def main() -> None:
    """Run one of the writers, each with a separate stream."""
    path, stream, last = Path(sys.argv[1]), f"sprint/{sys.argv[2]}", int(sys.argv[3])
    log = SqliteLog(path, clock=wall_clock, entropy=os.urandom)
    wanted = [the_draft()]
    log.append(stream, wanted, expect=Expect.ANY)
    print("ready", flush=True)
    sys.stdin.readline()
    done, position = 0, 0
    while position < last:
        position = log.append(stream, wanted, expect=Expect.ANY).events[-1].position
        done += 1
    print(done)
    log.close()


if __name__ == "__main__":
    main()
