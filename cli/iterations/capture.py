"""Capture of an iteration's measurements, as specified by options or the stored rules."""

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.judging.loop_rules import MeasureRules
from sprintlog.engine.service.work_tree.capturer import Capturer, measure_by_rules, order_of
from sprintlog.engine.sprint.iterations.follow_up import loop_rules, to_measure
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
        capturer = Capturer(
            workspace,
            order_of(rules.measure, sprint),
            folder=workspace.location.root,
            environment=context.environment(),
            pass_on=tuple(settings.setting("measure.environment") or ()),
            sprint_id=sprint.id,
            masks=options.masks,
        )
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
    return Capturer(
        workspace,
        order_of(wanted, workspace.sprint(sprint_id)),
        folder=context.here(),
        environment=context.environment(),
        pass_on=asked.pass_on,
        sprint_id=sprint_id,
        masks=masks,
    )
