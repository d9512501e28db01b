"""Figures from a work tree's reports and source files.

Source files are measured with lizard, which the extra `complexity` installs.
"""

import glob
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Unpack

import msgspec

from ... import extras, masking, own_files
from ...errors import InvalidInputError, NotFoundError, RefusedError
from ...judging.events import Origin, Usage
from ...usage import known_sum
from ..processes.output import Output
from ..processes.supervised import RunOptions, run_kept
from ..reports import parsers
from ..reports.report import COUNT_MAX, Coverage, Found, Report, open_report
from .formats import format_of, is_format, read_as
from .lizard_worker import MISSING

FILES_MAX = 10_000
"""The maximum number of reports that can be read at once."""
TOOL_CHARS_MAX = 128
_PATTERN_MARKS = ("*", "?", "[")

Stamp = tuple[int, ...]


class WantedReport(NamedTuple):
    """A report to be read."""

    file: str
    """The file's name."""
    path: Path
    format: str | None = None
    """The name of the format; None if it is detected from the content."""
    pattern: str | None = None
    """The file pattern that matched the report, if any."""


class Measured(NamedTuple):
    """The combined figures from reports; figures missing from all reports are absent."""

    metrics: dict[str, int | float | str]
    origins: list[Origin]
    usage: Usage | None = None
    notes: tuple[str, ...] = ()
    """Notes for the user, each of which names its file."""


def merged(parts: Sequence[Measured], notes: Iterable[str] = ()) -> Measured:
    """Return the figures of all parts; raise `RefusedError` if two share a metric.

    The given `notes` precede the parts' own notes.
    """
    known: dict[str, str] = {}
    for part in parts:
        names = {name: one.name for one in part.origins for name in one.metrics}
        for name in [name for name in names if name in known]:
            raise RefusedError(
                f"both {known[name]} and {names[name]} specify {name}",
                field=name,
                hint="omit one of them",
            )
        known |= names
    return Measured(
        {name: value for part in parts for name, value in part.metrics.items()},
        [origin for part in parts for origin in part.origins],
        next((part.usage for part in parts if part.usage is not None), None),
        (*notes, *(note for part in parts for note in part.notes)),
    )


class _Read(NamedTuple):
    wanted: WantedReport
    origin: Origin
    found: Found


def wanted(text: str, *, folder: Path) -> list[WantedReport]:
    """Return the reports named by `FORMAT=FILE`, `FILE` or a file pattern in a folder.

    Raise `NotFoundError` if no file matches the pattern.
    """
    name, separator, rest = text.partition("=")
    named = bool(separator) and is_format(name)
    format_, file = (name, rest) if named else (None, text)
    if os.path.lexists(folder / file) or not any(mark in file for mark in _PATTERN_MARKS):
        return [WantedReport(file, folder / file, format_)]
    if not (files := sorted(glob.glob(file, root_dir=folder, recursive=True))):
        raise NotFoundError(f"{file}: no file matches", file=file)
    if len(files) > FILES_MAX:
        raise InvalidInputError(f"more than {FILES_MAX} files match", file=file)
    return [WantedReport(one, folder / one, format_, file) for one in files]


def stamps(reports: Iterable[WantedReport]) -> dict[Path, Stamp]:
    """Return a stamp for each existing file; the stamp changes when the file is written."""
    found: dict[Path, Stamp] = {}
    for report in reports:
        try:
            it = os.stat(report.path, follow_symlinks=False)
        except (OSError, ValueError):
            continue
        times = it.st_mtime_ns, it.st_ctime_ns
        found[report.path] = it.st_dev, it.st_ino, it.st_size, *times
    return found


def read_reports(
    reports: Sequence[WantedReport],
    *,
    folder: Path,
    before: Mapping[Path, Stamp] | None = None,
    failure: str | None = None,
    pointers: Mapping[str, str] | None = None,
    see: Callable[[Report], None] | None = None,
) -> Measured:
    """Return the figures from the reports; raise `NotFoundError` or `InvalidInputError`.

    `folder` is the folder in which the tools ran. `before` contains the stamps from before
    the run that should have written the reports: an unchanged report is rejected, unless it
    is an agent's output. If one report is rejected, none is used. `pointers` maps the names
    of custom metrics to JSON pointers. `see` is called with each report that is used.
    """
    if len(reports) > FILES_MAX:
        raise InvalidInputError(
            f"at most {FILES_MAX} reports can be read, not {len(reports)}"
        )
    _refuse_twice(reports)
    after = stamps(reports) if before else {}
    read = []
    for one in reports:
        report = open_report(one.path, file=one.file, folder=folder)
        name = one.format or format_of(report)
        if before and name != "agent" and after.get(one.path) == before.get(one.path):
            if failure is not None:
                raise report.bad(f"is unchanged after the run, which failed: {failure}")
            raise report.bad(
                "is unchanged after the run",
                hint="specify the file that the command writes, or omit the command",
            )
        if see is not None:
            see(report)
        is_pointed = name == parsers.FORMAT
        found = (
            parsers.read(report, pointers or {}) if is_pointed else read_as(name, report)
        )
        tool = None if found.tool is None else masking.mask(found.tool)[:TOOL_CHARS_MAX]
        names = (*found.counts, *_of_coverage(found.coverage), *found.own)
        read.append(_Read(one, Origin(one.pattern or one.file, name, tool, names), found))
    return _together(read)


def _refuse_twice(reports: Sequence[WantedReport]) -> None:
    seen: dict[str, str] = {}
    for report in reports:
        if (path := os.path.realpath(report.path)) in seen:
            raise InvalidInputError(f"is the same report as {seen[path]}", file=report.file)
        seen[path] = report.file


def _together(read: Sequence[_Read]) -> Measured:
    counts: dict[str, int] = {}
    for wanted_, _, found in read:
        for name, count in found.counts.items():
            counts[name] = counts.get(name, 0) + count
            if counts[name] > COUNT_MAX:
                raise InvalidInputError(
                    "exceeds the size limit together with the other reports",
                    file=wanted_.file,
                    field=name,
                )
    metrics = {**counts, **_of_coverage(_coverage(read)), **_own(read)}
    notes = tuple(f"{one.wanted.file}: {note}" for one in read for note in one.found.notes)
    usages = [one.found.usage for one in read if one.found.usage is not None]
    return Measured(metrics, _origins(read), known_sum(usages) if usages else None, notes)


def _own(read: Sequence[_Read]) -> dict[str, int | float]:
    """Return the custom metrics; raise an error if two reports contain the same metric."""
    owners: dict[str, str] = {}
    for wanted_, _, found in read:
        for name in found.own:
            if (other := owners.setdefault(name, wanted_.file)) != wanted_.file:
                raise InvalidInputError(
                    f"contains {name}, and so does {other}", file=wanted_.file, field=name
                )
    return {name: value for one in read for name, value in one.found.own.items()}


def _origins(read: Sequence[_Read]) -> list[Origin]:
    """Return the origins of the figures, grouped by pattern, format and tool."""
    alike = Counter(one.origin for one in read)
    replace = msgspec.structs.replace
    return [replace(origin, files=count) for origin, count in alike.items()]


def _of_coverage(coverage: Coverage | None) -> dict[str, int | float | str]:
    if coverage is None:
        return {}
    stated = {
        "coverage_percentage": coverage.percentage,
        "coverage_lines_covered": coverage.covered,
        "coverage_lines_total": coverage.total,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _coverage(read: Sequence[_Read]) -> Coverage | None:
    """Return the combined line coverage of all reports."""
    parts = [(one.wanted.file, one.found.coverage) for one in read if one.found.coverage]
    if len(parts) < 2:
        return parts[0][1] if parts else None
    covered = total = 0
    owners: dict[str, str] = {}
    for file, part in parts:
        if part.covered is None or part.total is None:
            other = next(name for name, _ in parts if name != file)
            raise InvalidInputError(
                f"contains a rate but no line counts, so it cannot be added to {other}",
                file=file,
            )
        for source in part.sources:
            if (other := owners.setdefault(source, file)) != file:
                raise InvalidInputError(
                    f"measures {source[:200]}, and so does {other}",
                    file=file,
                    hint="specify only one of them, or combine them with the tool that "
                    "wrote them",
                )
        covered, total = covered + part.covered, total + part.total
    return Coverage(covered, total, 100 * covered / total if total else None)


_PYTHON = [sys.executable, "-I"]
_WORKER = own_files.own_text(__name__, "lizard_worker.py")


class _Answer(msgspec.Struct):
    files: int
    lines: int
    functions: int
    complexity: int
    unread: int


def measure_sources(paths: Sequence[Path], **options: Unpack[RunOptions]) -> Measured:
    """Return the numbers of source files and code lines, and the mean complexity.

    The complexity is cyclomatic, averaged over functions; it is absent if there are no
    functions. Raise `NotFoundError` for a missing path, and `RefusedError` if lizard is not
    installed, fails or times out.
    """
    folder, seconds = options["folder"], options["timeout_seconds"]
    for path in paths:
        if not (folder / path).exists():
            raise NotFoundError(f"{path}: no such file or folder", file=str(path))
    named = ", ".join(map(str, paths))
    output, errors = Output(), Output()
    ended = run_kept(
        [*_PYTHON, "-c", _WORKER, *(str(folder / path) for path in paths)],
        output=output,
        errors=errors,
        **options,
    )
    if ended is not None and ended.timed_out:
        raise RefusedError(f"{named}: lizard did not finish within {seconds:g} s")
    if ended is not None and ended.exit == MISSING:
        raise extras.not_installed(
            "complexity", f"{named}: lizard, which measures source files, is not installed"
        )
    answer = _answer(output, errors, named)
    if not answer.files:
        raise InvalidInputError("contains no source file that lizard supports", file=named)
    metrics: dict[str, int | float | str] = {
        "file_count": answer.files,
        "loc_total": answer.lines,
    }
    if answer.functions:
        metrics["complexity_score"] = answer.complexity / answer.functions
    unread = (
        f"{named}: lizard could only partly read {answer.unread} of {answer.files} files"
    )
    return Measured(
        metrics,
        [Origin(named, "source", "lizard", tuple(metrics))],
        notes=(unread,) if answer.unread else (),
    )


def _answer(output: Output, errors: Output, named: str) -> _Answer:
    try:
        return msgspec.json.decode(output.text(), type=_Answer)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        said = errors.text().strip().rpartition("\n")[2]
        raise RefusedError(f"{named}: lizard failed: {said[:200]}") from error
