"""What is to be done now for a goal: the part of `next` that only Ralph mode has."""

from ..agent.actions import ASK_NOW, HOOKS, ITERATE, WAIT, Action, HookRun, is_over, waits
from ..agent.stops import decide_at_goal, text_said, used_up
from ..iterations.loop import over
from ..phases.retry import failures_survived
from ..phases.waits import wait_in_force
from ..state.sprint import Plan, Sprint
from .hook_tasks import hooks_due, transcript_of
from .prompt import prompt_of
from .reflection import reflection_is_due
from .settings import Hook


def run_hooks(plan: Plan) -> Action | None:
    """Return the hooks that the iteration which ended last waits for, if there are any."""
    number = over(plan)
    runs = tuple(run_of(hook, number) for hook in hooks_due(plan))
    return Action(HOOKS, iteration=number, hooks=runs) if runs else None


def run_of(hook: Hook, number: int) -> HookRun:
    """Return what is to be run of a hook for an iteration."""
    return HookRun(
        hook.id,
        transcript_of(number, hook.id),
        workflow=hook.workflow,
        prompt=hook.prompt,
        command=hook.command,
        parallel=hook.is_parallel,
    )


def failure_said(sprint: Sprint) -> str | None:
    """Return how the run of the iteration failed, and how many failures are survived."""
    failed, turns = sprint.plan.last.failure, sprint.plan.turns
    if failed is None:
        return turns.error
    count = turns.failures - turns.forgiven
    most = failures_survived(sprint, failed.category)
    return f"{turns.error} (failure {count} in a row; {most} are survived)"


def work_on_goal(sprint: Sprint, now: str) -> Action:
    """Return the iteration that is to be run, or why none is."""
    plan, turns = sprint.plan, sprint.plan.turns
    if not turns.number and (stop := decide_at_goal(sprint) or used_up(sprint)):
        return stop
    number = turns.number or sprint.knowledge.iteration_max + 1
    if turns.due is not None and not is_over(turns.due, now):
        why = failure_said(sprint)
        return Action(WAIT, until=turns.due, why=why, iteration=number, hint=ASK_NOW)
    if waiting := wait_in_force(plan, iteration=number, now=now):
        return waits(waiting)
    reflects = reflection_is_due(plan)
    return Action(
        ITERATE,
        iteration=number,
        prompt=prompt_of(sprint, number=number, reflects=reflects),
        model=text_said(plan.document.get("model")),
        attempt=turns.failures + 1,
        resumed=turns.number > 0,
        reflection=reflects,
    )
