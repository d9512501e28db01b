"""What `status` says of a goal, its steps, its loop, and what agents took so far."""

from sprintlog.engine.sprint.goal.dynamic_steps import steps_of
from sprintlog.engine.sprint.goal.reflection import reflection_is_due
from sprintlog.engine.sprint.goal.settings import idle_threshold
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED
from sprintlog.projections.views.work import RunningLoop

from ..output import counted, visible

OPEN_SHOWN_MAX = 20


def goal_lines(sprint: Sprint) -> list[str]:
    """Return goal, open steps and idle count for people."""
    plan = sprint.plan
    if not plan.is_ralph:
        return []
    steps = steps_of(plan.document)
    goal = str(plan.document.get("goal")).strip().partition("\n")[0]
    done = [i for i, step in steps.items() if step.get("status") == COMPLETED]
    counts = f"steps {len(done)}/{len(steps)}"
    if plan.turns.idle:
        counts += f"  idle {plan.turns.idle} of {idle_threshold(plan.document)}"
    if reflection_is_due(plan) and plan.status != COMPLETED:
        counts += ": it reflects"
    left = [(i, step) for i, step in steps.items() if step.get("status") != COMPLETED]
    lines = [f"goal: {goal}", counts]
    for identity, step in left[:OPEN_SHOWN_MAX]:
        text = str(step.get("prompt")).partition("\n")[0][:80]
        lines.append(f"  {identity} ({step.get('status')}): {text}")
    if (more := len(left) - OPEN_SHOWN_MAX) > 0:
        lines.append(f"  and {more} more")
    exit_ = plan.document.get("ralph-exit")
    summary = exit_.get("final-summary") if isinstance(exit_, dict) else None
    if plan.status == COMPLETED and summary:
        ended = str(summary).strip().partition("\n")[0]
        lines.append(f"ended: {ended}")
    needed = plan.document.get("human-needed")
    if isinstance(needed, dict):
        lines.append(f"needs a person: {needed.get('reason')}")
        if needed.get("details"):
            lines.append(f"  {needed['details']}")
    return [visible(line) for line in lines]


def spent_lines(sprint: Sprint) -> list[str]:
    """Return what all runs of agents took, for people."""
    spent = sprint.knowledge.spent
    if not spent.runs:
        return []
    line = f"agents: {counted(spent.runs, 'run')}  {spent.duration_ms // 1000} s"
    tokens = [
        f"{count} {way}"
        for count, way in ((spent.input_tokens, "in"), (spent.output_tokens, "out"))
        if count is not None
    ]
    if tokens:
        line += f"  tokens {', '.join(tokens)}"
    if spent.cost_usd is not None:
        line += f"  ${spent.cost_usd:.2f}"
    return [line]


def loop_lines(loop: RunningLoop | None) -> list[str]:
    """Return who runs the sprint now, for people."""
    if loop is None:
        return []
    return [visible(f"run by process {loop.pid} since {loop.since}")]
