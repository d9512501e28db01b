"""Capture of an iteration's measurements, as specified by options or the stored rules."""

from typing import Any

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.loop_rules import MeasureRules
from sprintlog.engine.service.work_tree.capturer import Capturer, measure_by_rules, order_of
from sprintlog.engine.sprint.iterations.follow_up import loop_rules, to_measure
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.workspace import Workspace

from .. import context, output, record, settings
from .options import Capturing
from .snapshots import tell_kept


def measure_due(options: record.Options) -> None:
    """Measure the due iteration with the stored rules; record the result or the failure."""
    with record.recording("iteration measure", options) as run:
        workspace = run.workspace
        run.finish_restores()
        sprint = workspace.sprint(run.sprint_id)
        rules = loop_rules(sprint)
        if rules.measure is None:
            raise RefusedError(
                f"sprint {sprint.id} has no measurement rule",
                hint="use `sprintlog iteration rules set --measure CMD` to set one",
            )
        number = to_measure(sprint)
        if number is None:
            record.answer(run.handle_with(lambda state, at: []), as_json=options.as_json)
            return
        passed = tuple(settings.setting("measure.environment") or ())
        more = {"pass_on": passed, "masks": options.masks}
        root = workspace.location.root
        capturer = _capturer(workspace, rules.measure, sprint, folder=root, **more)
        done = measure_by_rules(
            workspace, sprint.id, number, capturer, envelope=run.envelope({})
        )
        for note in done.notes:
            output.warn(note)
        if done.not_kept is not None:
            output.warn(f"the files of iteration {number} were not saved: {done.not_kept}")
        run.answer(done.outcome)
        if done.taken is not None:
            tell_kept(done.taken)


def capturer(
    workspace: Workspace, asked: Capturing, *, sprint_id: str, masks: bool
) -> Capturer:
    """Return a capturer for the options; file names are relative to the current folder."""
    wanted = MeasureRules(
        asked.runs, asked.builds, asked.reports, asked.sources, asked.timeout_seconds
    )
    sprint, more = workspace.sprint(sprint_id), {"pass_on": asked.pass_on, "masks": masks}
    return _capturer(workspace, wanted, sprint, folder=context.here(), **more)


def _capturer(
    workspace: Workspace, rules: MeasureRules, sprint: Sprint, **more: Any
) -> Capturer:
    order, environment = order_of(rules, sprint), context.environment()
    return Capturer(workspace, order, environment=environment, sprint_id=sprint.id, **more)
