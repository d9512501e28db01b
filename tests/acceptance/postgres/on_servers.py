"""Suites that are written for any log, run with logs on a server."""

import os
import subprocess
import sys
from pathlib import Path

from tests.postgres.server import NEWEST, SERVERS, NoServerError, programs_of

from ..criterion import Skip, Verdict

COMMANDS = (
    *("gate", "gate_results", "gates_of_plans", "going_back", "heads", "hints", "hooks"),
    *("import_aiwg", "import_git_history", "import_journal", "import_odd_documents"),
    *("import_orchestrator", "import_prd", "import_progress", "import_ralph_loop"),
    *("imported_history", "injecting", "injecting_workflows", "interrupts"),
    *("iteration_end_from", "iteration_files"),
)
"""Modules that do not specify the place of a log: their commands are tested on a server."""
ROOT = Path(__file__).resolve().parents[3]
_CLI = ROOT / "tests" / "cli"


def scenarios(data: Path, seed: int) -> Verdict:
    """Every scenario ends in the same way if its states come from a server."""
    verdicts = []
    for version in SERVERS:
        try:
            programs_of(version)
        except NoServerError as error:
            if version == NEWEST:
                raise Skip(str(error)) from error
            continue
        verdicts.append(_played(version, "tests/spec"))
    said = "; ".join(verdict.counts for verdict in verdicts)
    problems = [line for verdict in verdicts for line in verdict.problems]
    return Verdict(all(verdict.passed for verdict in verdicts), said, problems)


def commands(data: Path, seed: int) -> Verdict:
    """Commands give the same answers with any store."""
    try:
        programs_of(NEWEST)
    except NoServerError as error:
        raise Skip(str(error)) from error
    places = [str(path) for name in COMMANDS for path in _CLI.rglob(f"test_{name}.py")]
    return _played(NEWEST, *places)


def _played(version: str, *places: str) -> Verdict:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--long", "-p", "no:cacheprovider", *places],
        cwd=ROOT,
        env={**os.environ, "SPRINTLOG_TEST_STORE": version},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    last = lines[-1] if lines else done.stderr
    return Verdict(done.returncode == 0, f"{version}: {last}", lines[-30:])
