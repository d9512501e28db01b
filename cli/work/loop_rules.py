"""What `run` is told of judging: recorded as rules before the first iteration."""

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.iterations.loop_rules import LoopRules
from sprintlog.engine.service.loop.driver import Means
from sprintlog.engine.service.work_tree.snapshot import store_of
from sprintlog.engine.sprint.iterations.follow_up import loop_rules
from sprintlog.projections.workspace import Workspace

from .. import settings
from ..iterations import loop_rules as options


def with_rules(
    workspace: Workspace, sprint_id: str, judged: options.JudgingOptions, means: Means
) -> Means:
    """Put what was typed in force; return means that know what is to be measured.

    Raise `RefusedError` for what cannot be done, before any agent was asked.
    """
    measure = options.measure_rules(judged, root=workspace.location.root)
    if measure is None and not judged.measures_not and settings.setting("agent.measure"):
        measure = options.measure_rules(options.measured_by_file(), root=None)
        if measure is None:
            raise RefusedError(
                f"agent.measure: {settings.NAME} says nothing of what to measure",
                hint="write `[measure]` with `run` and `reports` into it",
            )
    change = options.change_of(judged, measure)
    loop = loop_rules(workspace.sprint(sprint_id))
    if change is not None and change.loop is not None:
        loop = change.loop.of(loop)
    _check(judged, loop)
    if loop.keeps_files:
        # Without git it ends here and not in the night.
        _ = store_of(workspace).git.program
    if change is not None:
        workspace.handle(change, sprint_id=sprint_id, actor=means.actor, masks=means.masks)
    return means._replace(measure=measure)


def _check(judged: options.JudgingOptions, loop: LoopRules) -> None:
    """Raise `RefusedError` for what needs measurements that nobody asks for."""
    if loop.measure is None and (judged.on_regression or judged.selects):
        named = "--on-regression" if judged.on_regression else "--select"
        raise RefusedError(
            f"{named} goes with --measure: nothing is measured",
            hint="`sprintlog run --measure CMD --report FILE -- COMMAND`",
        )
