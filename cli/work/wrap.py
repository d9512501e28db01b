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
    help="Which sprint; one that is not there is made. [SPRINTLOG_SPRINT]",
)
@typed.option(
    "--snapshot",
    is_flag=True,
    help="Keep the files as they are at its end, and before the first run of all; before "
    "that of another sprint `sprintlog iteration snapshot` does.",
)
@typed.option(
    "--measure",
    metavar="CMD",
    help="Run this after it, and record whether it ends with 0, and what its last line "
    "says: `3/4` (passed of all), or a JSON object of metrics.",
)
@typed.option(
    "--report",
    "reports",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Read metrics from what --measure wrote, like JUnit; it may fail then.",
)
@typed.option("--state-files", is_flag=True, help="Write PROGRESS.yaml into the work tree.")
@typed.option("--no-mask", is_flag=True, help="Record secrets as they are.")
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

    Its streams, its terminal, its signals and its exit code are untouched, and nothing
    that goes wrong with the record stops it. Without a log or a sprint one is made. What
    known agents print is understood: tokens, cost, model, session, tools. Within `run`
    or another `wrap` it adds to the iteration that is under way.

    To find the best run, let --measure count: with an exit code alone all runs that end
    with 0 are equal. `sprintlog help judging` says how runs are compared.
    """
    if not wrapped:
        raise click.UsageError("say which command: `sprintlog wrap -- COMMAND`")
    if reports and measure is None:
        raise click.UsageError("--report goes with --measure, which writes it")
    run(WrapRequest(wrapped, sprint_id, snapshot, measure, reports, state_files, no_mask))
