"""What of `next` only loops have whose iterations are measured, or whose files are kept."""

from msgspec.structs import replace

from ..iterations.follow_up import Do, due, loop_rules
from ..iterations.loop import is_begun_for
from ..state.sprint import Sprint
from . import actions
from .actions import DECIDE, GATE, ITERATE, MEASURE, RESTORE, STOP, WORK, Action
from .stops import used_up

_WORKS = (WORK, ITERATE, GATE)


def judge_first(sprint: Sprint) -> Action | None:
    """Return what is due about the last iteration, before all else; None for nothing."""
    found = due(sprint)
    if found is None:
        return None
    number = found.number
    if found.do is Do.MEASURE:
        keeps = loop_rules(sprint).keeps_files
        hint = "`sprintlog iteration measure --by-rules`"
        return Action(MEASURE, iteration=number, keeps_files=keeps, hint=hint)
    if found.do is Do.DECIDE:
        return Action(DECIDE, iteration=number, hint="`sprintlog decide`")
    if found.do is Do.RESTORE:
        hint = f"`sprintlog rollback iter:{found.target} --yes`"
        return Action(
            RESTORE, iteration=number, target=found.target, why=found.why, hint=hint
        )
    return Action(
        STOP,
        because=actions.PERSON if found.do is Do.ASK else actions.JUDGE,
        iteration=number,
        target=found.target,
        why=found.why,
        hint=found.hint,
    )


def with_judging(sprint: Sprint, action: Action) -> Action:
    """Return an answer with what it has where each run of an agent is an iteration.

    A repair of a gate is one, too: there it may be refused as others are.
    """
    rules, plan = loop_rules(sprint), sprint.plan
    is_work = action.do in _WORKS and action.prompt is not None
    if not is_work or (rules.measure is None and not rules.keeps_files):
        return action
    number = action.iteration
    if action.phase is not None:
        goes_on = is_begun_for(plan, action.phase)
        if action.do == GATE and not goes_on and (stop := used_up(sprint)):
            return stop
        number = plan.iteration if goes_on else sprint.knowledge.iteration_max + 1
    return replace(action, iteration=number, keeps_files=rules.keeps_files)
