"""What `status` says of a goal, its steps, its loop, and what agents took so far."""

from typing import Any

from msgspec import structs

from sprintlog.engine.service.loop.lock import Holder
from sprintlog.engine.sprint.goal.dynamic_steps import steps_of
from sprintlog.engine.sprint.goal.reflection import reflection_is_due
from sprintlog.engine.sprint.goal.settings import idle_threshold
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED

from ..output import counted, visible

OPEN_SHOWN_MAX = 20


def goal_answer(sprint: Sprint) -> dict[str, Any]:
    """Return goal, steps and idle count as JSON; nothing outside Ralph mode."""
    plan = sprint.plan
    if not plan.is_ralph:
        return {}
    return {
        "goal": plan.document.get("goal"),
        "steps": [
            {"id": identity, "status": step.get("status")}
            for identity, step in steps_of(plan.document).items()
        ],
        "idle": plan.turns.idle,
        "idle_threshold": idle_threshold(plan.document),
        "reflection": reflection_is_due(plan),
    }


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


def spent_answer(sprint: Sprint) -> dict[str, Any]:
    """Return what all runs of agents took, as JSON; nothing before the first."""
    spent = sprint.knowledge.spent
    if not spent.runs:
        return {}
    said = {k: value for k, value in structs.asdict(spent).items() if value is not None}
    if spent.cost_usd is not None:
        # Sums of binary fractions end in noise that no agent reported.
        said["cost_usd"] = round(spent.cost_usd, 6)
    return {"spent": said}


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


def loop_answer(holder: Holder | None) -> dict[str, Any]:
    """Return who runs the sprint now, as JSON; nothing when nobody does."""
    if holder is None:
        return {}
    return {"loop": {"pid": holder.process.pid, "since": holder.since}}


def loop_lines(holder: Holder | None) -> list[str]:
    """Return who runs the sprint now, for people."""
    if holder is None:
        return []
    return [visible(f"run by process {holder.process.pid} since {holder.since}")]
