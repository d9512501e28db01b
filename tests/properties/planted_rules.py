"""Defects planted in the rules: the laws must detect each of them."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sprintlog.engine.judging import best, score, select
from sprintlog.engine.judging.evaluation import Judgement
from sprintlog.engine.judging.parts import Best
from sprintlog.engine.judging.score import Score
from sprintlog.engine.sprint.agent import stops
from sprintlog.engine.sprint.events import OF_ITERATION
from sprintlog.engine.sprint.iterations import claims, loop
from sprintlog.engine.sprint.phases import lifecycle
from sprintlog.engine.sprint.phases.gate_checks import CheckGate
from sprintlog.engine.sprint.state import tree
from sprintlog.engine.sprint.state.node import Node, gate_is_open
from sprintlog.engine.sprint.state.transitions import check_running

from .iterations import test_selection_laws, test_snapshot_laws
from .living import live_to_the_end
from .loop_histories import loop_histories
from .sprint.test_sprint_laws import laws

EXAMPLES = 1_000
Plant = Callable[[pytest.MonkeyPatch], None]


def loses_a_verdict(patch: pytest.MonkeyPatch) -> None:
    """Give no verdict to a gate that ends while the sprint is paused."""
    decide = CheckGate.decide

    def check(command: CheckGate, sprint: Any, at: str) -> Any:
        check_running(sprint, "check the gate")
        return decide(command, sprint, at)

    patch.setattr(CheckGate, "decide", check)


def waits_beside_the_work(patch: pytest.MonkeyPatch) -> None:
    """Keep the pointer at a gate although work was added that precedes the gate."""
    patch.setattr(tree, "waits_for_gate", lambda node: gate_is_open(node.data))


def passes_over_empty_phases(patch: pytest.MonkeyPatch) -> None:
    """Complete a phase without steps regardless of its gate."""
    patch.setattr(Node, "is_passed_over", Node.is_empty)


def goes_on_past_the_limit(patch: pytest.MonkeyPatch) -> None:
    """Start an iteration manually although no more are allowed."""
    patch.setattr(loop, "limit_of", lambda document: None)


def finishes_over_requests(patch: pytest.MonkeyPatch) -> None:
    """Finish a sprint with undecided urgent requests."""
    for module in (lifecycle, claims, stops):
        patch.setattr(module, "urgent", lambda sprint, **how: [])


def finishes_without_the_goal(patch: pytest.MonkeyPatch) -> None:
    """Let anyone complete a sprint with a goal."""
    patch.setattr(lifecycle, "_check_goal_is_over", lambda sprint, event: None)


def leads_half_the_way(patch: pytest.MonkeyPatch) -> None:
    """Name only the first of the two commands that are needed after a failure."""
    patch.setattr(stops, "is_stuck", lambda leaf: False)


def names_a_finished_leaf(patch: pytest.MonkeyPatch) -> None:
    """Send people to a completed leaf if a gate above it is blocked."""
    real = stops._hint

    def hint(status: str, leaf: Any, gate: Any) -> str:
        if gate is not None:
            return f"`sprintlog phase retry {leaf.address}`"
        return real(status, leaf, gate)

    patch.setattr(stops, "_hint", hint)


def prefers_the_baseline(patch: pytest.MonkeyPatch) -> None:
    """Select the baseline unless it is strictly beaten."""

    def unbeaten(one: Judgement, other: Judgement, rules: Any) -> str | None:
        pair = score.compared(other.score, one.score)
        return "it is not better" if pair is not None and pair[0] >= pair[1] else None

    patch.setattr(select, "regression", unbeaten)


def compares_what_only_one_has(patch: pytest.MonkeyPatch) -> None:
    """Compare whole scores, even of different components."""

    def replaces(found: Score, kept: Best | None) -> bool:
        return (found.value or 0) > (kept.value if kept else 0)

    patch.setattr(best, "_replaces", replaces)


def replaces_measured_files(patch: pytest.MonkeyPatch) -> None:
    """Treat every later snapshot of an iteration as its files."""
    patch.setattr(test_snapshot_laws, "purpose_now", lambda sprint, **where: OF_ITERATION)


IN_LOOPS: dict[str, tuple[Plant, Any, st.SearchStrategy[Any]]] = {
    "prefers the baseline": (
        prefers_the_baseline,
        test_selection_laws.test_the_baseline_is_no_result_of_a_healthy_loop,
        loop_histories(),
    ),
    "compares what only one has": (
        compares_what_only_one_has,
        test_selection_laws.test_the_best_one_is_compared_on_what_both_have,
        loop_histories(),
    ),
    "replaces measured files": (
        replaces_measured_files,
        test_snapshot_laws.test_no_later_look_replaces_what_was_measured,
        st.randoms(use_true_random=False),
    ),
}
"""Defects of the judgement and of snapshots: the law that must find it, and over what."""

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


def find_in_loops(name: str) -> bool:
    """Return whether the law detects a planted defect."""
    plant, law, strategy = IN_LOOPS[name]
    again = settings(
        laws,
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
    )(given(strategy)(law.hypothesis.inner_test))
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        try:
            again()
        except Exception:  # noqa: BLE001 - however a law says it
            return True
    return False


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
