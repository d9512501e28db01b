"""Interruptions of agent runs, and runs of unknown cost."""

from typing import Any

import pytest

from sprintlog.engine.judging.events import Usage
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.outcomes import RunEnding, RunSeen, runs_seen
from sprintlog.projections.state_files.iteration_report import notes_of, unknown_costs

BEGUN = [(2, 1), (6, 2)]
"""Iteration 1 began with version 2, the second one with version 6."""
PAID = Usage(cost_usd=0.5)


def ran(**more: object) -> f.AgentRan:
    """Return a run of an agent."""
    return f.AgentRan("", "completed", **more)  # type: ignore[arg-type]


def seen() -> dict[int, list[RunSeen]]:
    """Return runs of which one met a limit, one was killed, and one stated its cost."""
    limited = ran(iteration=1, limit=f.Limit("usage-limit"))
    runs = [(3, "", limited), (4, "", ran(iteration=1, usage=PAID)),
            (9, "", ran(iteration=2, usage=PAID))]  # fmt: skip
    ends = [(7, "", f.RunEnded("r1", "lost", cut_short=True)),
            (10, "", f.RunEnded("r2", "budget"))]  # fmt: skip
    return runs_seen(runs, ends, BEGUN)


def test_each_run_is_in_its_iteration_in_order() -> None:
    """A killed run is in the iteration started last; an idle one has none."""
    limited = RunSeen(says_cost=False, limit="usage-limit")
    lost = RunSeen(says_cost=False, cut_by="lost")
    assert seen() == {1: [limited, RunSeen(says_cost=True)],
                      2: [lost, RunSeen(says_cost=True)]}  # fmt: skip


def test_what_came_in_the_way_is_said_in_few_words() -> None:
    """Only a limit, with or without a wait, and a lost run are described."""
    assert [notes_of(one) for one in seen().values()] == [
        ["a usage limit"],
        ["a run was lost"],
    ]
    assert notes_of([RunSeen(says_cost=True)]) == []


def test_runs_of_unknown_cost_are_named_with_their_reason() -> None:
    """The run and iteration, and the reason of the unknown cost."""
    assert unknown_costs(seen()) == (
        "iteration 1, run 1 of 2 (a usage limit), iteration 2, run 1 of 2 (lost)"
    )
    silent = {n: [RunSeen(says_cost=False)] for n in range(1, 8)}
    assert unknown_costs(silent).startswith("iteration 1 (it did not say), ")
    assert unknown_costs(silent).endswith(" and 2 more")
    assert unknown_costs({1: [RunSeen(says_cost=True)]}) == ""


def test_what_only_adds_figures_is_no_run() -> None:
    """The rest of a run from a transcript is not another run."""
    assert runs_seen([(3, "", ran(is_rest=True))], [], BEGUN) == {}


@pytest.mark.parametrize(
    ("status", "more", "words"),
    [
        ("completed", {}, "completed"),
        ("completed", {"is_hung": True}, "completed, hung after its result"),
        ("failed", {"is_hung": True}, "failed"),
        ("failed", {"limit": f.Limit("overload")}, "limit"),
        ("failed", {"limit": f.Limit("overload", "2026-01-02T03:04:05Z")},
         "limit until 2026-01-02T03:04:05Z"),
        ("stopped", {}, "stopped by the user"),
        ("unknown", {}, "outcome unknown"),
    ],
)  # fmt: skip
def test_an_outcome_is_more_exact_than_a_status(
    status: str, more: dict[str, Any], words: str
) -> None:
    """A limit is shown with its end, and a hung agent has completed its work."""
    run = f.AgentRan("", status, iteration=1, **more)
    assert RunEnding.of(1, 2, run, None).words == words
