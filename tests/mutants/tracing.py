"""Which tests reach which mutations' lines, determined by one run with probes."""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Self

from .copies import Copy
from .mutations import Mutation, probed

LEFT_OUT = (
    *("tests/architecture/", "tests/docs/", "tests/benchmarks/", "tests/mutants/"),
    *("tests/acceptance/", "tests/faults/test_source_faults.py"),
)
"""Tests that read the sources or the pages, and those of this tool."""
_BATCH_FILES = 6
_BATCH_SECONDS = 1200


@dataclass
class Trace:
    """The tests of a checkout and the mutations that they reach."""

    mutations: list[Mutation]
    done: list[str] = field(default_factory=list)
    """The test files that were run."""
    tests: dict[str, float] = field(default_factory=dict)
    """The seconds that each test takes; only tests that pass."""
    imports: dict[str, float] = field(default_factory=dict)
    """The seconds that it takes to import each test file."""
    reached: dict[str, list[str]] = field(default_factory=dict)
    """The tests that reach a mutation, by its key."""
    excluded: dict[str, str] = field(default_factory=dict)
    """Tests and files that cannot judge, with the reason."""

    def save(self, file: Path) -> None:
        """Write the trace as JSON."""
        stored = asdict(self) | {"mutations": [x._asdict() for x in self.mutations]}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Self:
        """Read a trace."""
        stored = json.loads(file.read_text(encoding="utf-8"))
        return cls(**stored | {"mutations": [Mutation.of(x) for x in stored["mutations"]]})


def files_of(root: Path, only: Iterable[str]) -> list[str]:
    """Return the test files below the given paths."""
    found: set[Path] = set()
    for name in only:
        path = root / name
        found |= {path} if path.is_file() else set(path.rglob("test_*.py"))
    named = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in named if not name.startswith(LEFT_OUT)]


def _batches(files: list[str]) -> Iterator[list[str]]:
    for _, group in groupby(files, key=lambda name: name.rpartition("/")[0]):
        members = list(group)
        for at in range(0, len(members), _BATCH_FILES):
            yield members[at : at + _BATCH_FILES]


def run_probed(
    trace: Trace, files: list[str], copies: list[Copy], file: Path
) -> Iterator[str]:
    """Run the test files with probes, yield a line for each batch, and save the trace."""
    waiting = SimpleQueue[Copy]()
    for copy in copies:
        _put_probes(copy, trace.mutations)
        waiting.put(copy)
    lock = Lock()

    def run(batch: list[str]) -> str:
        copy = waiting.get()
        try:
            seconds = _run_batch(trace, batch, copy, lock)
        finally:
            waiting.put(copy)
        with lock:
            trace.done += batch
            trace.save(file)
        return f"{seconds:6.1f} s  {' '.join(batch)}"

    todo = [batch for batch in _batches(files) if not set(batch) <= set(trace.done)]
    with ThreadPoolExecutor(len(copies)) as pool:
        yield from pool.map(run, todo)
    for copy in copies:
        _remove_probes(copy, trace.mutations)


def _put_probes(copy: Copy, mutations: list[Mutation]) -> None:
    for path in {mutation.path for mutation in mutations}:
        numbers = {one: n for n, one in enumerate(mutations) if one.path == path}
        copy.write(path, probed(copy.original(path), path, numbers))


def _remove_probes(copy: Copy, mutations: list[Mutation]) -> None:
    for path in {mutation.path for mutation in mutations}:
        copy.restore(path)


def _run_batch(trace: Trace, batch: list[str], copy: Copy, lock: Lock) -> float:
    result = copy.run(
        batch,
        limit=_BATCH_SECONDS,
        stop_early=False,
        more=["--continue-on-collection-errors"],
    )
    reached, times = copy.reached(), copy.times()
    passed = {one.name: one.seconds for one in result.ran if one.outcome == "passed"}
    excluded: dict[str, str] = {}
    if result.status is None:
        excluded |= dict.fromkeys(batch, f"stopped after {_BATCH_SECONDS} s")
    elif result.status > 1 or not result.ran:
        last = result.output.strip().splitlines()[-1:]
        excluded |= dict.fromkeys(batch, f"pytest ended with {result.status}: {last}")
    failed = [one.name for one in result.ran if one.outcome == "failed"]
    if failed:
        # Some tests count frames, calls or lines, to which a probe adds one.
        _remove_probes(copy, trace.mutations)
        again = copy.run(batch, selected=failed, limit=_BATCH_SECONDS, stop_early=False)
        _put_probes(copy, trace.mutations)
        passed |= {one.name: one.seconds for one in again.ran if one.outcome == "passed"}
        lost = set(failed) - set(passed)
        excluded |= dict.fromkeys(sorted(lost), "fails without a mutation")
    uses = dict(name.split("\t") for what, _, name in times if what == "uses")
    users = {name: set(fixtures.split(",")) for name, fixtures in uses.items()}
    with lock:
        trace.tests |= passed
        trace.excluded |= excluded
        trace.imports |= {name: s for what, s, name in times if what == "file"}
        found: dict[str, dict[str, None]] = {}
        for number, label in reached:
            named = _tests_of(label.rpartition(" (")[0], users)
            key = trace.mutations[number].key
            found.setdefault(key, {}).update(dict.fromkeys(named))
        for key, tests in found.items():
            trace.reached.setdefault(key, []).extend(x for x in tests if x in passed)
    return result.seconds


def _tests_of(label: str, users: dict[str, set[str]]) -> list[str]:
    """Return the tests that a label of the plugin represents."""
    if label in users:
        return [label]
    fixture, tab, base = label.partition("\t")
    if tab:
        return [name for name in users if fixture in users[name] and name.startswith(base)]
    return [name for name in users if name.startswith(f"{label}::")]
