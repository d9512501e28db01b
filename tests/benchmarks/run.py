"""`make bench`: the table of DESIGN.md section 9, as ratios to something run beside it.

A missed goal is printed as FAIL and does not change the exit code; a row that could not
be measured because something failed does.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sprintlog.engine.errors import SprintlogError
from tests.benchmarks import (
    rows_compile,
    rows_files,
    rows_fold,
    rows_journal,
    rows_judge,
    rows_log,
    rows_process,
    rows_snapshots,
)
from tests.benchmarks.logs import FULL, QUICK, Bench
from tests.benchmarks.machine import events
from tests.benchmarks.measure import Figure, Goal, Skip, shown


class Row(NamedTuple):
    """One line of the table."""

    measure: Callable[[Bench], Figure]
    goal: Goal


class Broken(NamedTuple):
    """A row that could not be measured because something failed."""

    reason: str


ROWS: dict[str, Row] = {
    "append, durable": Row(rows_log.durable, Goal(0.90)),
    "append, synchronous=OFF": Row(rows_log.undurable, Goal(0.70)),
    "append from an event, synchronous=OFF": Row(rows_log.library, Goal(2)),
    "append from an event, durable": Row(rows_log.library_durable, Goal()),
    "batches of 1,000, durable": Row(rows_log.batches, Goal(0.75)),
    "fold into Sprint": Row(rows_fold.fold, Goal(0.50)),
    "memory growth of that fold": Row(rows_fold.memory, Goal(8, True, "MiB")),
    "replay of one stream": Row(rows_fold.replay, Goal(15)),
    "verifying the chain": Row(rows_fold.chain, Goal(0.50)),
    "all that `verify` does": Row(rows_fold.whole_verification, Goal()),
    "blame of one field, set at the start": Row(rows_fold.blame, Goal(1.5, True)),
    "blame of the elapsed time": Row(rows_fold.blame_derived, Goal(1.5, True)),
    "blame through a checkpoint": Row(rows_fold.blame_recent, Goal(0.05, True)),
    "blame of every line": Row(rows_fold.blame_lines, Goal()),
    "cold open: checkpoint + tail of 100": Row(rows_fold.cold_open, Goal(1000)),
    "PROGRESS.yaml, large, against PyYAML": Row(rows_files.against_pyyaml, Goal(15)),
    "PROGRESS.yaml, large, against js-yaml": Row(rows_files.against_js_yaml, Goal(3)),
    "start of a process": Row(rows_process.start, Goal()),
    "action as a process, 100 phases": Row(rows_process.small, Goal(1.4, True)),
    "action as a process, large": Row(rows_process.large, Goal(2, True)),
    "event through a coprocess": Row(rows_process.coprocess, Goal(100)),
    "journal: an entry, at 10,000 of them": Row(rows_journal.flat, Goal(1.2, True)),
    "journal: an entry, against rewriting": Row(rows_journal.recorded, Goal(100)),
    "journal: an entry and its file written": Row(rows_journal.written, Goal()),
    "snapshot after a change of 10 files": Row(
        rows_snapshots.after_few_changes, Goal(3, True)
    ),
    "ending an iteration after 10,000": Row(rows_judge.resident, Goal(1.1, True)),
    "the same, log opened for it": Row(rows_judge.opened, Goal()),
    "compiling a phase, large": Row(rows_compile.without_recording, Goal(1.5, True)),
    "compiling and recording a phase, large": Row(rows_compile.per_phase, Goal(1.5, True)),
    "database bytes per event of 300": Row(rows_log.bytes_of_300, Goal(1.6, True)),
    "database bytes per event of a loop": Row(rows_log.bytes_of_loop, Goal()),
}
_WIDTHS = (38, 14, 36, 14, 12, 12)


def main() -> int:
    """Measure the rows that were asked for, and print each when it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--only", default="", metavar="NAME", help="rows that hold this")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    options = parser.parse_args()
    chosen = {name: row for name, row in ROWS.items() if options.only in name}
    if not chosen:
        parser.error(f"no row holds {options.only!r}; there are: {', '.join(ROWS)}")
    sizes = QUICK if options.quick else FULL
    with tempfile.TemporaryDirectory(prefix="sprintlog-bench-") as name:
        bench = Bench(Path(name), sizes)
        log = bench.new_log("events")
        machine = events(bench.folder, log)
        log.close()
        if options.json:
            found = list(_measured(bench, chosen))
            answers = [_answer(*measured) for measured in found]
            print(msgspec.json.encode({"machine": machine, "rows": answers}).decode())
        else:
            _print_head(machine, bench)
            found = []
            for measured in _measured(bench, chosen):
                print(_line(*measured), flush=True)
                found.append(measured)
    return int(any(isinstance(answer, Broken) for *_, answer in found))


def _measured(
    bench: Bench, rows: dict[str, Row]
) -> Iterator[tuple[str, Goal, Figure | Skip | Broken]]:
    for name, row in rows.items():
        try:
            yield name, row.goal, row.measure(bench)
        except Skip as reason:
            yield name, row.goal, reason
        except (SprintlogError, subprocess.CalledProcessError, AssertionError) as error:
            yield name, row.goal, Broken(f"{type(error).__name__}: {str(error)[:200]}")


def _answer(name: str, goal: Goal, found: Figure | Skip | Broken) -> dict[str, Any]:
    wanted = {"goal": goal.value, "goal_is": "at most" if goal.at_most else "at least"}
    if isinstance(found, Skip):
        return {"name": name, **wanted, "skipped": str(found)}
    if isinstance(found, Broken):
        return {"name": name, **wanted, "failed": found.reason}
    passed = goal.is_met_by(found.ratio)
    return {"name": name, **found._asdict(), **wanted, "passed": passed}


def _print_head(machine: dict[str, str], bench: Bench) -> None:
    for name, event in machine.items():
        print(f"{name:<12} {event}")
    sizes = bench.sizes
    print(
        f"{'sizes':<12} large log {sizes.fold:,} events, one stream {sizes.replay:,}, "
        f"large sprint {sizes.phases:,} phases\n"
    )
    print(_columns("row", "ours", "against", "theirs", "ratio", "goal"), flush=True)


def _line(name: str, goal: Goal, found: Figure | Skip | Broken) -> str:
    wanted = "-"
    if goal.value is not None:
        wanted = f"{'≤' if goal.at_most else '≥'} {goal.value:,g} {goal.unit}"
    if isinstance(found, Skip):
        return f"{name:<{_WIDTHS[0]}}  skipped: {found}"
    if isinstance(found, Broken):
        return f"{name:<{_WIDTHS[0]}}  could not be measured: {found.reason}"
    word = {True: "PASS", False: "FAIL", None: ""}[goal.is_met_by(found.ratio)]
    ours, theirs = (shown(side, found.unit) for side in (found.ours, found.theirs))
    ratio = shown(found.ratio, goal.unit)
    line = _columns(name, ours, found.against, theirs, ratio, wanted)
    return "  ".join(part for part in (line, word, found.note) if part)


def _columns(*cells: str) -> str:
    left = (0, 2)
    return "  ".join(
        cell.ljust(width) if index in left else cell.rjust(width)
        for index, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )


if __name__ == "__main__":
    sys.exit(main())
