"""Options shared by commands about iterations: metrics, captures and agent output."""

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.judging.metrics import check_metrics
from sprintlog.engine.sprint.state.words import AGENTS

from .. import settings, typed
from ..context import Function, packed

Value = TypeVar("Value")


with_metrics = typed.several(
    typed.list_option(
        "--metric",
        "given_metrics",
        metavar="NAME=VALUE",
        help="A metric, such as tests_passed=9; can be repeated.",
    ),
    typed.option(
        "--metrics",
        "metrics_file",
        type=click.Path(path_type=Path, allow_dash=True),
        help="A file with metrics by name, or with iteration_metrics, as JSON or YAML; "
        "- for standard input.",
    ),
)
"""The options that specify metrics."""
with_score = typed.option(
    "--score",
    type=float,
    metavar="NUMBER",
    help="An external score, 0 to 1, instead of the computed one.",
)


def read_metrics(given: tuple[str, ...], file: Path | None) -> dict[str, Any]:
    """Return metrics by name; directly given values take precedence over the file's."""
    metrics: dict[str, Any] = {}
    if file is not None:
        # Imported here: pydantic is slow to start.
        from ..intake.files import naming
        from ..intake.metrics import read_metrics_file

        metrics = read_metrics_file(file)
        if not given:
            with naming(str(file)):
                # The current rules declare the custom metrics, which are checked later.
                check_metrics(metrics, [*metrics.get("own", ())])
        metrics |= metrics.pop("own", {})
    return {**metrics, **read_pairs("metric", given, number_or_word)}


def read_pairs(
    option: str, given: tuple[str, ...], read: Callable[[str], Value]
) -> dict[str, Value]:
    """Return values by name; raise `UsageError` if a name is given twice."""
    found: dict[str, Value] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in found:
            why = "is given twice" if name in found else "must be NAME=VALUE"
            raise click.UsageError(f"--{option} {pair[:60]!r}: {why}")
        found[name] = read(value)
    return found


def number_or_word(text: str) -> int | float | str:
    """Return the number that the text represents, or else the text itself."""
    for kind in (int, float):
        try:
            return kind(text) if text.isascii() and "_" not in text else text
        except ValueError:
            continue
    return text


TIMEOUT_SECONDS = 600.0


class Capturing(NamedTuple):
    """The options for reports, sources and measuring commands."""

    reports: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[str, ...]
    builds: tuple[str, ...]
    timeout_seconds: float
    pass_on: tuple[str, ...]
    by_file: bool = False
    """Whether the settings file provides the values of omitted options."""

    def __bool__(self) -> bool:
        """Return whether there is anything to capture."""
        return bool(
            self.by_file or self.reports or self.sources or self.runs or self.builds
        )


def with_capturing(function: Function) -> Function:
    """Add the capture options, passed as `capturing`."""
    options = typed.several(
        typed.list_option(
            "--report",
            "reports",
            metavar="[FORMAT=]FILE",
            help="Read metrics from a tool's report; a pattern can match several files.",
        ),
        typed.list_option(
            "--source",
            "sources",
            metavar="PATH",
            help="Measure files, lines and complexity of sources with lizard.",
        ),
        typed.list_option(
            "--run",
            "runs",
            metavar="CMD",
            help="Run this in the work tree first, to write the reports. Without --report, "
            "reports at their usual places are read.",
        ),
        typed.list_option(
            "--build",
            "builds",
            metavar="CMD",
            help="Run this; exit code 0 means that the build succeeded. Its last line may "
            "be `3/4` (passed/total) or a JSON object of metrics.",
        ),
        typed.seconds_option(
            "--timeout",
            "timeout_seconds",
            takes_zero=False,
            default=TIMEOUT_SECONDS,
            help=f"Timeout of each of these commands. [{TIMEOUT_SECONDS:g}]",
        ),
        typed.list_option(
            "--env",
            "pass_on",
            metavar="NAME",
            help="Pass another environment variable to the commands.",
        ),
        typed.flag(
            "--measure",
            "by_file",
            help="Measure according to [measure] in sprintlog.toml, if it is trusted.",
        ),
    )

    return options(packed(_capturing, Capturing._fields, "capturing")(function))


def _capturing(**given: Any) -> Capturing:
    capturing = Capturing(**given)
    return _from_file(capturing) if capturing.by_file else capturing


def said_by_file(**keys: str) -> dict[str, Any]:
    """Return the values in the settings file's [measure] table by option name."""
    keys |= {"reports": "reports", "sources": "sources"}
    said = {name: settings.setting(f"measure.{key}") for name, key in keys.items()}
    return {name: tuple(value) for name, value in said.items() if value is not None}


def _from_file(asked: Capturing) -> Capturing:
    """Return the options; omitted options have the settings file's values."""
    found = said_by_file(runs="run", builds="build", pass_on="environment")
    if not (found.keys() - {"pass_on"}):
        raise InvalidInputError(
            f"--measure: {settings.NAME} has no [measure]",
            hint="add `[measure]` with `run` and `reports` to the file",
        )
    seconds = settings.setting("measure.timeout")
    if seconds is not None and asked.timeout_seconds == TIMEOUT_SECONDS:
        asked = asked._replace(timeout_seconds=seconds)
    not_typed = {name: x for name, x in found.items() if not getattr(asked, name)}
    return asked._replace(**not_typed)


with_params = typed.list_option(
    "--param",
    "params",
    metavar="NAME=VALUE",
    help="A parameter, such as temperature=0.2; can be repeated.",
)


def read_params(given: tuple[str, ...]) -> dict[str, str]:
    """Return parameters by name; raise `UsageError` if a name is given twice."""
    return read_pairs("param", given, str)


# Modules that start processes are imported in the commands that use them.
FILE_MEBIBYTES_MAX = 64


with_snapshot_options = typed.several(
    typed.list_option(
        "--include-ignored",
        "patterns",
        setting="snapshot.include-ignored",
        metavar="PATTERN",
        help="Include ignored files that match this path; *, ? and ** are allowed.",
    ),
    typed.option(
        "--file-max",
        type=click.IntRange(1),
        default=FILE_MEBIBYTES_MAX,
        setting="snapshot.file-max",
        metavar="MIB",
        help=f"Skip files larger than MIB mebibytes. [{FILE_MEBIBYTES_MAX}]",
    ),
)
"""The options that determine the content of a snapshot."""


with_writing = typed.flag(
    "--write", "is_written", help="Also write metrics and a report to .aiwg/ralph/LOOP/."
)


STANDARD_INPUT = "-"
PIECE_BYTES = 1024 * 1024


class AgentName(typed.Choice):
    """An agent whose output sprintlog or an extension decodes."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name; raise `UnknownWordError` for an unknown agent."""
        if value not in self.choices and is_extension(value):
            from sprintlog.engine.extensions import installed

            if any(one.name == value for one in installed("agent")):
                return str(value)
        return super().convert(value, param, ctx)


def is_extension(name: object) -> bool:
    """Return whether the agent with this name may be supported by an extension."""
    return isinstance(name, str) and name not in AGENTS and "-" in name


with_output = typed.several(
    typed.option(
        "--from",
        "source",
        metavar="FILE",
        help="The agent's output or transcript; - for standard input.",
    ),
    typed.option(
        "--agent", type=AgentName(AGENTS), help="The agent. [detected from the output]"
    ),
)
"""The options that name an agent's output, passed as `source` and `agent`."""


def pass_over(source: str | None, **given: Any) -> None:
    """Read standard input to its end, to prevent a broken pipe in the writing process."""
    if source == STANDARD_INPUT:
        for _ in pieces(source):
            pass


def source_name(source: str) -> str:
    """Return a source's name for use in messages."""
    return "standard input" if source == STANDARD_INPUT else source


def pieces(source: str) -> Iterator[bytes]:
    """Yield the bytes of a source; raise `InvalidInputError` if it cannot be read."""
    is_file = source != STANDARD_INPUT
    try:
        with open(source, "rb", buffering=0) if is_file else nullcontext() as opened:
            yield from iter(partial((opened or sys.stdin.buffer).read, PIECE_BYTES), b"")
    except FileNotFoundError as error:
        raise NotFoundError(f"{source}: there is no such file", file=source) from error
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "holds a character 0"
        raise InvalidInputError(
            f"cannot be read: {said}", file=source_name(source)
        ) from error
