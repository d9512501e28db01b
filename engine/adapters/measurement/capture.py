"""One measurement of a work tree: runs commands, reads reports and measures source files.

If no reports are specified, the reports that the commands wrote to their default locations
are read.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...errors import NotFoundError, RefusedError, SprintlogError
from ...judging.events import MeasuringRun, Origin
from ...judging.metrics import NAMES, check_metrics
from ...log.event import made_from
from ...masking import mask
from ...sprint.phases.gate import GateResult
from ..processes.output import note
from ..processes.programs import ScriptLostError, run_script
from ..reports.parsers import decode
from ..reports.report import Report, SeenReport, SeenReports
from . import figures
from .formats import TABLE

_PLACES = tuple(dict.fromkeys(at for one in TABLE.values() for at in one.places.split()))
_WRITTEN = "written by the measure"
TIMEOUT_SECONDS = 600.0
"""The default time limit for each command."""
LAST_LINE = "last-line"
"""The format name for figures in the last line of a command's output."""
LINE_CHARS_MAX = 4_000
_PASSED_OF_ALL = re.compile(r"([0-9]{1,12})/([0-9]{1,12})", re.ASCII)
_PYTEST_KINDS = {
    "tests_passed": "x?passed",
    "tests_failed": "failed|errors?",
    "tests_skipped": "skipped|xfailed",
}
_PYTEST_PART = (
    rf"[0-9]{{1,9}} (?:(?:subtests )?(?:{'|'.join(_PYTEST_KINDS.values())})"
    r"|deselected|rerun|warnings?)"
)
_PYTEST = re.compile(
    rf"(?:=+ )?({_PYTEST_PART}(?:, {_PYTEST_PART})*) in [0-9.]+s(?: \([0-9:]+\))?(?: =+)?",
    re.ASCII,
)
HEAD_CHARS = 2_000
TAIL_CHARS = 4_000
"""The number of characters kept from the start and the end of a command's output."""
RUNS_MAX = 20
"""The maximum number of commands listed for one measurement."""


class MeasurementOrder(NamedTuple):
    """A request for a measurement."""

    reports: Sequence[str] = ()
    """Files or glob patterns, each with an optional format, such as `junit=a.xml`."""
    sources: Sequence[str] = ()
    """Files and folders whose size and complexity are measured."""
    runs: Sequence[str] = ()
    """Commands to run first; they write the reports, or print the figures themselves."""
    builds: Sequence[str] = ()
    """Build commands, which must succeed; their last line may contain figures."""
    timeout_seconds: float = TIMEOUT_SECONDS
    pointers: Mapping[str, str] = {}
    """JSON pointers to custom metrics in JSON reports, by metric name."""
    own: Sequence[str] = ()
    """The names of all custom metrics."""

    @property
    def printing(self) -> Sequence[str]:
        """Return the commands whose last output line is read: all if no report is given."""
        return () if self.reports or self.sources else self.runs


class Ran(NamedTuple):
    """A command that was run, and its result."""

    command: str
    result: GateResult

    @property
    def failed(self) -> bool:
        """Return whether the command failed."""
        return self.result.timed_out or self.result.exit_code != 0


class Capture(msgspec.Struct, eq=False):
    """One measurement of a work tree; its runs are available even after a failure.

    Commands run in `root`; file names are relative to `folder`.
    """

    asked: MeasurementOrder
    folder: Path
    root: Path
    environment: Mapping[str, str]
    ran: list[Ran] = []
    usual: Mapping[Path, figures.Stamp] = {}
    usual_notes: tuple[str, ...] = ()
    """Notes on the reports that commands wrote to default locations."""
    reports: SeenReports = msgspec.field(default_factory=SeenReports)

    @property
    def seen(self) -> list[SeenReport]:
        """Return the reports read so far."""
        return self.reports.found

    def runs(self, *, masks: bool) -> tuple[MeasuringRun, ...]:
        """Return the records of the commands run so far."""
        return tuple(run_as_kept(*one, masks=masks) for one in self.ran[:RUNS_MAX])

    @property
    def culprit(self) -> Ran | None:
        """Return the last command that failed, or else the last command, or None."""
        found = [one for one in self.ran if one.failed] or self.ran
        return found[-1] if found else None

    def measure(self) -> figures.Measured:
        """Return the measured figures; raise `SprintlogError` if any part fails."""
        asked, folder = self.asked, self.folder
        named = (one for text in asked.reports for one in _at(text, folder))
        before = figures.stamps(named) if asked.runs else {}
        self.usual = usual_stamps(self.root) if asked.printing else {}
        notes = self._run_all()
        parts = [self._build(), self._read(before, notes[-1] if notes else None)]
        if asked.sources:
            parts.append(
                figures.measure_sources(
                    [Path(path) for path in asked.sources],
                    folder=folder,
                    environment=self.environment,
                    timeout_seconds=asked.timeout_seconds,
                )
            )
        return figures.merged(parts, notes)

    def _run_all(self) -> list[str]:
        """Run the commands that write reports, and return notes about failures."""
        notes: list[str] = []
        for command in () if self.asked.printing else self.asked.runs:
            result = self._run(command)
            if result.timed_out:
                raise RefusedError(
                    f"{command}: timed out after {self.asked.timeout_seconds:g} s",
                    hint="raise the limit with --timeout",
                )
            if result.exit_code:
                notes.append(f"{command}: exit code {result.exit_code}")
        return notes

    def _read(
        self, before: Mapping[Path, figures.Stamp], failure: str | None
    ) -> figures.Measured:
        """Return the figures from the reports; `failure` explains a missing report."""
        try:
            reports = [
                one
                for text in self.asked.reports
                for one in figures.wanted(text, folder=self.folder)
            ]
            return figures.read_reports(
                reports,
                folder=self.root,
                before=before,
                failure=failure,
                pointers=self.asked.pointers,
                see=self.reports.see,
            )
        except NotFoundError as error:
            if failure is None:
                raise
            problem = f"{error.message}, and the run failed: {failure}"
            raise NotFoundError(problem, **error.fields) from error

    def _build(self) -> figures.Measured:
        """Return the build status, and the figures from commands that print them.

        The build succeeds if every command exits with 0. The exit status of a command that
        is not a build command is ignored if the command provides figures, either in its
        last line or in reports at their default locations.
        """
        printing, builds = self.asked.printing, self.asked.builds
        said: list[tuple[Ran, dict[str, Any]]] = []
        for command in dict.fromkeys((*printing, *builds)):
            # With `--measure-build`, a command that wrote a report is a build as well.
            known = (one.result for one in self.ran if one.command == command)
            result = next(known, None) or self._run(command)
            output = "" if result.timed_out else result.output
            found = counted(output, command=command, own=self.asked.own)
            said.append((Ran(command, result), found))
        usual = figures.Measured({}, [])
        if printing and not any(found for _, found in said):
            usual = read_usual(self.root, self.usual, self.reports.see)
            self.usual_notes = usual.notes
        parts: list[figures.Measured] = []
        notes: list[str] = []
        judged: dict[str, bool] = {}
        for ran, found in said:
            command, result = ran
            how = "its time limit" if result.timed_out else f"exit code {result.exit_code}"
            has_figures = found or (command in printing and usual.metrics)
            if command in builds or not has_figures:
                judged[command], how = ran.failed, f"the build failed: {how}"
            if found:
                origin = Origin(command, LAST_LINE, None, tuple(found))
                parts.append(figures.Measured(found, [origin]))
            notes += [f"{command}: {how}"] if ran.failed else []
        if judged:
            origin = Origin(" && ".join(judged), "build", None, ("build_status",))
            status = "failed" if any(judged.values()) else "success"
            parts.insert(0, figures.Measured({"build_status": status}, [origin]))
        return figures.merged([*parts, usual], notes)

    def _run(self, command: str) -> GateResult:
        try:
            result = run_script(
                command,
                folder=self.root,
                environment=self.environment,
                timeout_seconds=self.asked.timeout_seconds,
            )
        except ScriptLostError as error:
            raise SprintlogError(
                f"{command}: its supervisor ended or hung, so the outcome is unknown",
                hint="nothing was recorded; run the command again",
            ) from error
        self.ran.append(Ran(command, result))
        return result


def usual_stamps(root: Path) -> dict[Path, figures.Stamp]:
    """Return the stamps of the reports at default locations before a command runs."""
    return figures.stamps(report for place in _PLACES for report in _at(place, root))


def read_usual(
    root: Path, before: Mapping[Path, figures.Stamp], see: Callable[[Report], None]
) -> figures.Measured:
    """Return the figures from the reports that a command wrote to their default locations.

    Reports that contain the same figure are ignored. The notes list the written reports and
    whether they were read; `see` receives the reports that were read.
    """
    found: dict[str, tuple[figures.Measured, list[Report]]] = {}
    notes: list[str] = []
    for place in _PLACES:
        reports = _at(place, root)
        after = figures.stamps(reports)
        fresh = [one for one in reports if after.get(one.path) != before.get(one.path)]
        seen: list[Report] = []
        try:
            measured = figures.read_reports(fresh, folder=root, see=seen.append)
        except SprintlogError as error:
            notes.append(f"{place} is {_WRITTEN} and not read: {error.message}")
            continue
        if measured.metrics:
            found[place] = measured, seen
    read: list[figures.Measured] = []
    for place, (measured, seen) in found.items():
        names = measured.metrics.keys()
        same = [at for at, (other, _) in found.items() if names & other.metrics.keys()]
        if len(same) > 1:
            notes.append(
                f"{' and '.join(same)} are {_WRITTEN} and not read, because they state the "
                "same figures: name one with --report"
            )
            continue
        for report in seen:
            see(report)
        notes.append(f"{place} is {_WRITTEN} and read as {measured.origins[0].format}")
        read.append(measured)
    return figures.merged(read, dict.fromkeys(notes))


def _at(place: str, root: Path) -> list[figures.WantedReport]:
    with suppress(NotFoundError):
        return figures.wanted(place, folder=root)
    return []


def counted(output: str, *, command: str, own: Collection[str] = ()) -> dict[str, Any]:
    """Return the metrics in the output's last line; empty if the line has another format.

    The line must be exactly `PASSED/ALL`, pytest's summary, or a JSON object in which some
    key is a metric. `own` contains the names of declared custom metrics. Raise
    `SprintlogError` if the line is not a valid measurement.
    """
    line = output.rstrip().rpartition("\n")[2].strip()
    if len(line) > LINE_CHARS_MAX:
        return {}
    if (found := _PASSED_OF_ALL.fullmatch(line)) is not None:
        passed, count = map(int, found.groups())
        return _checked_line({"test_count": count, "tests_passed": passed}, command)
    if (found := _PYTEST.fullmatch(line)) is not None:
        return _pytest_counts(found[1])
    if not (line.startswith("{") and line.endswith("}")):
        return {}
    names = {*NAMES, *own}
    if not any(f'"{name}"' in line for name in names):
        return {}
    report = Report(f"the last line of {command}", line.encode(), Path())
    said = decode(report, dict[str, Any])
    return _checked_line(said, command, own) if names & said.keys() else {}


def _pytest_counts(summary: str) -> dict[str, Any]:
    """Return the metrics in a pytest summary, such as `1 failed, 2 passed`."""
    tests = {
        name: sum(map(int, re.findall(rf"([0-9]+) (?:{kinds})\b", summary)))
        for name, kinds in _PYTEST_KINDS.items()
    }
    return {"test_count": sum(tests.values()), **tests} if any(tests.values()) else {}


def _checked_line(
    said: dict[str, Any], command: str, own: Collection[str] = ()
) -> dict[str, Any]:
    """Return the metrics if they are consistent; raise `RefusedError` naming the line."""
    try:
        check_metrics(said, own)
    except RefusedError as error:
        problem = f"the last line of {command}: {error.message}"
        raise RefusedError(problem, hint=error.hint, **error.fields) from error
    return {name: value for name, value in said.items() if value is not None}


def run_as_kept(command: str, result: GateResult, *, masks: bool) -> MeasuringRun:
    """Return a command's record; secrets are masked before the output is shortened."""
    text = mask(result.output) if masks else result.output
    if (left := len(text) - HEAD_CHARS - TAIL_CHARS) > 0:
        cut = note(f"{left} characters left out")
        text = f"{text[:HEAD_CHARS]}\n{cut}\n{text[-TAIL_CHARS:]}"
    command = mask(command) if masks else command
    return made_from(MeasuringRun, result, command=command, output=text)
