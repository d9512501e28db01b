"""What a measurement stands on, as far as it is kept: what was run, and what was read."""

from hashlib import sha256
from typing import NamedTuple

from ...judging.events import MeasuringRun
from ...masking import mask
from ...sprint.gates.gate import GateResult
from ..processes.output import note
from .report import Report

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
