"""Parts of the events and of the tracker: evidence, and the best iteration."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fractions import Fraction


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """The source of measured metrics."""

    name: str
    """The source: a report, a pattern of reports, measured sources or a command."""
    format: str
    """The format of the report; `build`, `last-line` or `source` for other origins."""
    tool: str | None = None
    """The tool that wrote the report, if the report states it."""
    metrics: tuple[str, ...] = ()
    """The names of the metrics from this origin."""
    files: int = 1
    """The number of reports that match the pattern."""


BY_AGENT = Origin("agent", "agent")
"""The origin of a measurement that an agent recorded, which proves nothing."""


class MeasuringRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command that was run as part of a measurement."""

    command: str
    """The shell command as given."""
    exit_code: int
    """The exit code; 128 plus the signal's number if a signal ended the command."""
    timed_out: bool = False
    """Whether the command was ended at its time limit."""
    duration_ms: int | None = None
    output: str = ""
    """The output; only its head and tail if it is long."""
    output_bytes: int | None = None
    """The size of the full output in bytes."""
    output_sha256: str | None = None
    """The SHA-256 of the full output, in hexadecimal."""


class KeptReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """A report on which a measurement is based."""

    file: str
    """The name of the report, as given."""
    bytes: int
    """The size in bytes."""
    sha256: str
    """The SHA-256 of the report, in hexadecimal."""
    kept: str | None = None
    """The name of the masked copy in the log's `reports` folder; null if too long."""


class ChangedInstrument(msgspec.Struct, frozen=True, omit_defaults=True):
    """A changed file that decides on measurements, such as a test file, with its counts."""

    path: str
    """The path from the work tree's root."""
    removed: int = 0
    """The number of tests removed."""
    changed: int = 0
    """The number of tests changed."""
    skips: int = 0
    """The number of marks added that skip tests."""
    assertions: int = 0
    """The number of assertion lines removed."""
    keys: int = 0
    """The number of configuration keys changed."""
    lines: int = 0
    """The number of other lines changed."""

    @property
    def words(self) -> str:
        """Return the path with its counts."""
        said = []
        for name, (noun, verb) in _COUNTS.items():
            if count := getattr(self, name):
                said.append(f"{count} {noun}{'' if count == 1 else 's'} {verb}")
        return f"{self.path} ({', '.join(said)})"


_COUNTS = {
    "removed": ("test", "removed"),
    "changed": ("test", "changed"),
    "skips": ("skip mark", "added"),
    "assertions": ("assertion line", "removed"),
    "keys": ("configuration key", "changed"),
    "lines": ("other line", "changed"),
}


class Best(msgspec.Struct, frozen=True, array_like=True):
    """The best iteration so far."""

    number: int
    score: str
    """The exact score, as a fraction."""
    components: tuple[str, ...]
    """The names of the components of the score."""
    is_given: bool = False
    """Whether the score came from another source; such a score is compared unchanged."""
    version: int = 0
    """The version at which the iteration was measured."""
    parts: tuple[tuple[str, str, str, str], ...] = ()
    """With custom metrics: the dimension, weight, name and exact points of each component.
    Later rules may omit some of the components."""

    @property
    def value(self) -> "Fraction":
        """Return the exact score."""
        from fractions import Fraction

        return Fraction(self.score)


class Accepted(msgspec.Struct, frozen=True, array_like=True):
    """The acceptance of an iteration's tests and measure."""

    number: int
    measured_at: int
    """The version at which the iteration was measured."""
    version: int
