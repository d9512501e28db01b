"""Whether the tests that reach a mutation fail because of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from .copies import Copy, Result
from .mutations import Mutation, mutated
from .tracing import Trace

KILLED = "killed"
SURVIVED = "survived"
OUT_OF_TIME = "survived within the time limit"
NOT_REACHED = "not reached"
ALIVE = (SURVIVED, OUT_OF_TIME, NOT_REACHED)
LIMIT_SECONDS = 60
_CHUNKS = (5.0, 15.0, float("inf"))
"""Seconds of tests in one process: most mutations are killed by the cheapest ones."""


@dataclass
class Verdict:
    """The result of a mutation."""

    status: str
    reached_by: int
    ran: int = 0
    killer: str | None = None
    seconds: float = 0
    unstable: list[str] = field(default_factory=list)
    """Tests that failed without the mutation or, repeated, not with it."""


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def plan(tests: list[str], trace: Trace, seconds: float) -> list[str]:
    """Return the cheapest tests that take about the given time, grouped by file."""
    chosen: dict[str, list[str]] = {}
    spent = 0.0
    for test in sorted(tests, key=lambda test: (trace.tests[test], test)):
        file = file_of(test)
        spent += trace.tests[test]
        spent += 0 if file in chosen else trace.imports.get(file, 0)
        if chosen and spent > seconds:
            break
        chosen.setdefault(file, []).append(test)
    order = {test: n for n, test in enumerate(trace.tests)}
    costs = {
        file: sum(trace.tests[test] for test in members) / len(members)
        for file, members in chosen.items()
    }
    return [
        test
        for file in sorted(chosen, key=lambda file: (costs[file], file))
        for test in sorted(chosen[file], key=lambda test: order[test])
    ]


def judge(
    mutation: Mutation, trace: Trace, copy: Copy, limit: float = LIMIT_SECONDS
) -> Verdict:
    """Run the tests that reach a mutation with it, until one fails or the time is up."""
    changed = mutated(copy.original(mutation.path), mutation)
    left = list(trace.reached.get(mutation.key, []))
    verdict = Verdict(SURVIVED if left else NOT_REACHED, len(left))

    def run(tests: list[str], *, with_it: bool, seconds: float) -> Result:
        if with_it:
            copy.write(mutation.path, changed)
        try:
            files = list(dict.fromkeys(map(file_of, tests)))
            usual = trace.tests
            return copy.run(files, selected=tests, usual=usual, limit=seconds)
        finally:
            copy.restore(mutation.path)

    for seconds in _CHUNKS:
        chunk = plan(left, trace, seconds)
        while chunk:
            result = run(chunk, with_it=True, seconds=limit - verdict.seconds)
            verdict.seconds = round(verdict.seconds + result.seconds, 1)
            done = {one.name for one in result.ran if one.outcome != "failed"}
            verdict.ran += len(done)
            if result.failed is None:
                if result.status is None:
                    verdict.status = OUT_OF_TIME
                    return verdict
                done |= set(chunk)
            else:
                killer = result.failed or chunk[0]
                is_sound = run([killer], with_it=False, seconds=limit).status == 0
                if (
                    is_sound
                    and run([killer], with_it=True, seconds=limit).failed is not None
                ):
                    verdict.status, verdict.killer = KILLED, killer
                    return verdict
                verdict.unstable.append(killer)
                done.add(killer)
            left = [test for test in left if test not in done]
            chunk = [test for test in chunk if test not in done]
            if limit <= verdict.seconds and left:
                verdict.status = OUT_OF_TIME
                return verdict
    return verdict


def judge_all(
    mutations: list[Mutation], trace: Trace, copies: list[Copy], limit: float
) -> Iterator[tuple[Mutation, Verdict]]:
    """Yield each mutation with its verdict, in their order."""
    waiting = SimpleQueue[Copy]()
    for copy in copies:
        waiting.put(copy)

    def run(mutation: Mutation) -> Verdict:
        copy = waiting.get()
        try:
            return judge(mutation, trace, copy, limit)
        finally:
            waiting.put(copy)

    with ThreadPoolExecutor(len(copies)) as pool:
        yield from zip(mutations, pool.map(run, mutations), strict=True)


def listed(file: Path) -> dict[str, str]:
    """Return the survivors that a file lists: the reason of each, by its key."""
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            key, _, rest = line.partition(" ")
            reason = rest.partition(": ")[2].strip()
            if not reason:
                raise SystemExit(f"error: {file}:{number}: the reason is missing")
            found[key] = reason
    return found
