"""`sprintlog phase inject`: put phases into a plan that is carried out."""

from typing import Any

from sprintlog.engine.sprint.plan.injection import InjectPhases

from .. import typed
from .injection import inject, with_injection, with_workflow


@typed.command(
    "inject",
    epilog="Examples: sprintlog phase inject --prompt 'Name the user in the log'\n\n"
    "sprintlog phase inject --id hotfix --prompt-file fix.md --position before:review\n\n"
    "sprintlog phase inject --workflow bugfix --prefix fix-12 --position end-of-workflow",
)
@with_injection(
    typed.option("--break", "breaks", is_flag=True, help="Pause the sprint after it."),
    with_workflow,
)
def command(**given: Any) -> None:
    """Insert phases into the plan of a running sprint; the pointer does not move.

    The default position is directly after the current work and earlier injections there.
    --json also prints the `addresses` of the new phases. A file contains `phases` as in a
    plan, simple or with steps. A file or workflow is injected as a whole, or not at all.
    """
    inject("phase inject", given, InjectPhases, key="phases")
