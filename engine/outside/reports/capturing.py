"""Measures a work tree: runs what writes reports, reads them, and has sources counted."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...errors import NotFoundError, RefusedError, SprintlogError
from ...iterations.facts import Origin
from ...sprint.gates import GateResult
from ..gate_script import ScriptLostError, run_script
from .complexity import measure_sources
from .measuring import Measured, Wanted, read_reports, stamps, wanted

TIMEOUT_SECONDS = 600.0
"""How long each command may take, unless it is said."""


class Asked(NamedTuple):
    """What is to be measured."""

    reports: Sequence[str] = ()
    """Files, patterns of files, each perhaps with its format before: `junit=a.xml`."""
    sources: Sequence[str] = ()
    """Files and folders whose size and complexity are measured."""
    runs: Sequence[str] = ()
    """Commands that write the reports, run first."""
    builds: Sequence[str] = ()
    """Commands that succeed when the work can be built."""
    timeout_seconds: float = TIMEOUT_SECONDS


def capture(
    asked: Asked, *, folder: Path, root: Path, environment: Mapping[str, str]
) -> Measured:
    """Return what was measured; raise `SprintlogError` unless all of it could be.

    Commands run in `root`; names of files belong to `folder`.
    """
    before = stamps(_there(asked, folder)) if asked.runs else {}
    notes: list[str] = []
    for command in asked.runs:
        result = _run(command, asked, root, environment)
        if result.timed_out:
            raise RefusedError(
                f"{command}: ended at its time limit of {asked.timeout_seconds:g} s",
                hint="--timeout gives it more",
            )
        if result.exit_code:
            notes.append(f"{command}: exit code {result.exit_code}")
    built, failures = _build(asked, root, environment)
    reports = [one for text in asked.reports for one in wanted(text, folder=folder)]
    parts = [built, read_reports(reports, folder=root, before=before)]
    if asked.sources:
        parts.append(
            measure_sources(
                [Path(path) for path in asked.sources],
                folder=folder,
                environment=environment,
                timeout_seconds=asked.timeout_seconds,
            )
        )
    return Measured(
        {name: value for part in parts for name, value in part.metrics.items()},
        [origin for part in parts for origin in part.origins],
        parts[1].usage,
        (*notes, *failures, *(note for part in parts for note in part.notes)),
    )


def _there(asked: Asked, folder: Path) -> list[Wanted]:
    """Return the reports that are there before anything is run."""
    found: list[Wanted] = []
    for text in asked.reports:
        with suppress(NotFoundError):
            found += wanted(text, folder=folder)
    return found


def _build(
    asked: Asked, root: Path, environment: Mapping[str, str]
) -> tuple[Measured, list[str]]:
    """Return the status of the build: a success where every command ends with 0."""
    failures = []
    for command in asked.builds:
        result = _run(command, asked, root, environment)
        if result.timed_out or result.exit_code:
            how = "its time limit" if result.timed_out else f"exit code {result.exit_code}"
            failures.append(f"{command}: the build failed: {how}")
    if not asked.builds:
        return Measured({}, []), []
    status = "failed" if failures else "success"
    named = " && ".join(asked.builds)
    origin = Origin(named, "build", None, ("build_status",))
    return Measured({"build_status": status}, [origin]), failures


def _run(
    command: str, asked: Asked, root: Path, environment: Mapping[str, str]
) -> GateResult:
    try:
        return run_script(
            command,
            folder=root,
            environment=environment,
            timeout_seconds=asked.timeout_seconds,
        )
    except ScriptLostError as error:
        raise SprintlogError(
            f"{command}: the process that kept it ended or hung: how it ended is not known",
            hint="nothing was recorded; run it again",
        ) from error
