"""Faults planted in the sources, and whether the tests detect each."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..faults.source_faults import FAULTS, ROOMS, Fault, plant
from .criterion import Verdict

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = (*ROOMS, ".package", "tests", "fixtures", "docs")
FAILED = 1
"""The exit status of pytest after failed tests; any other one is an error."""


def are_found(data: Path, seed: int) -> Verdict:
    """Each planted fault fails one of its tests, which pass without it."""
    problems = []
    with tempfile.TemporaryDirectory(prefix="sprintlog-faults-") as name:
        copy = _copy(Path(name) / "tree")
        tests = sorted({path for fault in FAULTS for path in fault.paths(copy)})
        if wrong := _failures(copy, tests):
            problems.append(f"they fail without any fault: {wrong}")
        for fault in FAULTS:
            if problem := _problem(fault, copy):
                problems.append(problem)
    found = f"{len(FAULTS) - len(problems)} of {len(FAULTS)} found"
    return Verdict(not problems, found, problems)


def _problem(fault: Fault, copy: Path) -> str | None:
    """Return the problem if a fault is not detected."""
    path = plant(fault, copy)
    try:
        return (
            None if _failures(copy, fault.paths(copy)) else f"{fault.name}: nobody noticed"
        )
    finally:
        shutil.copy2(ROOT / path.relative_to(copy), path)


def _failures(copy: Path, tests: list[Path]) -> str:
    """Return the last line of pytest if a test failed; empty if all passed."""
    own = {"PYTHONPATH": str(copy / ".package"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"),
            *map(str, tests),
        ],
        cwd=copy,
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, FAILED):
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-2000:]}")
    return done.stdout.strip().splitlines()[-1] if done.returncode == FAILED else ""


def _copy(target: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "node_modules")
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, target / folder, symlinks=True, ignore=ignored)
    for path in ROOT.glob("*.*"):
        if path.is_file() and not path.name.startswith(".git"):
            shutil.copy2(path, target / path.name)
    return target
