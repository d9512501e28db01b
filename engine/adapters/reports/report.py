"""A report as it lies on the disk, and what a reader finds in it."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from ...errors import InvalidInputError, NotFoundError
from ...judging.events import MeasuringRun, Usage
from ...log.stores.descriptors import held_open
from ...masking import mask
from ...sprint.gates.gate import GateResult
from ..processes.output import note

REPORT_BYTES_MAX = 64 * 1024 * 1024
VALUES_MAX = 2_000_000
"""How many elements, keys and values, or lines of coverage a report may hold."""
DEPTH_MAX = 64
COUNT_MAX = 10**12
"""No count is larger, and neither is a sum of counts."""

_COUNT = re.compile(r"[0-9]{1,16}", re.ASCII)
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Report(NamedTuple):
    """One file that a tool wrote."""

    file: str
    """Its name, as it was given."""
    content: bytes
    folder: Path
    """Where the tool ran, as far as one can know."""

    def bad(
        self,
        problem: str,
        *,
        line: int | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> InvalidInputError:
        """Return the error that says what is wrong with it, and where."""
        return InvalidInputError(problem, file=self.file, line=line, field=field, hint=hint)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return its lines, numbered from 1, without their ends."""
        if self.content.count(b"\n") >= VALUES_MAX:
            raise self.bad(f"holds more than {VALUES_MAX} lines")
        for number, line in enumerate(self.content.split(b"\n"), start=1):
            yield number, line.removesuffix(b"\r")

    def counted(self, text: str, field: str) -> int:
        """Return a count that stands in it as text."""
        if not _COUNT.fullmatch(text) or (number := int(text)) > COUNT_MAX:
            raise self.bad(f"{text[:40]!r} is not a count", field=field)
        return number

    def source(self, name: str, roots: Sequence[str] = ()) -> str:
        """Return a source file's name below the folder, or its whole one elsewhere.

        So two reports on the same file are seen to be that. A relative name belongs to
        the only root that the report names, and without one to the folder.
        """
        root = roots[0].strip() if len(roots) == 1 else ""
        whole = os.path.normpath(os.path.join(self.folder, root, name))
        return whole.removeprefix(f"{self.folder}{os.sep}")


class Coverage(NamedTuple):
    """Which part of the lines was run."""

    covered: int | None
    total: int | None
    percentage: float | None
    """As reported; None where nothing could be covered."""
    sources: frozenset[str] = frozenset()
    """The files it is about, as far as they are named."""


class Found(NamedTuple):
    """What a reader found in one report."""

    counts: Mapping[str, int] = {}
    """Metrics that add up over reports."""
    coverage: Coverage | None = None
    usage: Usage | None = None
    tool: str | None = None
    """What the report itself says wrote it."""
    notes: tuple[str, ...] = ()
    own: Mapping[str, int | float] = {}
    """Metrics of one's own."""


def lines_found(
    report: Report, covered: int, total: int, names: Iterable[str], *, field: str
) -> Found:
    """Return the coverage of the lines that a report counts in the named source files."""
    if covered > total or total > COUNT_MAX:
        raise report.bad("more lines are covered than there are", field=field)
    percentage = 100 * covered / total if total else None
    sources = frozenset(map(report.source, names))
    none = () if total else ("there were no lines to cover: no percentage",)
    return Found(coverage=Coverage(covered, total, percentage, sources), notes=none)


def open_report(path: Path, *, file: str, folder: Path) -> Report:
    """Return a report with its bytes; raise `NotFoundError` or `InvalidInputError`.

    Only a plain file is one: nothing is followed, waited for or unpacked.
    """
    try:
        content = _read(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}: there is no such file", file=file) from error
    except ValueError as error:
        raise InvalidInputError("is no name of a file", file=file) from error
    except OSError as error:
        raise InvalidInputError(f"cannot be read: {error.strerror}", file=file) from error
    report = Report(file, content.removeprefix(_BYTE_ORDER_MARK), folder)
    if not content:
        raise report.bad("is empty")
    if len(content) > REPORT_BYTES_MAX:
        raise report.bad(f"is longer than {REPORT_BYTES_MAX // 2**20} MiB")
    if content.startswith(_PACKED):
        raise report.bad("is compressed", hint="unpack it first")
    return report


def _read(path: Path) -> bytes:
    # Not to wait for the other end of a pipe, and not to follow a link out of the tree.
    if path.is_symlink():
        raise OSError(0, "it is a link; name the file it leads to")
    with held_open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a plain file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(REPORT_BYTES_MAX + 1)


HEAD_CHARS = 2_000
TAIL_CHARS = 4_000
"""So much is kept of the beginning and of the end of what a command printed."""
RUNS_MAX = 20
"""More commands of one measurement are not listed."""
REPORT_BYTES_KEPT_MAX = 1024 * 1024
"""A longer report is known by its digest alone."""
ALL_BYTES_KEPT_MAX = 8 * 1024 * 1024
"""So much is kept of all reports of one measurement."""
REPORTS_MAX = 100
"""More reports of one measurement are not listed."""


class SeenReport(NamedTuple):
    """A report that was read."""

    file: str
    size: int
    """How many bytes it had."""
    sha256: str
    content: bytes | None
    """None for what is too long to be kept."""


class SeenReports:
    """The reports of one measurement, in the order in which they were read."""

    def __init__(self) -> None:
        self.found: list[SeenReport] = []
        self._bytes = 0

    def see(self, report: Report) -> None:
        """Take notice of a report before it is understood."""
        if len(self.found) == REPORTS_MAX:
            return
        content, size = report.content, len(report.content)
        is_kept = size <= REPORT_BYTES_KEPT_MAX
        is_kept = is_kept and self._bytes + size <= ALL_BYTES_KEPT_MAX
        self._bytes += size if is_kept else 0
        digest = sha256(content).hexdigest()
        kept = content if is_kept else None
        self.found.append(SeenReport(report.file, size, digest, kept))


def run_as_kept(command: str, result: GateResult, *, masks: bool) -> MeasuringRun:
    """Return what is kept of a command that was run; what is cut is masked whole before."""
    text = mask(result.output) if masks else result.output
    left = len(text) - HEAD_CHARS - TAIL_CHARS
    if left > 0:
        cut = note(f"{left} characters left out")
        text = f"{text[:HEAD_CHARS]}\n{cut}\n{text[-TAIL_CHARS:]}"
    return MeasuringRun(
        mask(command) if masks else command,
        result.exit_code,
        result.timed_out,
        result.duration_ms,
        text,
        result.output_bytes,
        result.output_sha256,
    )
