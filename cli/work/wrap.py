"""The `sprintlog wrap` command: run a command unchanged, and record it as an iteration."""

from typing import Any

import click

from .. import typed
from ..wrapping.frames import WrapRequest
from ..wrapping.start import wrap as run


@typed.command("wrap", context_settings={"allow_interspersed_args": False})
@typed.option(
    "--sprint",
    "sprint_id",
    metavar="ID",
    help="The sprint; created if it does not exist. [SPRINTLOG_SPRINT]",
)
@typed.flag(
    "--snapshot",
    help="Save the files at the end, and before the very first run; before the first run "
    "of another sprint, use `sprintlog iteration snapshot`.",
)
@typed.option(
    "--measure",
    metavar="CMD",
    help="Run this afterwards, and record the metrics in its last line: `3/4` "
    "(passed/total), the summary of pytest, or a JSON object. Without these, record "
    "whether it exits with 0.",
)
@typed.flag(
    "--measure-build",
    help="Count the exit status of --measure as the build's even if figures are printed.",
)
@typed.list_option(
    "--report",
    "reports",
    metavar="[FORMAT=]FILE",
    help="Read metrics from a report of --measure, such as JUnit; it may then fail.",
)
@typed.flag("--wait", help="At a limit, wait until it has expired before exiting.")
@typed.flag("--state-files", help="Write PROGRESS.yaml into the work tree.")
@typed.flag("--no-mask", help="Do not mask secrets.")
@typed.argument("command", metavar="[--] COMMAND...", nargs=-1, type=click.UNPROCESSED)
def command(**given: Any) -> None:
    """Run a command unchanged and record it as an iteration.

    The command's streams, terminal, signals and exit code do not change, and the command
    runs even if recording fails. A missing log or sprint is created. The output of known
    agents is parsed: tokens, cost, model, session and tools. Inside `run` or another
    `wrap`, the data is added to the iteration in progress.

    To find the best run, measure something countable with --measure: by exit code alone,
    all runs that exit with 0 are equal. `sprintlog help look` explains how runs are
    compared.

    Examples: sprintlog wrap -- claude -p 'do the next task'

    sprintlog wrap --snapshot --measure ./test.sh -- ./iterate.sh

    sprintlog wrap --snapshot --measure 'pytest -q --junitxml=junit.xml' --report junit.xml
    -- ./iterate.sh
    """
    asked = WrapRequest(**given)
    if not asked.command:
        raise click.UsageError("missing command: `sprintlog wrap -- COMMAND`")
    if (asked.reports or asked.measure_build) and asked.measure is None:
        raise click.UsageError("--report and --measure-build require --measure")
    run(asked)
