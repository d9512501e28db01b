"""Rows about many processes that append to one log at the same time."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median

from sprintlog.engine.log.port import Expect
from sprintlog.engine.log.stores.sqlite.store import SqliteLog
from sprintlog.projections.workspace import wall_clock

from .logs import Bench
from .measure import Figure
from .rows_log import the_draft

SECONDS = 2.0
ROOT = Path(__file__).resolve().parents[2]


def writers(bench: Bench, count: int) -> Figure:
    """Measure the events of all writers together against those of one alone."""
    alone, together, shares = [], [], []
    for turn in range(bench.sizes.rounds):
        alone += _rates(bench, f"alone-{count}-{turn}", 1)
        rates = _rates(bench, f"together-{count}-{turn}", count)
        together.append(sum(rates))
        shares.append(min(rates) * count / sum(rates))
    ours, theirs = median(together), median(alone)
    note = f"the least of them {min(shares):.0%} of a fair share"
    return Figure(ours, theirs, "/s", "ours: one writer alone", ours / theirs, note)


eight = partial(writers, count=8)
thirty_two = partial(writers, count=32)


def _rates(bench: Bench, name: str, count: int) -> list[float]:
    """Return the events per second of each of some writers to a new log."""
    log = bench.new_log(name)
    log.close()
    with ExitStack() as stack:
        started = [stack.enter_context(_start(log.path, number)) for number in range(count)]
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        # All of them begin when the first one is told.
        until = time.monotonic() + SECONDS
        for process in started:
            assert process.stdin is not None
            process.stdin.write(f"{until}\n")
            process.stdin.flush()
        return [int(process.communicate()[0]) / SECONDS for process in started]


def _start(path: Path, number: int) -> subprocess.Popen[str]:
    words = (sys.executable, "-m", "tests.benchmarks.rows_writers", str(path), str(number))
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)


def main() -> None:
    """Be one of the writers, each with a stream of its own."""
    path, stream = Path(sys.argv[1]), f"sprint/{sys.argv[2]}"
    log = SqliteLog(path, clock=wall_clock, entropy=os.urandom)
    draft = [the_draft()]
    log.append(stream, draft, expect=Expect.ANY)
    print("ready", flush=True)
    until = float(sys.stdin.readline())
    done = 0
    while time.monotonic() < until:
        log.append(stream, draft, expect=Expect.ANY)
        done += 1
    print(done)
    log.close()


if __name__ == "__main__":
    main()
