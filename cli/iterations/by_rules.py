"""`iteration measure --by-rules`: what `run --measure` does, for a loop of one's own."""

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.iterations.follow_up import loop_rules, to_measure

from .. import settings
from ..context import environment
from ..output import warn
from ..record import Options, answer, recording
from .snapshots import tell_kept


def measure_due(options: Options) -> None:
    """Measure the iteration that is due, by the rules in force; record what came of it."""
    # Imported here: no other recording command needs it.
    from sprintlog.engine.service.work_tree.capturer import (
        Capturer,
        measure_by_rules,
        order_of,
    )

    with recording("iteration measure", options) as run:
        workspace = run.workspace
        run.finish_restores()
        sprint = workspace.sprint(run.sprint_id)
        rules = loop_rules(sprint)
        if rules.measure is None:
            raise RefusedError(
                f"no rule of sprint {sprint.id} says what is to be measured",
                hint="`sprintlog rules set --measure CMD --report FILE` puts one in force",
            )
        number = to_measure(sprint)
        if number is None:
            answer(run.handle_with(lambda state, at: []), as_json=options.as_json)
            return
        capturer = Capturer(
            workspace,
            order_of(rules.measure, sprint),
            folder=workspace.location.root,
            environment=environment(),
            pass_on=tuple(settings.setting("measure.environment") or ()),
            sprint_id=sprint.id,
            masks=options.masks,
        )
        done = measure_by_rules(
            workspace, sprint.id, number, capturer, envelope=run.envelope({})
        )
        for note in done.notes:
            warn(note)
        if done.not_kept is not None:
            warn(f"the files of iteration {number} are not kept: {done.not_kept}")
        run.answer(done.outcome)
        if done.taken is not None:
            tell_kept(done.taken)
