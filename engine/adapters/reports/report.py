"""Report files, the metrics found in them, and the reports stored as evidence."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sprintlog.errors import InvalidInputError, NotFoundError
from sprintlog.usage import Usage

REPORT_BYTES_MAX = 64 * 1024 * 1024
VALUES_MAX = 2_000_000
"""The maximum number of elements, keys and values, or coverage lines in a report."""
DEPTH_MAX = 64
COUNT_MAX = 10**12
"""The maximum value of a count or a sum of counts."""

_COUNT = re.compile(r"[0-9]{1,16}", re.ASCII)
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
REPORT_BYTES_KEPT_MAX = 1024 * 1024
"""The maximum size of a report that is kept; for a larger one, only the digest is kept."""
ALL_BYTES_KEPT_MAX = 8 * 1024 * 1024
"""The maximum total size of the reports kept for one measurement."""
REPORTS_MAX = 100
"""The maximum number of reports listed for one measurement."""


class Coverage(NamedTuple):
    """The numbers of covered and total lines, and the percentage of covered lines."""

    covered: int | None
    total: int | None
    percentage: float | None
    """The percentage as reported; None if there were no lines to cover."""
    sources: frozenset[str] = frozenset()
    """The source files, if the report names them."""


class Found(NamedTuple):
    """The metrics that a reader found in one report."""

    counts: Mapping[str, int] = {}
    """The metrics that are added up over reports."""
    coverage: Coverage | None = None
    usage: Usage | None = None
    tool: str | None = None
    """The tool that wrote the report, if the report names it."""
    notes: tuple[str, ...] = ()
    own: Mapping[str, int | float] = {}
    """The custom metrics."""


class SeenReport(NamedTuple):
    """A report that was read."""

    file: str
    size: int
    """The size in bytes."""
    sha256: str
    content: bytes | None
    """The content; None if it is too long to be kept."""


class Report(NamedTuple):
    """A report file written by a tool."""

    file: str
    """The file's name, as passed by the caller."""
    content: bytes
    folder: Path
    """The folder in which the tool probably ran."""

    def bad(
        self,
        problem: str,
        *,
        line: int | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> InvalidInputError:
        """Return the error for a problem, with its location in the report."""
        return InvalidInputError(problem, file=self.file, line=line, field=field, hint=hint)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the report's lines without line endings, numbered from 1."""
        if self.content.count(b"\n") >= VALUES_MAX:
            raise self.bad(f"contains more than {VALUES_MAX} lines")
        for number, line in enumerate(self.content.split(b"\n"), start=1):
            yield number, line.removesuffix(b"\r")

    def counted(self, text: str, field: str) -> int:
        """Return a count that the report contains as text."""
        if not _COUNT.fullmatch(text) or (number := int(text)) > COUNT_MAX:
            raise self.bad(f"{text[:40]!r} is not a count", field=field)
        return number

    def source(self, name: str, roots: Sequence[str] = ()) -> str:
        """Return a source file's path relative to the folder, or its absolute path.

        The result is the same for all reports about a file. A relative name is resolved
        against the report's root if the report names exactly one root, otherwise against
        the folder.
        """
        root = roots[0].strip() if len(roots) == 1 else ""
        whole = os.path.normpath(os.path.join(self.folder, root, name))
        return whole.removeprefix(f"{self.folder}{os.sep}")


def lines_found(
    report: Report,
    covered: int,
    total: int,
    names: Iterable[str],
    field: str,
    percentage: float | None = None,
) -> Found:
    """Return the line coverage for the named source files, as counted in a report.

    By default, the percentage is computed; if there are no lines, it is absent.
    """
    if covered > total or total > COUNT_MAX:
        raise report.bad("more lines are covered than exist", field=field)
    computed = 100 * covered / total if total else None
    percentage = percentage if total and percentage is not None else computed
    sources = frozenset(map(report.source, names))
    none = () if total else ("there were no lines to cover: no percentage",)
    return Found(coverage=Coverage(covered, total, percentage, sources), notes=none)


def open_report(path: Path, *, file: str, folder: Path) -> Report:
    """Return a report with its contents; raise `NotFoundError` or `InvalidInputError`.

    The file must be a regular file: links, pipes and compressed files are rejected.
    """
    try:
        content = _read(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"{file}: no such file", file=file) from error
    except ValueError as error:
        raise InvalidInputError("is not a valid file name", file=file) from error
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
    # Do not wait for the other end of a pipe or follow a link out of the tree.
    if path.is_symlink():
        raise OSError(0, "it is a link; specify the file that it points to")
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(REPORT_BYTES_MAX + 1)
    finally:
        os.close(descriptor)


class SeenReports:
    """The reports read for one measurement, in the order in which they were read."""

    def __init__(self) -> None:
        self.found: list[SeenReport] = []
        self._bytes = 0

    def see(self, report: Report) -> None:
        """Add a report before it is parsed."""
        if len(self.found) == REPORTS_MAX:
            return
        content, size = report.content, len(report.content)
        is_kept = size <= REPORT_BYTES_KEPT_MAX
        is_kept = is_kept and self._bytes + size <= ALL_BYTES_KEPT_MAX
        self._bytes += size if is_kept else 0
        digest = sha256(content).hexdigest()
        kept = content if is_kept else None
        self.found.append(SeenReport(report.file, size, digest, kept))
