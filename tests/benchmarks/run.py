"""`make bench`: measure speed relative to a baseline that runs in turn with sprintlog.

`make bench` measures the rows of the core, `make bench ARGS=all` every row, `make bench
ARGS=parts` the parts of one append, and `make bench ARGS=profile` the functions in which
the rows with a goal spend their time. `make bench ARGS='all --write-docs'` writes the table
of docs/explanation/performance.md. A missed goal is printed as FAIL and does not change the
exit status; a row that fails does.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sprintlog.engine.errors import SprintlogError
from tests.benchmarks import page, parts, profiles
from tests.benchmarks.logs import FULL, QUICK, Bench
from tests.benchmarks.machine import events
from tests.benchmarks.measure import Figure, Goal, Skip
from tests.benchmarks.rows import (
    rows_compile,
    rows_daily,
    rows_files,
    rows_fold,
    rows_journal,
    rows_judge,
    rows_log,
    rows_page,
    rows_past,
    rows_process,
    rows_programs,
    rows_scaling,
    rows_server,
    rows_snapshots,
    rows_trust,
    rows_writers,
)
from tests.benchmarks.table import (
    Broken,
    Markdown,
    Measured,
    Terminal,
    measured_now,
    summary,
)


class Row(NamedTuple):
    """One line of the table; `formerly` is its name in older commits, if it had another."""

    measure: Callable[[Bench], Figure]
    goal: Goal = Goal()
    is_core: bool = False
    formerly: str = ""


CORE = True
# Since Python 3.12, a connection can disable triggers for itself.
_BATCHES = 0.85 if sys.version_info >= (3, 12) else 0.70
_SLOWER = rows_server.SLOWER_DISK_MICROSECONDS

ROWS: dict[str, Row] = {
    "append, durable": Row(rows_log.durable, Goal(0.82), CORE),
    "append, durable: processor time": Row(rows_log.durable_processor, Goal(0.72), CORE),
    # No goal: an append that does not wait for the disk is not for real use, and the CPU
    # share of one that waits is covered by the previous row's goal.
    "append, synchronous=OFF": Row(rows_log.undurable, Goal(), CORE),
    "append from an event, synchronous=OFF": Row(rows_log.library, Goal(1.8), CORE),
    "append from an event, durable": Row(rows_log.library_durable, Goal(), CORE),
    "append, against its event store alone": Row(rows_log.library_store, Goal(), CORE),
    "batches of 1,000, durable": Row(rows_log.batches, Goal(_BATCHES), CORE),
    "8 writers beside one another": Row(rows_writers.eight, Goal(0.7)),
    "32 writers beside one another": Row(rows_writers.thirty_two, Goal(0.5)),
    "server: one writer": Row(rows_server.one_writer, Goal(0.85)),
    "server: 8 writers on separate logs": Row(
        rows_server.own_logs, Goal(0.4), formerly="server: 8 writers on logs of their own"
    ),
    "server: 32 writers on one log": Row(rows_server.one_hot_log, Goal(2)),
    "server: the same, beside a recorder": Row(rows_server.eventsourcing_recorder, Goal(3)),
    "server, slower disk: one writer": Row(
        partial(rows_server.one_writer, delay=_SLOWER), Goal(0.85)
    ),
    "server, slower disk: 32 writers": Row(
        partial(rows_server.one_hot_log, delay=_SLOWER), Goal(2)
    ),
    "server, slower disk: a recorder": Row(
        partial(rows_server.eventsourcing_recorder, delay=_SLOWER), Goal(3)
    ),
    "server: fold of a stream": Row(rows_server.fold, Goal(0.5)),
    "server: replay of the log": Row(rows_server.replay, Goal(0.5)),
    "server: copy of a log": Row(rows_server.copied, Goal(0.25)),
    "fold into Sprint": Row(rows_fold.fold, Goal(0.55), CORE),
    "memory growth of that fold": Row(rows_fold.memory, Goal(1, True, "MiB"), CORE),
    "replay of one stream": Row(rows_fold.replay, Goal(13), CORE),
    "replay, beside a msgspec mapper": Row(rows_fold.replay_msgspec, Goal(2), CORE),
    "verifying the chain": Row(rows_fold.chain, Goal(0.55), CORE),
    "all that `verify` does": Row(rows_fold.whole_verification, Goal(0.40), CORE),
    "blame of one field, set at the start": Row(rows_fold.blame, Goal(1.5, True)),
    "blame of the elapsed time": Row(rows_fold.blame_derived, Goal(1.5, True)),
    "blame through a checkpoint": Row(rows_fold.blame_recent, Goal(0.05, True)),
    "blame of every line": Row(rows_fold.blame_lines),
    "replay of a plan of 1,000 phases": Row(
        rows_past.replay_of_a_large_plan, Goal(1.5, True)
    ),
    "page of 200 iterations, against fold and blame": Row(
        rows_page.page_of_200, Goal(3, True)
    ),
    "file of 100 iterations, opened": Row(rows_page.opened, Goal(1, True, "s")),
    "server, 5,000 iterations: overview first": Row(
        rows_page.first_overview, Goal(0.6, True)
    ),
    "file of 5,000 iterations, opened": Row(rows_page.opened_long, Goal(1, True, "s")),
    "question after one event, long log": Row(rows_past.question_after_one_event),
    "after a rollback, large log": Row(rows_scaling.after_a_rollback, Goal(1.5, True)),
    "`--at` in the middle, large log": Row(rows_scaling.at_the_middle, Goal(3, True)),
    "the same, by position": Row(rows_scaling.at_a_position, Goal(3, True)),
    "the same, by a time": Row(rows_scaling.at_a_time, Goal(3, True)),
    "`audit` after one event, large log": Row(rows_scaling.audited_again, Goal(3, True)),
    "cold open: checkpoint + tail of 100": Row(rows_fold.cold_open, Goal(1000)),
    "PROGRESS.yaml, large, against PyYAML": Row(rows_files.against_pyyaml, Goal(18), CORE),
    "PROGRESS.yaml, large, against js-yaml": Row(rows_files.against_js_yaml, Goal(4), CORE),
    "PROGRESS.yaml, one change, resident": Row(rows_files.one_change, Goal(20), CORE),
    "start of a process": Row(rows_process.start),
    "completion with values": Row(rows_process.completion, Goal(1.5, True)),
    "a hook of an agent": Row(rows_process.hook, Goal(1.3, True)),
    "a wrapped command, until it prints": Row(rows_process.wrapped, Goal(1.3, True)),
    "action as a process, 100 phases": Row(rows_process.small, Goal(1.3, True), CORE),
    "action as a process, large": Row(rows_process.large, Goal(2, True), CORE),
    **{
        f"`{' '.join(words)}`, 300 iterations": Row(
            partial(rows_daily.asked, words=words), Goal(limit, True)
        )
        for words, limit in rows_daily.ASKED.items()
    },
    "`wrap -- true`, 300 iterations": Row(rows_daily.wrapped, Goal(1.8, True)),
    "`wrap --snapshot --measure`, 5,000 files": Row(
        partial(rows_daily.wrapped, options=rows_daily.MEASURED), Goal(2.5, True)
    ),
    "event through a coprocess": Row(rows_process.coprocess, Goal(130), CORE),
    "question through `rpc`": Row(rows_programs.question, Goal(50)),
    "32 writers through one process": Row(rows_programs.writers, Goal(5)),
    "start of `mcp`, to its first answer": Row(rows_programs.tools, Goal(1.2, True)),
    "journal: an entry, at 10,000 of them": Row(rows_journal.flat, Goal(1.2, True)),
    "journal: an entry, event only": Row(
        rows_journal.recorded, Goal(100), CORE, "journal: an entry, against rewriting"
    ),
    "journal: an entry and its file written": Row(rows_journal.written, Goal(4), CORE),
    "snapshot after a change of 10 files": Row(
        rows_snapshots.after_few_changes, Goal(3, True)
    ),
    "rollback of every file": Row(rows_snapshots.restored, Goal(2, True)),
    "rollback of every file of a large tree": Row(
        rows_snapshots.restored_large, Goal(2, True)
    ),
    "`scan` of what agents said": Row(rows_trust.scan, Goal(5, unit="MB/s")),
    "ending an iteration after 10,000": Row(rows_judge.resident, Goal(1.1, True)),
    "the same, log opened for it": Row(rows_judge.opened),
    "the tracker's file after 10,000": Row(rows_judge.tracked),
    "an iteration of the list of 10,000": Row(rows_judge.listed, Goal(1.2, True)),
    "`show best` after 10,000": Row(rows_judge.shown, Goal(1.5, True)),
    "`status` after 10,000": Row(rows_judge.stood, Goal(1.2, True)),
    "a report of 1,000 setbacks": Row(rows_judge.reported, Goal(1.5, True)),
    "compiling a phase, large": Row(rows_compile.without_recording, Goal(1.5, True)),
    "compiling and recording a phase, large": Row(rows_compile.per_phase, Goal(1.5, True)),
    # No goal: ADR 0035 explains the size of a row.
    "database bytes per event of 300": Row(rows_log.bytes_of_300, Goal(), CORE),
    "database bytes per event of a loop": Row(rows_log.bytes_of_loop),
}


def main() -> int:
    """Measure the rows that were asked for, and print each when it is done."""
    options = _options()
    wanted = chosen(options.which, options.only)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sprintlog-bench-") as name:
        bench = Bench(Path(name), QUICK if options.quick else FULL)
        if options.write_docs:
            return _write_docs(bench, wanted, began)
        if options.which == "parts":
            print(
                "\n".join(parts.lines_of(parts.parts(bench), is_markdown=options.markdown))
            )
            return 0
        if options.which == "profile":
            print("\n".join(_profiles(bench, options.only)))
            return 0
        machine = {**_machine(bench), "sizes": _sizes(bench)}
        if options.json:
            found = list(measured(bench, wanted))
            answers = [row.answer() for row in found]
            print(msgspec.json.encode({"machine": machine, "rows": answers}).decode())
        else:
            table = Markdown() if options.markdown else Terminal()
            found = _tabled([table], machine, measured(bench, wanted), began)
    return int(any(isinstance(row.found, Broken) for row in found))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "which", nargs="?", choices=("core", "all", "parts", "profile"), default="core"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--markdown", action="store_true", help="print a Markdown table")
    parser.add_argument(
        "--only", default="", metavar="NAME", help="all rows that hold this"
    )
    parser.add_argument(
        "--quick", action="store_true", help="smaller sizes, for a first look"
    )
    parser.add_argument(
        "--write-docs",
        action="store_true",
        help="write the table into docs/explanation/performance.md as well",
    )
    options = parser.parse_args()
    if not chosen(options.which, options.only):
        parser.error(f"no row holds {options.only!r}; there are: {', '.join(ROWS)}")
    return options


def _write_docs(bench: Bench, wanted: dict[str, Row], began: float) -> int:
    """Measure the rows, print each immediately, and write all of them into the page."""
    figures: list[str] = []
    machine = {**_machine(bench), "sizes": _sizes(bench)}
    tables: list[Terminal | Markdown] = [Terminal(), Markdown(figures.append)]
    found = _tabled(tables, machine, measured(bench, wanted), began)
    page.write({"figures": "\n".join(figures).split("\n")})
    print(f"written into {page.PAGE}; {(time.monotonic() - began) / 60:.1f} minutes")
    return int(any(isinstance(row.found, Broken) for row in found))


def _tabled(
    tables: list[Terminal | Markdown],
    machine: dict[str, str],
    rows: Iterator[Measured],
    began: float,
) -> list[Measured]:
    """Put rows into tables as they come; return them."""
    for table in tables:
        table.head(machine)
    found = []
    for row in rows:
        for table in tables:
            table.row(row)
        found.append(row)
    for table in tables:
        table.foot(summary(found, began))
    return found


def _profiles(bench: Bench, only: str = "") -> list[str]:
    """Return the table of where the time of the rows with a goal goes."""
    lines = [*profiles.HEAD]
    for number, (name, row) in enumerate(ROWS.items()):
        if not row.is_core or row.goal.value is None or only not in name:
            continue
        own = bench.below(f"profile-{number}", bench.sizes.briefly())
        with suppress(Skip):
            lines += profiles.lines_of(name, profiles.profile_of(row.measure, own))
    return lines


def chosen(which: str, only: str) -> dict[str, Row]:
    """Return the rows that were asked for; a name is looked for among all."""
    if only:
        return {name: row for name, row in ROWS.items() if only in name}
    return {name: row for name, row in ROWS.items() if row.is_core or which == "all"}


def measured(bench: Bench, rows: dict[str, Row]) -> Iterator[Measured]:
    """Measure rows one after another."""
    for name, row in rows.items():
        found: Figure | Skip | Broken
        began = time.monotonic()
        try:
            found = row.measure(bench)
        except Skip as reason:
            found = reason
        except (SprintlogError, subprocess.CalledProcessError, AssertionError) as error:
            found = Broken(f"{type(error).__name__}: {str(error)[:200]}")
        yield measured_now(name, row.goal, found, since=began)


def _machine(bench: Bench) -> dict[str, str]:
    log = bench.new_log("events")
    try:
        return events(bench.folder, log)
    finally:
        log.close()


def _sizes(bench: Bench) -> str:
    sizes = bench.sizes
    return (
        f"large log {sizes.fold:,} events, one stream {sizes.replay:,}, "
        f"large sprint {sizes.phases:,} phases"
    )


if __name__ == "__main__":
    sys.exit(main())
