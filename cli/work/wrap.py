"""`sprintlog wrap`: run a command as ever, and record it as an iteration."""

import click

from .. import typed
from ..wrapping.frames import WrapRequest
from ..wrapping.start import wrap as run


@typed.command(
    "wrap",
    context_settings={"allow_interspersed_args": False},
    epilog="Examples: sprintlog wrap -- claude -p 'do the next task'\n\n"
    "sprintlog wrap --snapshot --measure ./test.sh -- ./iterate.sh\n\n"
    "sprintlog wrap --snapshot --measure 'pytest -q --junitxml=junit.xml' "
    "--report junit.xml -- ./iterate.sh",
)
@typed.option(
    "--sprint",
    "sprint_id",
    metavar="ID",
    help="The sprint; created if it does not exist. [SPRINTLOG_SPRINT]",
)
@typed.option(
    "--snapshot",
    is_flag=True,
    help="Save the files at its end, and before the very first run; before the first run "
    "of another sprint, use `sprintlog iteration snapshot`.",
)
@typed.option(
    "--measure",
    metavar="CMD",
    help="Run this afterwards, and record whether it exits with 0, and the metrics in its "
    "last line: `3/4` (passed/total), or a JSON object.",
)
@typed.option(
    "--report",
    "reports",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Read metrics from a report of --measure, such as JUnit; it may fail then.",
)
@typed.option("--state-files", is_flag=True, help="Write PROGRESS.yaml into the work tree.")
@typed.option("--no-mask", is_flag=True, help="Record secrets unmasked.")
@click.argument("wrapped", metavar="[--] COMMAND...", nargs=-1, type=click.UNPROCESSED)
def command(
    sprint_id: str | None,
    snapshot: bool,
    measure: str | None,
    reports: tuple[str, ...],
    state_files: bool,
    no_mask: bool,
    wrapped: tuple[str, ...],
) -> None:
    """Run a command unchanged and record it as an iteration.

    Streams, terminal, signals and exit code do not change, and the command runs even if
    recording fails. A missing log or sprint is created. The output of known agents is
    parsed: tokens, cost, model, session, tools. Inside `run` or another `wrap` it adds to
    the iteration in progress.

    To find the best run, let --measure count: with an exit code alone, all runs that exit
    with 0 are equal. `sprintlog help judging` explains how runs are compared.
    """
    if not wrapped:
        raise click.UsageError("say which command: `sprintlog wrap -- COMMAND`")
    if reports and measure is None:
        raise click.UsageError("--report goes with --measure, which writes it")
    run(WrapRequest(wrapped, sprint_id, snapshot, measure, reports, state_files, no_mask))
