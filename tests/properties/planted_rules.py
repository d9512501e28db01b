"""Defects that once were in the rules, to be put back: the laws must find each of them."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from sprintlog.engine.sprint import lifecycle, loop, ralph, stopping, tree
from sprintlog.engine.sprint.gate_checks import check_gate
from sprintlog.engine.sprint.node import Node, gate_is_open
from sprintlog.engine.sprint.transitions import check_running

from . import looping
from .living import live_to_the_end

Plant = Callable[[pytest.MonkeyPatch], None]


def loses_a_verdict(patch: pytest.MonkeyPatch) -> None:
    """Give a gate that ends while the sprint is paused no verdict."""

    def check(sprint: Any, **said: Any) -> Any:
        check_running(sprint, "check the gate")
        return check_gate(sprint, **said)

    patch.setattr(looping, "check_gate", check)


def waits_beside_the_work(patch: pytest.MonkeyPatch) -> None:
    """Keep the pointer at a gate although work came in that the gate waits for."""
    patch.setattr(tree, "waits_for_gate", lambda node: gate_is_open(node.data))


def passes_over_empty_phases(patch: pytest.MonkeyPatch) -> None:
    """Complete a phase without steps whatever gate it has."""
    patch.setattr(Node, "is_passed_over", Node.is_empty)


def goes_on_past_the_limit(patch: pytest.MonkeyPatch) -> None:
    """Begin an iteration by hand although no more are allowed."""
    patch.setattr(loop, "limit_of", lambda document: None)


def finishes_over_requests(patch: pytest.MonkeyPatch) -> None:
    """Finish a sprint although nobody has decided on what is urgent."""
    for module in (lifecycle, ralph, stopping):
        patch.setattr(module, "urgent", lambda sprint, **how: [])


def finishes_without_the_goal(patch: pytest.MonkeyPatch) -> None:
    """Complete a sprint with a goal by anybody's word."""
    patch.setattr(lifecycle, "_check_goal_is_over", lambda sprint, fact: None)


def leads_half_the_way(patch: pytest.MonkeyPatch) -> None:
    """Name only the first of the two commands that are needed after a failure."""
    patch.setattr(stopping, "is_stuck", lambda leaf: False)


def names_a_finished_leaf(patch: pytest.MonkeyPatch) -> None:
    """Send people to a completed leaf when a gate above it is blocked."""
    real = stopping._hint

    def hint(status: str, leaf: Any, gate: Any) -> str:
        if gate is not None:
            return f"`sprintlog phase retry {leaf.address}`"
        return real(status, leaf, gate)

    patch.setattr(stopping, "_hint", hint)


PLANTED: dict[str, Plant] = {
    plant.__name__.replace("_", " "): plant
    for plant in (
        loses_a_verdict,
        waits_beside_the_work,
        passes_over_empty_phases,
        goes_on_past_the_limit,
        finishes_over_requests,
        finishes_without_the_goal,
        leads_half_the_way,
        names_a_finished_leaf,
    )
}


def find(name: str, *, seed: int, lives: int) -> int | None:
    """Return after how many lives a planted defect was found; None when it was not."""
    with pytest.MonkeyPatch.context() as patch:
        PLANTED[name](patch)
        for number in range(lives):
            try:
                live_to_the_end(Random(f"{seed}/{number}"))
            except Exception:  # noqa: BLE001 - however a law says it
                return number + 1
    return None
