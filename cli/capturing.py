"""What is measured by us: `--report`, `--source`, and `--run`, `--build` before them."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click
import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.masking import mask
from sprintlog.projections.workspace import Workspace

from .output import warn
from .wiring import environment, here

Function = TypeVar("Function", bound=Callable[..., Any])

TIMEOUT_SECONDS = 600.0


class Capturing(NamedTuple):
    """What is to be captured, as it was typed."""

    reports: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[str, ...]
    builds: tuple[str, ...]
    timeout_seconds: float
    pass_on: tuple[str, ...]

    def __bool__(self) -> bool:
        """Tell whether anything is to be captured."""
        return bool(self.reports or self.sources or self.runs or self.builds)


def with_capturing(function: Function) -> Function:
    """Add the options of what is read, counted and run; they arrive as `capturing`."""
    options = [
        click.option(
            "--report",
            "reports",
            multiple=True,
            metavar="[FORMAT=]FILE",
            help="Read metrics from what a tool wrote; a pattern names many files.",
        ),
        click.option(
            "--source",
            "sources",
            multiple=True,
            metavar="PATH",
            help="Count the files, lines and complexity of sources, with lizard.",
        ),
        click.option(
            "--run",
            "runs",
            multiple=True,
            metavar="CMD",
            help="Run this in the work tree first; the reports must be written by it.",
        ),
        click.option(
            "--build",
            "builds",
            multiple=True,
            metavar="CMD",
            help="Run this; the build is a success when it ends with 0.",
        ),
        click.option(
            "--timeout",
            "timeout_seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=TIMEOUT_SECONDS,
            metavar="SECONDS",
            help=f"How long each of these may take. [{TIMEOUT_SECONDS:g}]",
        ),
        click.option(
            "--env",
            "pass_on",
            multiple=True,
            metavar="NAME",
            help="Pass on one more variable of the environment to them.",
        ),
    ]

    @wraps(function)
    def packed(*args: Any, **given: Any) -> Any:
        capturing = Capturing(**{name: given.pop(name) for name in Capturing._fields})
        if capturing.runs and not (capturing.reports or capturing.sources):
            raise click.UsageError("--run goes with --report, for what it writes")
        return function(*args, capturing=capturing, **given)

    for option in reversed(options):
        packed = option(packed)
    return packed  # type: ignore[return-value]


def captured(
    workspace: Workspace,
    asked: Capturing,
    wish: Mapping[str, Any],
    *,
    sprint_id: str,
    masks: bool,
) -> dict[str, Any]:
    """Return a wish to measure with what was captured; say what is worth it.

    A metric that is both given and found must be the same.
    """
    # Imported here: no other recording command needs it.
    from sprintlog.engine.outside.gate_script import environment_of
    from sprintlog.engine.outside.reports.capturing import Asked, capture

    measured = capture(
        Asked(
            asked.reports,
            asked.sources,
            asked.runs,
            asked.builds,
            asked.timeout_seconds,
        ),
        folder=here(),
        root=workspace.location.root,
        environment=environment_of(environment(), extra=asked.pass_on, SPRINT_ID=sprint_id),
    )
    metrics = dict(measured.metrics)
    for name, value in wish["metrics"].items():
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
    found = {**wish, "metrics": metrics, "origins": origins, "usage": measured.usage}
    return {name: value for name, value in found.items() if value is not None}
