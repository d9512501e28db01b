"""The fields of a gate in a plan, and the prompt of the repair agent."""

from typing import Any

import pytest

from sprintlog.engine.sprint.phases.gate import (
    GATE_RETRIES,
    GATE_TIMEOUT_SECONDS,
    attempts_of,
    gate_of,
    repair_prompt,
)

from ..conftest import Data, Scenario
from ..gated import at_its_gate, check, start


@pytest.fixture
def said(running: Any) -> Any:
    """Return the gate read from a plan."""

    def read(gate: Data) -> Any:
        scenario: Scenario = running({"phases": [{"id": "p", "prompt": "x", "gate": gate}]})
        return gate_of(scenario.sprint.plan.tree.leaves[0])

    return read


def test_has_the_defaults_of_the_documents(said: Any) -> None:
    """The defaults of a gate are three retries and 60 seconds."""
    gate = said({"script": "make"})
    assert (gate.retries_max, gate.timeout_seconds) == (3, 60)
    assert (GATE_RETRIES, GATE_TIMEOUT_SECONDS) == (3, 60)
    assert (gate.script, gate.on_fail_prompt, gate.attempts_max) == ("make", None, 4)


@pytest.mark.parametrize(
    ("gate", "prompt"),
    [
        ({"on-fail-prompt": "flat"}, "flat"),
        ({"on-fail": {"prompt": "authored"}}, "authored"),
        ({"on-fail-prompt": "flat", "on-fail": {"prompt": "authored"}}, "flat"),
        ({"on-fail": "text"}, None),
        ({"on-fail-prompt": " "}, None),
        ({"on-fail-prompt": 7}, None),
    ],
)
def test_reads_the_prompt_both_ways(said: Any, gate: Data, prompt: str | None) -> None:
    """The prompt is flat, or under `on-fail` as authored."""
    assert said(gate).on_fail_prompt == prompt


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("max-retries", 0, (0, 60)),
        ("max-retries", 7, (7, 60)),
        ("max-retries", -1, (3, 60)),
        ("max-retries", True, (3, 60)),
        ("max-retries", "5", (3, 60)),
        ("timeout", 0.5, (3, 0.5)),
        ("timeout", 600, (3, 600)),
        ("timeout", 0, (3, 60)),
        ("timeout", -1, (3, 60)),
        ("timeout", True, (3, 60)),
        ("timeout", "5", (3, 60)),
    ],
)
def test_takes_what_makes_no_sense_as_unsaid(
    said: Any, key: str, value: object, expected: tuple[int, float]
) -> None:
    """A value of a wrong type or below its minimum is ignored."""
    gate = said({key: value})
    assert (gate.retries_max, gate.timeout_seconds) == expected


@pytest.mark.parametrize("tracking", [None, [], {}, {"attempts": "2"}, {"attempts": -2}])
def test_counts_from_nothing(running: Any, tracking: Any) -> None:
    """If a document counts no attempts, none were made."""
    scenario = at_its_gate(running, **{"gate-tracking": tracking})
    node = scenario.sprint.plan.tree.find("p")
    assert node is not None
    assert attempts_of(node) == 0


def told(scenario: Scenario) -> str | None:
    """Return the prompt of the agent that repairs the gate."""
    node = scenario.sprint.plan.tree.find("p")
    assert node is not None
    return repair_prompt(scenario.sprint.plan, node)


def test_tells_what_to_repair(running: Any) -> None:
    """The repair prompt has the gate's prompt, the failure, and the output."""
    gate = {"script": "make test\n", "on-fail-prompt": "Repair it.\n"}
    scenario = check(at_its_gate(running, gate), 2, output="1 failed\n").go()
    assert told(scenario) == (
        "Repair it.\n\nThe gate of p failed with exit code 2 (attempt 1 of 4)."
        "\n\nIts script:\n\n    make test\n\nWhat it printed:\n\n    1 failed"
    )


def test_tells_of_its_time_limit(running: Any) -> None:
    """A script that was ended at its limit did not fail with the code of a signal."""
    scenario = check(at_its_gate(running), 143, timed_out=True).go()
    assert str(told(scenario)).startswith("The gate of p failed at its time limit")


def test_tells_what_it_can(running: Any) -> None:
    """Without a prompt or output the rest is sent nevertheless."""
    assert told(check(at_its_gate(running), 2).go()) == (
        "The gate of p failed with exit code 2 (attempt 1 of 4)."
        "\n\nIts script:\n\n    make\n\nIt printed nothing."
    )


def test_tells_nothing_where_no_repair_is_due(running: Any) -> None:
    """Before the first failure, after passing and when blocked, there is no repair."""
    scenario = at_its_gate(running, {"max-retries": 1})
    assert told(scenario) is None
    assert told(check(scenario, 1).go()) is not None
    assert told(start(scenario).go()) is None
    assert told(check(at_its_gate(running, {"max-retries": 0}), 1).go()) is None
    assert told(check(at_its_gate(running), 0).go()) is None
