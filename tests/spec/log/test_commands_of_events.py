"""`append` calls the command that would have caused the event, with the same rules."""

from typing import Any

import pytest

from sprintlog.engine.command import decided
from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.runs import RecordRun
from sprintlog.engine.sprint.commands import command_for, command_of, to_event
from sprintlog.engine.sprint.events import goal as r
from sprintlog.engine.sprint.iterations import loop
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases import leaves, lifecycle, waits
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.phases.gate_checks import RecordGate, RepairGate
from sprintlog.engine.sprint.plan import injection
from sprintlog.engine.sprint.plan.create import CreateSprint, ImportDocument

from ..conftest import Data, Make, Scenario, simple
from .measuring_commands import MEASURING

AT, LATER = "2026-01-15T09:00:00Z", "2026-01-15T12:00:00Z"
GO, A = f.SprintStarted(), f.PhaseStarted("a")
END = f.InjectionPosition("end-of-workflow")
NEEDED = {"phase": "a", "reason": "x", "details": "y", "error": "z"}

CASES: list[tuple[list[Event], str, Data, Make, Data]] = [
    ([], "sprint-started", {}, lifecycle.StartSprint, {}),
    ([GO], "sprint-paused", {"reason": "x"}, lifecycle.PauseSprint, {"reason": "x"}),
    ([GO], "sprint-blocked", {"reason": "x"}, lifecycle.BlockSprint, {"reason": "x"}),
    ([GO], "human-needed", NEEDED, lifecycle.NeedHuman, NEEDED),
    ([GO], "sprint-interrupted", {}, lifecycle.InterruptSprint, {}),
    (
        [GO, f.SprintBlocked("x")],
        "sprint-resumed",
        {"by": "Ada", "why": "x"},
        lifecycle.ResumeSprint,
        {"by": "Ada", "why": "x"},
    ),
    (
        [GO, f.PhaseSkipped("a")],
        "sprint-completed",
        {"summary": "x"},
        lifecycle.CompleteSprint,
        {"summary": "x"},
    ),
    ([GO, f.SprintCompleted()], "sprint-reopened", {}, lifecycle.ReopenSprint, {}),
    ([GO], "activity-seen", {}, lifecycle.RecordHeartbeat, {}),
    (
        [GO],
        "phase-started",
        {"phase": "a", "model": "opus"},
        leaves.StartPhase,
        {"phase": "a", "model": "opus"},
    ),
    (
        [GO, A],
        "phase-completed",
        {"phase": "a", "summary": "x"},
        leaves.CompletePhase,
        {"phase": "a", "summary": "x"},
    ),
    (
        [GO, A],
        "retry-scheduled",
        {"phase": "a", "next_retry_at": LATER, "waits_for": "network", "why": "x"},
        waits.ScheduleRetry,
        {"phase": "a", "next_retry_at": LATER, "waits_for": "network", "why": "x"},
    ),
    (
        [GO, A],
        "phase-failed",
        {"phase": "a", "error": "x", "category": "network"},
        leaves.FailPhase,
        {"phase": "a", "error": "x", "category": "network"},
    ),
    (
        [GO],
        "phase-blocked",
        {"phase": "a", "reason": "x"},
        leaves.BlockPhase,
        {"phase": "a", "reason": "x"},
    ),
    ([GO], "phase-skipped", {"phase": "a"}, leaves.SkipPhase, {"phase": "a"}),
    (
        [GO, f.PhaseBlocked("a", "x")],
        "phase-retried",
        {"phase": "a"},
        leaves.RetryPhase,
        {"phase": "a"},
    ),
    (
        [GO, f.PhaseSkipped("a")],
        "phase-reopened",
        {"phase": "a"},
        leaves.ReopenPhase,
        {"phase": "a"},
    ),
    (
        [GO, A],
        "gate-checked",
        {"phase": "a", "exit_code": 3, "output": "x", "elsewhere": False},
        RecordGate,
        {"phase": "a", "result": GateResult(3, output="x")},
    ),
    (
        [GO, A, f.GateChecked("a", 1, 1)],
        "gate-repaired",
        {"phase": "a"},
        RepairGate,
        {"phase": "a"},
    ),
    (
        [GO, A],
        "work-done",
        {"phase": "a", "summary": "made it"},
        leaves.EndWork,
        {"phase": "a", "summary": "made it"},
    ),
    (
        [GO, A],
        "agent-ran",
        {"phase": "a", "status": "completed", "usage": {"turns": 3}},
        RecordRun,
        {"ran": f.AgentRan("a", "completed", usage=f.Usage(turns=3))},
    ),
    (
        [GO],
        "phase-injected",
        {"nodes": [{"id": "n", "prompt": "x"}], "position": {"type": "end-of-workflow"}},
        injection.InjectPhases,
        {"nodes": [{"id": "n", "prompt": "x"}], "position": END},
    ),
    (
        [GO],
        "phase-injected",
        {
            "nodes": [{"prompt": "x", "model": "opus"}],
            "position": {"type": "before", "ref": "a"},
            "id_prefix": "fix",
        },
        injection.InjectPhases,
        {
            "nodes": [{"prompt": "x", "model": "opus"}],
            "position": f.InjectionPosition("before", "a"),
            "id_prefix": "fix",
        },
    ),
    (
        [GO, f.PhaseInjected([{"id": "p", "status": "pending", "steps": []}], END, "")],
        "step-injected",
        {"nodes": [{"id": "n", "prompt": "x"}], "position": {"type": "end-of-workflow"}},
        injection.InjectSteps,
        {"nodes": [{"id": "n", "prompt": "x"}], "position": END},
    ),
    (
        [GO],
        "iteration-started",
        {"number": 5, "max_iterations": 30},
        loop.StartIteration,
        {"number": 5, "max_iterations": 30},
    ),
    (
        [GO, f.IterationStarted(5)],
        "iteration-ended",
        {"summary": "x"},
        loop.EndIteration,
        {"number": 5, "summary": "x"},
    ),
    (
        [GO],
        "iterations-limited",
        {"max_iterations": 9},
        loop.LimitIterations,
        {"max_iterations": 9},
    ),
    (
        [GO],
        "rolled-back",
        {"to": 1, "reason": "x"},
        RollBack,
        {"to": 1, "reason": "x", "is_inside_append": False},
    ),
    (
        [GO],
        "note-added",
        {"text": "x", "phase": "a"},
        lifecycle.AddNote,
        {"text": "x", "phase": "a"},
    ),
    *MEASURING,
]
"""What happened, the event asked for, and the command it stands for."""


def asked(scenario: Scenario, tag: str, data: object) -> Scenario:
    """Command for an event by its tag and data, as `append` does."""

    def command(sprint: Any, at: str) -> list[Event]:
        return decided(command_of(to_event(tag, data)), sprint, at)

    return scenario.when(command, at=AT)


@pytest.mark.parametrize(
    ("history", "tag", "data", "command", "arguments"), CASES, ids=[c[1] for c in CASES]
)
def test_decides_what_the_command_decides(
    given: Any, history: list[Event], tag: str, data: Data, command: Make, arguments: Data
) -> None:
    """An event that is appended by its type leads to the events of its command."""
    gate: Data = {"gate": {}} if tag.startswith("gate-") else {}
    scenario: Scenario = given(simple("a", **{"break": True, **gate}), *history)
    expected = scenario.when(command(**arguments)).decided
    assert expected
    asked(scenario, tag, data).then(*expected)


def test_covers_every_event_that_can_be_asked_for() -> None:
    """Every event type is tried here or nearby, or only follows from other commands."""
    tried = {c[1] for c in CASES} | {"sprint-compiled", "sprint-imported"}
    # Tested in test_queue_commands.py and test_goal_commands.py.
    tried |= {"request-queued", "request-decided", "request-reopened"}
    tried |= {event.type for event in r.GOAL_EVENTS}
    untried = {e.type for e in f.EVENTS if not e.only_caused} - tried
    assert not untried, f"add {untried} to the CASES"
    assert tried <= {event.type for event in f.EVENTS}


def test_takes_in_plans_and_documents(given: Any) -> None:
    """Complete plans and documents can also be appended by their event types."""
    plan = given().when(CreateSprint(plan=simple("a"), sources=(f.Source("x"),))).decided
    data = {"document": simple("a"), "sources": [{"path": "x"}]}
    asked(given(), "sprint-compiled", data).then(*plan)
    document: dict[str, Any] = {"document": simple("a", status="pending"), "source": "x"}
    taken = given().when(ImportDocument(**document)).decided
    asked(given(), "sprint-imported", document).then(*taken)


@pytest.mark.parametrize("data", [{"patch": []}, {}, {"patch": [{"op": "remove"}]}])
def test_takes_in_no_patch_from_outside(data: Data) -> None:
    """A patch that does not fit would make a stream unreadable, so none is accepted."""
    with pytest.raises(RefusedError, match="must be the whole document"):
        to_event("sprint-imported", {"source": "x", **data})


@pytest.mark.parametrize(
    ("tag", "data"),
    [
        ("breakpoint-reached", {"phase": "a"}),
        ("edit-observed", {"path": "p", "digest": "d", "kept": "k", "since": 0}),
        ("gate-interrupted", {"phase": "a"}),
        ("gate-blocked", {"phase": "a", "error": "x"}),
        ("request-returned", {"request": "r", "until": "end-of-phase"}),
    ],
)
def test_refuses_events_that_others_cause(running: Any, tag: str, data: Data) -> None:
    """Some events only follow from others, which the refusal names."""
    asked(running(simple("a")), tag, data).then_refused(
        containing=f"{tag} cannot be recorded directly", command=tag
    )


def test_obeys_the_same_rules(running: Any) -> None:
    """What its command refuses is refused, and a repeated one records nothing."""
    scenario: Scenario = running(simple("a"))
    asked(scenario, "phase-completed", {"phase": "a"}).then_refused(state="pending")
    asked(scenario, "sprint-started", {}).then_nothing()


@pytest.mark.parametrize("name", ["into", "after", "before"])
def test_takes_no_resolved_place(name: str) -> None:
    """The exact position of injected work follows from the requested one."""
    data = {"nodes": [], "position": {"type": "after-current"}, name: "a"}
    with pytest.raises(RefusedError, match="follows from the position") as caught:
        to_event("phase-injected", data)
    assert caught.value.fields["field"] == f"data.{name}"


def test_observed_injections_obey_the_rules(running: Any) -> None:
    """A plan is the basis of all later reading, observed or not."""

    def command(sprint: Any, at: str) -> list[Event]:
        nodes = [{"id": "a", "prompt": "x"}]
        asked_for = to_event(
            "phase-injected", {"nodes": nodes, "position": {"type": "after"}}
        )
        return decided(command_for(asked_for, is_observed=True), sprint, AT)

    running(simple("a")).when(command).then_refused(field="position")


def test_knows_no_other_type() -> None:
    """An unknown type is not found; the known ones are listed."""
    with pytest.raises(NotFoundError, match="no event type 'phase-dreamt'") as caught:
        to_event("phase-dreamt", {})
    assert caught.value.fields["field"] == "type"
    assert "phase-started" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ([], "data"),
        (None, "data"),
        ("text", "data"),
        ({"phase": "a", "who": "me"}, "data.who"),
        ({"phase": "a", "type": "phase-started"}, "data.type"),
        ({}, "data"),
        ({"phase": 7}, "data.phase"),
        ({"phase": None}, "data.phase"),
        ({"phase": "a", "model": ["opus"]}, "data.model"),
    ],
)
def test_names_the_field_that_is_wrong(data: object, field: str) -> None:
    """Unknown, missing and mistyped fields are refused by name."""
    with pytest.raises(RefusedError) as caught:
        to_event("phase-started", data)
    assert caught.value.fields["field"] == field
    assert caught.value.message.startswith("data")
