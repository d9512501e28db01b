"""What is measured by us: `--report`, `--source`, and `--run`, `--build` before them."""

from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.judging.loop_rules import MeasureRules
from sprintlog.projections.workspace import Workspace

from .. import settings, typed
from ..context import Function, environment, here

if TYPE_CHECKING:
    from sprintlog.engine.service.work_tree.capturer import Capturer

TIMEOUT_SECONDS = 600.0


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
    options = typed.several(
        typed.option(
            "--report",
            "reports",
            multiple=True,
            metavar="[FORMAT=]FILE",
            help="Read metrics from a tool's report; a pattern matches several files.",
        ),
        typed.option(
            "--source",
            "sources",
            multiple=True,
            metavar="PATH",
            help="Measure files, lines and complexity of sources with lizard.",
        ),
        typed.option(
            "--run",
            "runs",
            multiple=True,
            metavar="CMD",
            help="Run this in the work tree first, to write the reports. Without --report, "
            "those at their usual places are read.",
        ),
        typed.option(
            "--build",
            "builds",
            multiple=True,
            metavar="CMD",
            help="Run this; exit code 0 means that the build succeeded. Its last line may "
            "be `3/4` (passed/total) or a JSON object of metrics.",
        ),
        typed.option(
            "--timeout",
            "timeout_seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=TIMEOUT_SECONDS,
            metavar="SECONDS",
            help=f"Timeout of each of these. [{TIMEOUT_SECONDS:g}]",
        ),
        typed.option(
            "--env",
            "pass_on",
            multiple=True,
            metavar="NAME",
            help="Pass another environment variable to them.",
        ),
        typed.option(
            "--measure",
            "by_file",
            is_flag=True,
            help="Measure according to [measure] in sprintlog.toml, if it is trusted.",
        ),
    )

    @wraps(function)
    def packed(*args: Any, **given: Any) -> Any:
        capturing = Capturing(**{name: given.pop(name) for name in Capturing._fields})
        if capturing.by_file:
            capturing = _from_file(capturing)
        return function(*args, capturing=capturing, **given)

    return options(packed)  # type: ignore[return-value]


def said_by_file(**keys: str) -> dict[str, Any]:
    """Return what [measure] in the work tree's file says, by the names of options."""
    keys |= {"reports": "reports", "sources": "sources"}
    said = {name: settings.setting(f"measure.{key}") for name, key in keys.items()}
    return {name: tuple(value) for name, value in said.items() if value is not None}


def _from_file(asked: Capturing) -> Capturing:
    """Return what is to be captured where what was not typed stands in the file."""
    found = said_by_file(runs="run", builds="build", pass_on="environment")
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


def capturer(
    workspace: Workspace, asked: Capturing, *, sprint_id: str, masks: bool
) -> "Capturer":
    """Return what captures that; names of files belong to the folder one is in."""
    # Imported here: no other recording command needs it.
    from sprintlog.engine.service.work_tree.capturer import Capturer, order_of

    wanted = MeasureRules(
        asked.runs, asked.builds, asked.reports, asked.sources, asked.timeout_seconds
    )
    return Capturer(
        workspace,
        order_of(wanted, workspace.sprint(sprint_id)),
        folder=here(),
        environment=environment(),
        pass_on=asked.pass_on,
        sprint_id=sprint_id,
        masks=masks,
    )
