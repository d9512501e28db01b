"""The examples of the two PROGRESS.yaml documents, from a plan and commands only.

The prompts are our own; ids, statuses, times, pointer and figures are the documents'.
"""

from typing import Any

import pytest

from sprintlog.engine.sprint.iterations.loop import StartIteration
from sprintlog.engine.sprint.phases.leaves import CompletePhase, StartPhase
from sprintlog.engine.sprint.phases.lifecycle import NeedHuman, StartSprint
from sprintlog.engine.sprint.plan.create import CreateSprint

from ..conftest import Data, Scenario

DAY = "2026-01-15T"
MAY_ADD = {
    "started-at",
    "completed-at",
    "elapsed",
    "last-activity",
    "total-steps",
    "completed-steps",
    "current-iteration",
    "max-iterations",
}
"""The fields that may be added to an example (SPR-011)."""


def at(time: str) -> str:
    """Return a time of the examples' day."""
    return f"{DAY}{time}:00Z"


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Return where a document lacks, changes, reorders or adds to an example."""
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return [f"{path}: {len(actual)} items, not {len(expected)}"]
        pairs = enumerate(zip(expected, actual, strict=True))
        return [d for i, (e, a) in pairs for d in differences(e, a, f"{path}/{i}")]
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return [] if expected == actual else [f"{path}: {actual!r}, not {expected!r}"]
    found = [f"{path}/{key}: missing" for key in expected if key not in actual]
    found += [f"{path}/{key}: added" for key in actual if key not in {*expected, *MAY_ADD}]
    if [key for key in actual if key in expected] != list(expected):
        found.append(f"{path}: keys in another order")
    for key in expected.keys() & actual.keys():
        found += differences(expected[key], actual[key], f"{path}/{key}")
    return found


def phase(identity: str, status: str | None = None, **keys: Any) -> Data:
    """Return a phase with a prompt; without status as in a plan."""
    words = {} if status is None else {"status": status}
    return {"id": identity, **words, "prompt": f"Do {identity}", **keys}


def step(identity: str, *phases: Data, status: str | None = None, **keys: Any) -> Data:
    """Return a step with its sub-phases; without status as a plan has it."""
    words = {} if status is None else {"status": status}
    prompt = f"Work on {identity}"
    return {"id": identity, "prompt": prompt, **words, **keys, "phases": [*phases]}


def times(*at_times: str, elapsed: str | None = None) -> Data:
    """Return started-at, completed-at and elapsed, as far as given."""
    keys = dict(zip(("started-at", "completed-at"), map(at, at_times), strict=False))
    return keys if elapsed is None else {**keys, "elapsed": elapsed}


def begun(scenario: Scenario, plan: Data) -> Scenario:
    """Return a sprint that started at nine."""
    scenario.sprint.id = plan["sprint-id"]
    scenario.at(at("09:00"))
    events = CreateSprint(plan=plan).decide(scenario.sprint, "2026-01-15T09:00:00Z")
    return scenario.given(*events).do(StartSprint())


def work(scenario: Scenario, *turns: str) -> Scenario:
    """Execute the current leaf from one time to the next; the last one stays running."""
    for start, end in zip(turns, [*turns[1:], None], strict=True):
        scenario.at(at(start)).do(StartPhase())
        if end is not None:
            scenario.at(at(end)).do(CompletePhase())
    return scenario


def pointer(phase: int, step: int | None, sub_phase: int | None) -> Data:
    """Return a pointer as the document writes it."""
    return {"phase": phase, "step": step, "sub-phase": sub_phase}


SIMPLE_PLAN: Data = {
    "sprint-id": "quick-fix-2026-01",
    "phases": [phase("analyze"), phase("fix"), phase("verify")],
}
SIMPLE: Data = {
    "sprint-id": "quick-fix-2026-01",
    "status": "in-progress",
    "phases": [
        phase("analyze", "completed", **times("09:00", "09:05", elapsed="00:05:00")),
        phase("fix", "in-progress", **times("09:05")),
        phase("verify", "pending"),
    ],
    "current": pointer(1, None, None),
    "stats": {
        "started-at": at("09:00"),
        "completed-at": None,
        "total-phases": 3,
        "completed-phases": 1,
        "elapsed": "00:05:00",
    },
}


def test_gives_the_simple_sprint(given: Any) -> None:
    """The simple sprint: pointer, counters and both durations are exact."""
    scenario = work(begun(given(), SIMPLE_PLAN), "09:00", "09:05")
    assert differences(SIMPLE, scenario.document) == []


COMPLEX_PLAN: Data = {
    "sprint-id": "feature-auth-2026-01",
    "phases": [
        phase("setup-branch"),
        {
            "id": "implement-endpoints",
            "steps": [step(f"step-{n}", phase("implement"), phase("qa")) for n in range(3)],
        },
        phase("final-review"),
    ],
}
COMPLEX: Data = {
    "sprint-id": "feature-auth-2026-01",
    "status": "in-progress",
    "phases": [
        phase("setup-branch", "completed", **times("09:00", "09:02", elapsed="00:02:00")),
        {
            "id": "implement-endpoints",
            "status": "in-progress",
            "steps": [
                step(
                    "step-0",
                    phase("implement", "completed", **times("09:02", "09:10")),
                    phase("qa", "completed", **times("09:10", "09:15")),
                    status="completed",
                    **times("09:02", "09:15", elapsed="00:13:00"),
                ),
                step(
                    "step-1",
                    phase("implement", "in-progress", **times("09:15")),
                    phase("qa", "pending"),
                    status="in-progress",
                    **times("09:15"),
                ),
                step(
                    "step-2",
                    phase("implement", "pending"),
                    phase("qa", "pending"),
                    status="pending",
                ),
            ],
        },
        phase("final-review", "pending"),
    ],
    "current": pointer(1, 1, 0),
    "stats": {
        "started-at": at("09:00"),
        "completed-at": None,
        "total-phases": 3,
        "completed-phases": 1,
        "total-steps": 3,
        "completed-steps": 1,
        "current-iteration": 5,
        "max-iterations": 30,
    },
}


def test_gives_the_complex_sprint(given: Any) -> None:
    """The complex sprint: iteration 5 is recorded, everything else is derived."""
    scenario = begun(given(), COMPLEX_PLAN)
    scenario.do(StartIteration(number=5, max_iterations=30))
    work(scenario, "09:00", "09:02", "09:10", "09:15")
    assert differences(COMPLEX, scenario.document) == []


def test_gives_the_tree_drawing(given: Any) -> None:
    """The tree: three phases, pointer 1/1/0, figures 3 and 1."""
    plan = {**COMPLEX_PLAN, "sprint-id": "my-sprint"}
    document = work(begun(given(), plan), "09:00", "09:02", "09:10", "09:15").document
    steps = document["phases"][1]["steps"]
    assert [p["status"] for p in document["phases"]] == [
        "completed",
        "in-progress",
        "pending",
    ]
    assert [s["status"] for s in steps] == ["completed", "in-progress", "pending"]
    assert document["current"] == pointer(1, 1, 0)
    assert document["stats"]["started-at"] == at("09:00")
    assert document["stats"]["total-phases"] == 3
    assert document["stats"]["completed-phases"] == 1


def endpoint(name: str, status: str | None = None, *words: str) -> Data:
    """Return a step of the standard example: three sub-phases with long ids."""
    identity = f"implement-endpoints-{name}"
    kinds = zip(("gather", "execute", "verify"), words or (None,) * 3, strict=True)
    return step(identity, *(phase(f"{identity}-{k}", w) for k, w in kinds), status=status)


STANDARD_PLAN: Data = {
    "sprint-id": "feature-auth-2026-01",
    "phases": [
        phase("setup-branch"),
        {
            "id": "implement-endpoints",
            "steps": [endpoint(name) for name in ("login", "logout", "refresh")],
        },
        phase("final-review"),
    ],
}
STANDARD: Data = {
    "sprint-id": "feature-auth-2026-01",
    "status": "in-progress",
    "phases": [
        phase("setup-branch", "completed"),
        {
            "id": "implement-endpoints",
            "status": "in-progress",
            "steps": [
                endpoint("login", "completed", "completed", "completed", "completed"),
                endpoint("logout", "in-progress", "completed", "in-progress", "pending"),
                endpoint("refresh", "pending", "pending", "pending", "pending"),
            ],
        },
        phase("final-review", "pending"),
    ],
    "current": pointer(1, 1, 1),
    "stats": {
        "started-at": at("09:00"),
        "completed-at": None,
        "total-phases": 3,
        "completed-phases": 1,
        "total-steps": 3,
        "completed-steps": 1,
    },
}


def test_gives_the_standard_sprint(given: Any) -> None:
    """The standard-mode sprint: three steps, nine sub-phases, pointer 1/1/1."""
    turns = [f"09:0{minute}" for minute in range(6)]
    scenario = work(begun(given(), STANDARD_PLAN), *turns)
    assert differences(STANDARD, scenario.document) == []


def test_gives_the_human_intervention(given: Any) -> None:
    """Human intervention: a blocked leaf with `error` and `human-needed`."""
    scenario = begun(given(), {"sprint-id": "s", "phases": [phase("implement")]})
    scenario.do(StartPhase()).do(
        NeedHuman(
            error="The build lacks a part",
            reason="Two parts do not fit",
            details="foo 2.0 wants another bar",
        )
    )
    expected = phase("implement", "blocked", error="The build lacks a part")
    needed = {"reason": "Two parts do not fit", "details": "foo 2.0 wants another bar"}
    assert scenario.status == "needs-human"
    found = differences([{**expected, "human-needed": needed}], scenario.document["phases"])
    assert found == []


@pytest.mark.parametrize(
    ("place", "address"),
    [
        ((0, None, None), "setup-branch"),
        ((1, 2, 0), "implement-endpoints/step-2/implement"),
    ],
)
def test_points_as_the_examples_do(given: Any, place: Any, address: str) -> None:
    """The two pointer examples: a simple phase, and phases[1].steps[2].phases[0]."""
    turns = ["09:00"] if place[1] is None else [f"09:0{n}" for n in range(6)]
    scenario = work(begun(given(), COMPLEX_PLAN), *turns)
    assert scenario.document["current"] == pointer(*place)
    assert scenario.node(address)["status"] == "in-progress"
