"""Feed malformed input to every reader of foreign files for minutes."""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.faults.runner import ROOT, environment
from tests.fuzz.figures import AGENTS
from tests.fuzz.imports import IMPORTERS
from tests.fuzz.targets import TARGETS

from .criterion import Verdict

AT_ONCE = max((os.cpu_count() or 2) // 2, 1)
GRACE_SECONDS = 120
MEMORY_MIB_MAX = 512
"""A decoder or an importer that is fed with mutated lines needs no more."""


class Fed(NamedTuple):
    """The result of feeding one reader."""

    name: str
    inputs: int
    slowest: float
    """Seconds of the processor for the slowest input."""
    memory: int
    """MiB at most."""
    broke: str | None


def readers(
    data: Path, seed: int, *, minutes: float = 10.0, only: tuple[str, ...] = ()
) -> Verdict:
    """Feed each reader for some minutes; no input may break it."""
    names = [name for name in TARGETS if not only or name in only]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        fed = [*pool.map(lambda name: feed(name, round(minutes * 60)), names)]
    for one in fed:
        print(
            f"      {one.name:12} {one.inputs:>9} inputs, slowest {one.slowest:.2f} s,"
            f" {one.memory} MiB",
            flush=True,
        )
    broke = [f"{one.name}: {one.broke}" for one in fed if one.broke]
    slow = max(fed, key=lambda one: one.slowest)
    large = max(fed, key=lambda one: one.memory)
    led = "coverage" if find_spec("atheris") else "chance"
    counts = (
        f"{len(fed)} readers, {minutes:g} minutes each, {sum(one.inputs for one in fed)}"
        f" inputs led by {led}: {len(broke)} broke; slowest input {slow.slowest:.2f} s"
        f" ({slow.name}), most memory {large.memory} MiB ({large.name})"
    )
    return Verdict(not broke, counts, broke)


def figures(data: Path, seed: int) -> Verdict:
    """Feed each decoder with mutated lines; none may break or state an invented figure."""
    return _figures("tests.fuzz.figures", "decoders", AGENTS, seed)


def imports(data: Path, seed: int) -> Verdict:
    """Feed each importer with mutated lines; none may break or state an invented figure."""
    return _figures("tests.fuzz.imports", "importers", tuple(IMPORTERS), seed)


def _figures(
    module: str, noun: str, names: tuple[str, ...], seed: int, *, lines: int = 20_000
) -> Verdict:
    def fed(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", module, name, str(lines), str(seed)]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = dict(zip(names, pool.map(fed, names), strict=True))
    problems = [f"{name}: {x.stderr[-400:]}" for name, x in done.items() if x.returncode]
    outcomes = [json.loads(x.stdout) for x in done.values() if not x.returncode]
    problems += [f"{one['agent']}: {x}" for one in outcomes for x in one["problems"]]
    large = [one for one in outcomes if one["memory"] > MEMORY_MIB_MAX]
    problems += [f"{one['agent']}: {one['memory']} MiB" for one in large]
    for one in outcomes:
        print(f"      { ({**one, 'problems': len(one['problems'])}) }", flush=True)
    counts = (
        f"{len(done)} {noun}, {lines} mutated lines each,"
        f" {sum(one['figures'] for one in outcomes)} figures checked,"
        f" {sum(one['undecided'] for one in outcomes)} undecided, {len(problems)} problems"
    )
    return Verdict(not problems, counts, problems)


def feed(name: str, seconds: int) -> Fed:
    """Feed one reader in a separate process."""
    with tempfile.TemporaryDirectory(prefix="sprintlog-fuzz-") as made:
        folder = Path(made)
        command = [sys.executable, "-m", "tests.fuzz.covered", name, str(seconds), made]
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment(), stdout=said, stderr=said
            )
            try:
                _, status, used = os.wait4(process.pid, 0)
            finally:
                process.returncode = 0
        code = os.waitstatus_to_exitcode(status)
        seen = folder / "seen"
        found = (
            json.loads(seen.read_text()) if seen.exists() else {"count": 0, "slowest": 0}
        )
        broke = None
        if code:
            why = folder / "why"
            text = why.read_text() if why.exists() else (folder / "said").read_text("utf-8")
            broke = f"exit code {code}: {text.strip()[-400:]} {_input(folder)!r}"
        return Fed(name, found["count"], found["slowest"], used.ru_maxrss // 1024, broke)


def _input(folder: Path) -> bytes:
    """Return the input that broke it, or the one on which it was stopped."""
    for path in (folder / "broke", *folder.glob("timeout-*"), *folder.glob("oom-*")):
        if path.exists():
            return path.read_bytes()[:2000]
    return b""
