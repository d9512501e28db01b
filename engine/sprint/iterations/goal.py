"""The commands for a goal (LOOP-010 to LOOP-017), and their events' effects on the plan."""

from typing import Any

from msgspec.structs import astuple

from ...command import Command, Events
from ...errors import RefusedError
from ...log.event import Event, Takers
from ..events import GoalClaimed, GoalCompleted, GoalSet, IterationFailed, SprintBlocked
from ..phases import leaves, retry
from ..plan.goal_steps import open_steps
from ..state import completion, document_fields, transitions, words
from ..state.sprint import Plan, Sprint
from . import claims, loop


class SetGoal(Command, frozen=True):
    """Set the goal, which puts the sprint into Ralph mode."""

    goal: str
    idle_threshold: int | None = None
    min_iterations: int | None = None
    max_iterations: int | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        transitions.check_open(sprint, "set a goal")
        if not self.goal.strip():
            raise RefusedError("goal is empty", field="goal")
        event = GoalSet(*astuple(self))
        for name in ("idle_threshold", "min_iterations", "max_iterations"):
            given = getattr(event, name)
            if given is not None and not 0 < given <= loop.NUMBER_MAX:
                field = name.replace("_", "-")
                raise RefusedError(
                    f"{field} {given} is out of range (1 to {loop.NUMBER_MAX})", field=field
                )
        return [] if _is_set(event, sprint.plan) else [event]


class CompleteGoal(Command, frozen=True):
    """Claim that the goal is reached, and end the current iteration.

    The iteration ends even if the claim is refused, because the same iteration would only
    repeat it.
    """

    needs_context = True

    summary: str | None = None
    source: str = completion.PERSON
    """`person` or `agent`; the command's handler detects an agent."""

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        plan = sprint.plan
        transitions.check_exists(sprint)
        if plan.status == words.COMPLETED:
            steps = open_steps(sprint)
            again = GoalCompleted(plan.iteration, self.summary, steps, self.source)
            if plan.last.sprint == again:
                return []
        transitions.check_goal(sprint, "complete the goal")
        # The iteration ends even if the sprint was stopped in the meantime.
        reason = f"the sprint is {plan.status}"
        found: list[Event] = [
            GoalClaimed(plan.iteration, self.summary, self.source, reason)
        ]
        is_kept = plan.turns.number or plan.last.claim == found[0]
        if plan.status not in words.STOPPED or not is_kept:
            found = claims.claim_goal(sprint, self.summary, self.source)
        if isinstance(found[0], GoalClaimed) and plan.last.claim == found[0]:
            return []
        ended = loop.EndIteration().decide(sprint, at) if plan.turns.number else []
        return [*ended, *found]


class FailIteration(Command, frozen=True):
    """Record that the current iteration's run failed.

    Either the retry policy allows another attempt in the same iteration, or the sprint is
    blocked: a loop tolerates a few consecutive failures, whatever their category.
    """

    error: str
    category: str = "logic"
    number: int | None = None

    def decide(self, sprint: Sprint, at: str) -> list[Event]:
        """Return the events that this command records."""
        leaves.check_word("category", self.category, words.FAILURE_CATEGORIES)
        turns = sprint.plan.turns
        given = turns.number if self.number is None else self.number
        if not sprint.is_running and sprint.plan.last.failure == IterationFailed(
            given, self.error, self.category
        ):
            return []
        transitions.check_running(sprint, "fail an iteration")
        transitions.check_goal(sprint, "fail an iteration")
        if not given or given != turns.number:
            now = f"{turns.number} is under way" if turns.number else "none is under way"
            raise RefusedError(
                f"cannot fail iteration {given or ''}: {now}".replace(" :", ":"),
                hint=None
                if turns.number
                else "use `sprintlog iteration start` to start one",
                iteration=given,
                command="fail",
            )
        due = retry.next_turn_at(sprint, self.category, at)
        event = IterationFailed(given, self.error, self.category, due)
        if due is not None:
            return [event]
        count = turns.failures - turns.forgiven + 1
        often = f" {count} times in a row" if count > 1 else ""
        return [event, SprintBlocked(f"iteration {given} failed{often}: {self.error}")]


def _is_set(event: GoalSet, plan: Plan) -> bool:
    document, stats = plan.document, plan.given_stats
    settings = document_fields.mapping_of(document, "ralph")
    given = (
        (event.idle_threshold, settings.get("idle-threshold")),
        (event.min_iterations, settings.get("min-iterations")),
        (event.max_iterations, stats.get("max-iterations")),
    )
    same = all(wanted is None or wanted == there for wanted, there in given)
    return plan.is_ralph and document.get("goal") == event.goal and same


def _evolve_set(plan: Plan, event: GoalSet, at: str) -> None:
    document = plan.document
    missing = document_fields.ralph_fields(event.goal)
    # As in a compiled plan, the goal's fields precede phases, pointer and figures.
    behind = ("phases", "current", "stats")
    tail = {key: document.pop(key) for key in list(document) if key in behind}
    document.update({k: v for k, v in missing.items() if k not in document})
    document.update(tail)
    document["mode"], document["goal"] = missing["mode"], event.goal
    if not isinstance(document["ralph"], dict):
        document["ralph"] = missing["ralph"]
    for name in ("idle_threshold", "min_iterations"):
        if (given := getattr(event, name)) is not None:
            document["ralph"][name.replace("_", "-")] = given
    if event.max_iterations is not None:
        plan.stats["max-iterations"] = event.max_iterations
    plan.last.goal = event


def _evolve_completed(plan: Plan, event: GoalCompleted, at: str) -> None:
    plan.turns.end()
    plan.set_status(words.COMPLETED)
    plan.stats["completed-at"] = at
    exit_: dict[str, Any] = {"detected-at": at, "iteration": event.iteration or None}
    plan.document["ralph-exit"] = {**exit_, "final-summary": event.summary}
    plan.last.sprint = event


def _evolve_failed(plan: Plan, event: IterationFailed, at: str) -> None:
    if event.number == plan.turns.number:
        plan.turns.fail(event.error, event.next_retry_at)
        if not event.is_fallback:
            plan.waiting = None
    plan.last.failure = event


EVOLVE: Takers = {
    **claims.EVOLVE,
    GoalSet: _evolve_set,
    GoalCompleted: _evolve_completed,
    IterationFailed: _evolve_failed,
}


CAUSED: Events = {
    GoalSet: SetGoal,
    GoalCompleted: CompleteGoal,
    IterationFailed: FailIteration,
}
