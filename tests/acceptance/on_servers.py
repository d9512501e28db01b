"""Suites that are written for any log, with every log of theirs on a server."""

import os
import subprocess
import sys
from pathlib import Path

from tests.postgres.server import NEWEST, SERVERS, NoServerError, programs_of

from .criterion import Skip, Verdict

ROOT = Path(__file__).resolve().parent.parent.parent


def scenarios(data: Path, seed: int) -> Verdict:
    """Every scenario has the same end where its states come from a server."""
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
    """Commands answer the same, whatever keeps the log: all but what is about its file."""
    try:
        programs_of(NEWEST)
    except NoServerError as error:
        raise Skip(str(error)) from error
    return _played(NEWEST, "tests/cli")


def _played(version: str, folder: str) -> Verdict:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder],
        cwd=ROOT,
        env={**os.environ, "SPRINTLOG_TEST_STORE": version},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.strip().splitlines()
    last = lines[-1] if lines else done.stderr
    return Verdict(done.returncode == 0, f"{version}: {last}", lines[-30:])
