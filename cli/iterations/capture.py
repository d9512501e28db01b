"""What is measured by us: `--report`, `--source`, and `--run`, `--build` before them."""

from functools import wraps
from typing import Any, NamedTuple

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError, SprintlogError
from sprintlog.engine.masking import mask
from sprintlog.engine.sprint.iterations.measurement import (
    CaptureBaseline,
    FailMeasurement,
    Measuring,
)
from sprintlog.projections.workspace import Workspace

from .. import settings, typed
from ..context import Function, environment, here
from ..output import warn

TIMEOUT_SECONDS = 600.0
OUTPUT_CHARS_MAX = 4000
"""How much of the end of an output is kept of a measurement that failed."""


class Capturing(NamedTuple):
    """What is to be captured, as it was typed."""

    reports: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[str, ...]
    builds: tuple[str, ...]
    timeout_seconds: float
    pass_on: tuple[str, ...]
    by_file: bool = False
    """Whether the work tree's file says what is not typed."""

    def __bool__(self) -> bool:
        """Tell whether anything is to be captured."""
        return bool(
            self.by_file or self.reports or self.sources or self.runs or self.builds
        )


def with_capturing(function: Function) -> Function:
    """Add the options of what is read, counted and run; they arrive as `capturing`."""
    options = [
        typed.option(
            "--report",
            "reports",
            multiple=True,
            metavar="[FORMAT=]FILE",
            help="Read metrics from what a tool wrote; a pattern names many files.",
        ),
        typed.option(
            "--source",
            "sources",
            multiple=True,
            metavar="PATH",
            help="Count the files, lines and complexity of sources, with lizard.",
        ),
        typed.option(
            "--run",
            "runs",
            multiple=True,
            metavar="CMD",
            help="Run this in the work tree first; the reports must be written by it.",
        ),
        typed.option(
            "--build",
            "builds",
            multiple=True,
            metavar="CMD",
            help="Run this; the build is a success when it ends with 0.",
        ),
        typed.option(
            "--timeout",
            "timeout_seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=TIMEOUT_SECONDS,
            metavar="SECONDS",
            help=f"How long each of these may take. [{TIMEOUT_SECONDS:g}]",
        ),
        typed.option(
            "--env",
            "pass_on",
            multiple=True,
            metavar="NAME",
            help="Pass on one more variable of the environment to them.",
        ),
        typed.option(
            "--measure",
            "by_file",
            is_flag=True,
            help="Run and read what [measure] in sprintlog.toml says, once it is trusted.",
        ),
    ]

    @wraps(function)
    def packed(*args: Any, **given: Any) -> Any:
        capturing = Capturing(**{name: given.pop(name) for name in Capturing._fields})
        if capturing.by_file:
            capturing = _from_file(capturing)
        if capturing.runs and not (capturing.reports or capturing.sources):
            raise click.UsageError("--run goes with --report, for what it writes")
        return function(*args, capturing=capturing, **given)

    for option in reversed(options):
        packed = option(packed)
    return packed  # type: ignore[return-value]


def _from_file(asked: Capturing) -> Capturing:
    """Return what is to be captured where what was not typed stands in the file."""
    told = {
        "runs": settings.setting("measure.run"),
        "builds": settings.setting("measure.build"),
        "reports": settings.setting("measure.reports"),
        "sources": settings.setting("measure.sources"),
        "pass_on": settings.setting("measure.environment"),
    }
    found: dict[str, Any]
    found = {name: tuple(said) for name, said in told.items() if said is not None}
    if not (found.keys() - {"pass_on"}):
        raise InvalidInputError(
            f"--measure: {settings.NAME} says nothing of it",
            hint="write `[measure]` with `run` and `reports` into it",
        )
    seconds = settings.setting("measure.timeout")
    if seconds is not None and asked.timeout_seconds == TIMEOUT_SECONDS:
        asked = asked._replace(timeout_seconds=seconds)
    not_typed = {name: x for name, x in found.items() if not getattr(asked, name)}
    return asked._replace(**not_typed)


class Capturer:
    """Captures what was asked for, and tells what became of it when that fails."""

    def __init__(self, workspace: Workspace, asked: Capturing, *, sprint_id: str) -> None:
        # Imported here: no other recording command needs it.
        from sprintlog.engine.adapters.processes.gate_script import environment_of
        from sprintlog.engine.adapters.reports.capture import Capture, MeasurementOrder

        extra = asked.pass_on
        self._capture = Capture(
            MeasurementOrder(
                asked.reports,
                asked.sources,
                asked.runs,
                asked.builds,
                asked.timeout_seconds,
            ),
            folder=here(),
            root=workspace.location.root,
            environment=environment_of(environment(), extra=extra, SPRINT_ID=sprint_id),
        )

    def add_to(self, command: Measuring, *, masks: bool) -> Measuring:
        """Return a command to measure with what was captured; say what is worth it.

        A metric that is both given and found must be the same.
        """
        measured = self._capture.measure()
        metrics = dict(measured.metrics)
        for name, value in command.metrics.items():
            if metrics.setdefault(name, value) != value:
                source = next(one.name for one in measured.origins if name in one.metrics)
                raise InvalidInputError(
                    f"{value} is given, and {source} says {metrics[name]}",
                    field=name,
                    hint="leave one of them out",
                )
        for note in measured.notes:
            warn(note)
        origins = tuple(
            msgspec.structs.replace(one, name=mask(one.name)) if masks else one
            for one in measured.origins
        )
        found = msgspec.structs.replace(command, metrics=metrics, origins=origins)
        # Nobody was at work before the first iteration.
        if measured.usage is None or isinstance(found, CaptureBaseline):
            return found
        return msgspec.structs.replace(found, usage=measured.usage)

    def failure(
        self, error: SprintlogError, number: int | None, *, masks: bool
    ) -> FailMeasurement:
        """Return the command that says why nothing could be measured, and what was run."""
        culprit = self._capture.culprit
        said: dict[str, Any] = {"error": error.message, "number": number}
        if culprit is not None:
            result = culprit.result
            said |= {
                "command": culprit.command,
                "exit_code": result.exit_code,
                "timed_out": result.timed_out,
                "output_sha256": result.output_sha256,
            }
            # What is cut out of it is masked whole before.
            output = mask(result.output) if masks else result.output
            said["output"] = output[-OUTPUT_CHARS_MAX:]
        return FailMeasurement(**said)
