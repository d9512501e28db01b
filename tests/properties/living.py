"""Simulated lives of a sprint: the loop works, a person helps, others interfere."""

import math
from collections import Counter
from random import Random

from sprintlog.engine.sprint.agent.actions import STOP, Action
from sprintlog.engine.sprint.events import (
    GoalCompleted,
    IterationStarted,
    SprintCompleted,
    SprintImported,
)
from sprintlog.engine.sprint.state.tree import gate_is_open
from sprintlog.engine.sprint.state.words import (
    COMPLETED,
    GATE_STATUSES,
    PENDING,
    PHASE_STATUSES,
    REQUEST_STATUSES,
    SPRINT_STATUSES,
)

from .following_hints import DeadEndError, changes_state, follow
from .looping import ENDS, ask, perform
from .random_sprints import Data, Life, positions, seen_in

STEPS_MAX = 400
"""No plan of these histories, with all its retries, needs more."""
MOVES = (2, 8, 20, 40)
LEVELS = ("phase", "for-each", "step", "sub-phase")
WORDS = {
    *(f"sprint {word}" for word in SPRINT_STATUSES),
    *(f"leaf {word}" for word in PHASE_STATUSES),
    *(f"parent {word}" for word in PHASE_STATUSES),
    *(f"gate {word}" for word in GATE_STATUSES),
    *(f"gate of a {level}" for level in LEVELS),
    *(f"request {word}" for word in REQUEST_STATUSES),
    *("position after", "position before", "position after-current"),
    *("position end-of-phase", "position end-of-workflow"),
}
"""What a generator of lives must reach often."""


def random_life(chance: Random, *, census: Counter[str] | None = None) -> Life:
    """Return a sprint after a random life; count each value it showed once."""
    life = Life(chance)
    seen = seen_in(life)
    for _ in range(chance.choice(MOVES)):
        happen(life)
        check_state(life)
        if census is not None:
            seen |= seen_in(life)
    if census is not None:
        census.update(seen | positions(life))
    return life


def happen(life: Life) -> None:
    """Let one thing happen: mostly the loop continues, sometimes people interfere."""
    chance = life.chance
    drawn = chance.random()
    if drawn < 0.5:
        action = perform(life, between=life.meddle if chance.random() < 0.3 else None)
        if action.do in ENDS and chance.random() < 0.8:
            help_on(life, action)
    elif drawn < 0.6 and life.refusal is not None:
        refusal, life.refusal = life.refusal, None
        follow(life, message=refusal.message, hint=refusal.hint)
    else:
        life.meddle()


def check_state(life: Life) -> None:
    """Check the invariants, unless an imported document contradicts them."""
    sprint = life.sprint
    if any(isinstance(event, SprintImported) for _, _, event in life.events):
        return
    document = sprint.document
    for node in sprint.plan.tree.nodes.values():
        assert node.status != COMPLETED or not gate_is_open(node.data), node.address
    latest = [event for _, _, event in life.events[life.ends[-2] :]]
    limit = document["stats"].get("max-iterations") or math.inf
    begun = [event for event in latest if isinstance(event, IterationStarted)]
    assert all(one.number <= limit or one.beyond_limit for one in begun), "past the limit"
    if sprint.plan.status != COMPLETED:
        return
    left = document.get("ralph-exit") or {}
    assert not sprint.plan.is_ralph or left.get("detected-at"), "the goal is left open"
    if any(isinstance(event, SprintCompleted | GoalCompleted) for event in latest):
        queue = document.get("operator-queue", [])
        waiting = [entry["id"] for entry in queue if is_urgent(entry)]
        assert not waiting, f"finished over {waiting}"


def is_urgent(entry: Data) -> bool:
    """Return whether an urgent request is undecided."""
    return entry["status"] == PENDING and entry["priority"] in ("critical", "high")


def help_on(life: Life, action: Action) -> None:
    """Do what a stop requests; raise `DeadEndError` if that changes nothing."""
    if action.do != STOP:
        return
    steps = follow(life, message=action.why or "", hint=action.hint, must_help=True)
    after = ask(life)
    same = (after.do, after.phase, after.why) == (STOP, action.phase, action.why)
    if same and any(changes_state(step.words) for step in steps):
        done = "\n".join(map(str, [action, *steps, after]))
        raise DeadEndError(f"after its hint next stops there again:\n{done}")


def live_to_the_end(chance: Random, *, census: Counter[str] | None = None) -> Life:
    """Let a sprint live, then only do what is next, and check how that ends."""
    life = random_life(chance, census=census)
    check_end(come_to_an_end(life), life)
    check_state(life)
    return life


def come_to_an_end(life: Life) -> Action:
    """Do what is next until nothing is left, or a person is needed."""
    for _ in range(STEPS_MAX):
        before = len(life.events), life.waited_ms
        action = perform(life)
        if action.do in ENDS:
            return action
        assert (len(life.events), life.waited_ms) != before, f"{action} changes nothing"
    raise AssertionError(f"{STEPS_MAX} answers of next, and no end: {action}")


def check_end(action: Action, life: Life) -> None:
    """Check the end: everything is done, or the required action is named."""
    if action.do == STOP:
        assert action.why, action
        assert action.hint, action
    else:
        assert life.sprint.plan.status == "completed"
