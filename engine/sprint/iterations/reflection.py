"""Reflection of a loop without progress (LOOP-041); rules and evolve."""

from ...log.event import Event, Takers
from ..events import ReflectionStarted
from ..state.goal_settings import idle_threshold
from ..state.sprint import Plan


def reflection_is_due(plan: Plan) -> bool:
    """Tell whether the iteration under way reflects, or else the next one.

    It does from the threshold on until a step is completed or added.
    """
    turns = plan.turns
    if turns.number or turns.reflects:
        return turns.reflects
    return turns.idle >= idle_threshold(plan.document)


def start_reflection(plan: Plan, *, number: int) -> list[Event]:
    """Say that reflection starts with an iteration that is about to begin, if it does."""
    idle = plan.turns.idle_next
    reflects = plan.turns.reflects or idle < idle_threshold(plan.document)
    return [] if reflects or not plan.is_at_goal else [ReflectionStarted(number, idle)]


def _evolve_started(plan: Plan, event: ReflectionStarted, at: str) -> None:
    plan.turns.reflects = True


EVOLVE: Takers = {ReflectionStarted: _evolve_started}
