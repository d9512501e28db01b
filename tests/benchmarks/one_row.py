"""Print the CPU time of our side of one row as JSON, in a separate process.

The measured code and the row's definition may belong to two commits, so this file uses
only names that exist in every commit.
"""

import gc
import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from typing import Any

SIZES = {"fold": 20_000, "blame": 5_000, "tree": 2_000, "iterations": 2_000}
"""Data that takes long to prepare, and is as useful when smaller."""


class OursOnly:
    """A stand-in for `side_by_side` that does not run the baseline."""

    def __init__(self, sides: Callable[[float, float], object]) -> None:
        self._sides = sides
        self.seconds = 0.0

    def __call__(
        self,
        ours: Callable[[], object],
        theirs: Callable[[], object],
        *,
        rounds: int,
        units: tuple[int, int] = (1, 1),
        before: Callable[[], object] = lambda: None,
        by: object = None,
    ) -> object:
        """Measure one unit of our side by CPU time, over all rounds."""
        took = 0.0
        for _ in range(rounds):
            before()
            gc.collect()
            began = processor_time()
            ours()
            took += processor_time() - began
        self.seconds += took / rounds / units[0]
        return self._sides(self.seconds, self.seconds)


def processor_time() -> float:
    """Return the user and system time of this process and of all it started."""
    living = sum(map(_time_of_living, Path("/proc/self/task").glob("*/children")))
    used = [getrusage(RUSAGE_SELF), getrusage(RUSAGE_CHILDREN)]
    return living + sum(part.ru_utime + part.ru_stime for part in used)


def _time_of_living(children: Path) -> float:
    """Return the time of running children; only available on Linux."""
    ticks = 0
    for process in children.read_text().split():
        after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
        ticks += sum(map(int, after_name.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the names of all rows, or measure the given row."""
    measured, definitions = map(Path, sys.argv[1:3])
    sys.path[0] = str(definitions)
    import sprintlog

    assert Path(sprintlog.__path__[0]) == measured, sprintlog.__path__
    # Replaced before the rows import it by name.
    measure: Any = import_module("tests.benchmarks.measure")
    measure.side_by_side = meter = OursOnly(measure.Sides)
    rows: dict[str, Any] = import_module("tests.benchmarks.run").ROWS
    if len(sys.argv) == 3:
        former = {name: getattr(row, "formerly", "") for name, row in rows.items()}
        print(json.dumps({"rows": list(rows), "formerly": former}))
        return
    logs: Any = import_module("tests.benchmarks.logs")
    with tempfile.TemporaryDirectory(prefix="row-") as name:
        known = {size: SIZES[size] for size in SIZES if size in logs.QUICK._fields}
        bench = logs.Bench(Path(name), logs.QUICK._replace(**known))
        try:
            rows[sys.argv[3]].measure(bench)
        except measure.Skip as reason:
            print(json.dumps({"skipped": str(reason)}))
            return
    if not meter.seconds:
        print(json.dumps({"skipped": "it is not about time"}))
        return
    print(json.dumps({"seconds": meter.seconds}))


if __name__ == "__main__":
    main()
