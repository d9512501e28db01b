"""Documents with a queue of tasks: open tasks stay open, and nothing is lost."""

from copy import deepcopy
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.plan.imported_documents import is_first_generation, with_phases

from ..conftest import Data

QUEUE: Data = {
    "sprint-id": "old",
    "status": "in-progress",
    "current-task": "dry-run",
    "queue": [
        {"id": "dry-run", "description": "Add a dry run", "done-when": "it lists tasks"},
        {"id": "docs", "description": "Write the docs", "priority": "low"},
        "bare",
    ],
    "completed": [
        {"id": "paths", "completed-at": "2026-01-15T00:25:00Z", "commit": "6673e79"},
        {"id": "loop", "description": "Loop", "notes": "done", "elapsed": "10m"},
    ],
    "blocked": [{"id": "deploy", "description": "Deploy", "reason": "no key"}],
    "stats": {"tasks-total": 6},
}


def test_reads_every_task_as_a_phase() -> None:
    """Completed tasks come first, then blocked ones, then the queue in its order."""
    phases = with_phases(deepcopy(QUEUE))["phases"]
    assert [(phase["id"], phase["status"]) for phase in phases] == [
        ("paths", "completed"),
        ("loop", "completed"),
        ("deploy", "blocked"),
        ("dry-run", "in-progress"),
        ("docs", "pending"),
        ("bare", "pending"),
    ]


def test_tasks_beside_empty_phases_are_read() -> None:
    """Empty phases do not hide a queue, so no open task is considered done."""
    document = with_phases({"phases": [], **deepcopy(QUEUE)})
    assert is_first_generation({"phases": [], **QUEUE})
    assert [phase["id"] for phase in document["phases"]][-1] == "bare"
    assert not is_first_generation({"phases": [], "queue": []})
    assert not is_first_generation({"phases": [{"id": "a"}], "queue": ["bare"]})


def test_says_what_is_to_be_done() -> None:
    """A prompt is the task's description and its criterion; otherwise its id."""
    prompts = {p["id"]: p["prompt"] for p in with_phases(deepcopy(QUEUE))["phases"]}
    assert prompts["dry-run"] == "Add a dry run\n\nDone when: it lists tasks"
    assert (prompts["docs"], prompts["bare"]) == ("Write the docs", "bare")


def test_keeps_what_else_was_said() -> None:
    """Every field of a task is preserved; notes and reasons are in our fields."""
    document = with_phases(deepcopy(QUEUE))
    phases = {phase["id"]: phase for phase in document["phases"]}
    assert phases["paths"]["commit"] == "6673e79"
    assert (phases["loop"]["notes"], phases["loop"]["summary"]) == ("done", "done")
    assert phases["deploy"]["error"] == "no key"
    assert list(document) == ["sprint-id", "status", "phases", "stats"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"queue": "paths"}, "queue"),
        ({"queue": [7]}, "queue[0]"),
        ({"queue": [{"description": "no id"}]}, "queue[0].id"),
        ({"queue": [{"id": "x", "status": "completed"}]}, "queue[0].status"),
        ({"completed": [{"id": "x", "status": "pending"}]}, "completed[0].status"),
    ],
)
def test_refuses_what_it_cannot_read(change: Data, field: str) -> None:
    """A task that cannot be read is refused rather than considered done."""
    with pytest.raises(RefusedError) as refused:
        with_phases({**deepcopy(QUEUE), **change})
    assert refused.value.fields["field"] == field


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (QUEUE, True),
        ({"queue": []}, True),
        ({"phases": [], "queue": []}, False),
        ([], False),
    ],
)
def test_knows_it_by_its_lists(document: Any, expected: bool) -> None:
    """Such a document has one of the lists, and no phases."""
    assert is_first_generation(document) is expected
