"""Reflection, and the effects of iteration events on the plan and the knowledge."""

from ...log.event import Event, Takers
from ..events import IterationEnded, IterationsLimited, IterationStarted, ReflectionStarted
from ..state.document_fields import idle_threshold
from ..state.knowledge import add_start
from ..state.sprint import Knowledge, Plan


def _evolve_limited(plan: Plan, event: IterationsLimited, at: str) -> None:
    plan.stats["max-iterations"] = event.max_iterations
    plan.last.limit = event


def _evolve_started(plan: Plan, event: IterationStarted, at: str) -> None:
    plan.stats["current-iteration"] = event.number
    if event.max_iterations is not None:
        plan.stats["max-iterations"] = event.max_iterations
    if _is_beside(plan, event):
        return
    # If a loop's steps are unknown, its iterations do not count as idle.
    plan.turns.begin(event.number if plan.is_at_goal and not event.is_wrapped else 0)
    plan.last.iteration = event


def _evolve_ended(plan: Plan, event: IterationEnded, at: str) -> None:
    if _is_beside(plan, event):
        return
    plan.turns.end()
    plan.last.iteration = event


def _is_beside(plan: Plan, event: IterationStarted | IterationEnded) -> bool:
    """Return whether a wrapped iteration overlaps the current one without replacing it.

    If no agent is working on the current iteration, it was left open, and the wrapped
    iteration replaces it.
    """
    last = plan.last.iteration
    if not isinstance(last, IterationStarted) or last.is_wrapped:
        return False
    if isinstance(event, IterationStarted):
        return event.is_wrapped and str(last.number) in event.overlapping
    return event.number != last.number


def record_started(knowledge: Knowledge, event: IterationStarted, version: int) -> None:
    """Record an iteration's number and start; a rollback never frees the number."""
    add_start(knowledge.starts, event.number, version)
    knowledge.begun += event.session is None
    knowledge.in_sessions += event.session is not None
    knowledge.iteration_max = max(knowledge.iteration_max, event.number)
    if event.work_tree is not None and knowledge.first_tree is None:
        knowledge.first_tree = event.work_tree
    elif event.work_tree not in (None, knowledge.first_tree):
        knowledge.elsewhere[event.number] = str(event.work_tree)


def reflection_is_due(plan: Plan) -> bool:
    """Return whether the current iteration, or else the next iteration, is a reflection.

    From the threshold on, iterations are reflections until a step is completed or added.
    """
    turns = plan.turns
    if turns.number or turns.reflects:
        return turns.reflects
    return turns.idle >= idle_threshold(plan.document)


def start_reflection(plan: Plan, *, number: int) -> list[Event]:
    """Return the event that starts reflection; empty if reflection is not due."""
    idle = plan.turns.idle_next
    reflects = plan.turns.reflects or idle < idle_threshold(plan.document)
    return [] if reflects or not plan.is_at_goal else [ReflectionStarted(number, idle)]


def _evolve_reflecting(plan: Plan, event: ReflectionStarted, at: str) -> None:
    plan.turns.reflects = True


EVOLVE: Takers = {
    IterationsLimited: _evolve_limited,
    IterationStarted: _evolve_started,
    IterationEnded: _evolve_ended,
    ReflectionStarted: _evolve_reflecting,
}
LEARN: Takers = {IterationStarted: record_started}
