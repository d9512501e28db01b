"""The sprint's half of the transition table, complete (SPR-041)."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import (
    ActivitySeen,
    BreakpointReached,
    HumanNeeded,
    PhaseCompleted,
    PhaseStarted,
    SprintBlocked,
    SprintCompleted,
    SprintInterrupted,
    SprintPaused,
    SprintReopened,
    SprintResumed,
    SprintStarted,
)
from sprintlog.engine.sprint.phases import lifecycle

from ..conftest import Data, Make, Scenario, simple

DONE = (PhaseStarted("a"), PhaseCompleted("a"), PhaseStarted("b"), PhaseCompleted("b"))

HISTORIES: dict[str, tuple[Event, ...]] = {
    "not-started": (),
    "in-progress": (SprintStarted(), SprintPaused(), SprintResumed(), *DONE),
    "completed": (SprintStarted(), *DONE, SprintCompleted()),
    "blocked": (SprintStarted(), SprintBlocked("stuck")),
    "paused": (SprintStarted(), SprintPaused()),
    "paused-at-breakpoint": (SprintStarted(), PhaseStarted("a"), BreakpointReached("a")),
    "needs-human": (SprintStarted(), HumanNeeded("a", "help")),
    "interrupted": (SprintStarted(), SprintInterrupted()),
}
"""How each status is reached; the last event of the sprint is never the command tested."""

COMMANDS: dict[str, tuple[Make, Data, type[Event]]] = {
    "start": (lifecycle.StartSprint, {}, SprintStarted),
    "pause": (lifecycle.PauseSprint, {"reason": "lunch"}, SprintPaused),
    "block": (lifecycle.BlockSprint, {"reason": "no disk"}, SprintBlocked),
    "needs-human": (lifecycle.NeedHuman, {"phase": "b", "reason": "why"}, HumanNeeded),
    "interrupt": (lifecycle.InterruptSprint, {"reason": "kill"}, SprintInterrupted),
    "resume": (lifecycle.ResumeSprint, {"by": "Ada", "why": "solved"}, SprintResumed),
    "complete": (lifecycle.CompleteSprint, {"summary": "fine"}, SprintCompleted),
    "reopen": (lifecycle.ReopenSprint, {"reason": "again"}, SprintReopened),
}
"""Each command with content unlike that of the histories."""

ALLOWED = {
    ("not-started", "start"): "in-progress",
    ("in-progress", "pause"): "paused",
    ("in-progress", "block"): "blocked",
    ("in-progress", "needs-human"): "needs-human",
    ("blocked", "needs-human"): "needs-human",
    ("in-progress", "interrupt"): "interrupted",
    ("paused", "resume"): "in-progress",
    ("paused-at-breakpoint", "resume"): "in-progress",
    ("interrupted", "resume"): "in-progress",
    ("blocked", "resume"): "in-progress",
    ("needs-human", "resume"): "in-progress",
    ("in-progress", "complete"): "completed",
    ("completed", "reopen"): "in-progress",
}
"""The table: from which status each command leads to which."""

PAIRS = [(status, verb) for status in HISTORIES for verb in COMMANDS]
REFUSED = [pair for pair in PAIRS if pair not in ALLOWED]


def reached(given: Any, status: str, verb: str) -> Scenario:
    """Return a sprint in this status, with an open leaf `b` if the command needs one."""
    history = HISTORIES[status]
    if (status, verb) == ("in-progress", "needs-human"):
        history = history[:3]
    scenario: Scenario = given(simple("a", "b"), *history)
    assert scenario.status == status
    return scenario


@pytest.mark.parametrize(("status", "verb"), ALLOWED)
def test_leads_to_the_status_after(given: Any, status: str, verb: str) -> None:
    """If the table has a line, the event is recorded and the status changes."""
    command, arguments, event = COMMANDS[verb]
    scenario = reached(given, status, verb).do(command(**arguments))
    assert [type(f) for f in scenario.decided or ()] == [event]
    assert scenario.status == ALLOWED[status, verb]


@pytest.mark.parametrize(("status", "verb"), REFUSED)
def test_refuses_what_the_table_lacks(given: Any, status: str, verb: str) -> None:
    """All others are refused with the status, the command and the allowed commands."""
    command, arguments, _ = COMMANDS[verb]
    allowed = [name for name in COMMANDS if (status, name) in ALLOWED]
    reached(given, status, verb).when(command(**arguments)).then_refused(
        containing=f"s is {status}: cannot {verb} it; allowed: {', '.join(allowed)}",
        sprint="s",
        state=status,
        command=verb,
        allowed=allowed,
    )


@pytest.mark.parametrize(("status", "verb"), ALLOWED)
def test_accepts_the_same_command_again(given: Any, status: str, verb: str) -> None:
    """The same command with the same content records nothing."""
    command, arguments, _ = COMMANDS[verb]
    scenario = reached(given, status, verb).do(command(**arguments))
    scenario.when(command(**arguments)).then_nothing()


@pytest.mark.parametrize(("status", "verb"), [p for p in ALLOWED if p[1] != "start"])
def test_refuses_the_command_with_other_content(given: Any, status: str, verb: str) -> None:
    """The same command with different content is refused."""
    command, arguments, _ = COMMANDS[verb]
    scenario = reached(given, status, verb).do(command(**arguments))
    last = list(arguments)[-1]
    other = {**arguments, last: "something else"}
    scenario.when(command(**other)).then_refused(command=verb, state=scenario.status)


@pytest.mark.parametrize("status", ["blocked", "needs-human"])
@pytest.mark.parametrize("said", [{}, {"by": "Ada"}, {"why": "x"}, {"by": "", "why": "x"}])
def test_resumes_only_with_who_and_why(given: Any, status: str, said: Data) -> None:
    """After blocked and needs-human, resume requires who resolved it and why."""
    reached(given, status, "resume").when(lifecycle.ResumeSprint(**said)).then_refused(
        containing="who resolved the problem and why", state=status, command="resume"
    )


@pytest.mark.parametrize("status", ["paused", "paused-at-breakpoint", "interrupted"])
def test_resumes_a_pause_without_a_word(given: Any, status: str) -> None:
    """A pause, a breakpoint and an interruption need no explanation."""
    scenario = reached(given, status, "resume").when(lifecycle.ResumeSprint())
    assert scenario.then(SprintResumed()).status == "in-progress"


@pytest.mark.parametrize("open_leaf", ["pending", "in-progress"])
def test_completes_only_when_nothing_is_open(given: Any, open_leaf: str) -> None:
    """A sprint is finished only when every leaf is completed or skipped."""
    scenario: Scenario = given(simple("a"), SprintStarted())
    if open_leaf == "in-progress":
        scenario.given(PhaseStarted("a"))
    scenario.when(lifecycle.CompleteSprint()).then_refused(
        containing=f"is not finished: phase a is {open_leaf}", phase="a", command="complete"
    )


@pytest.mark.parametrize("status", HISTORIES)
def test_hears_the_heartbeat_of_a_begun_sprint(given: Any, status: str) -> None:
    """Every heartbeat is recorded as an event while there is a loop."""
    scenario: Scenario = given(simple("a", "b"), *HISTORIES[status])
    scenario.when(lifecycle.RecordHeartbeat())
    if status in ("not-started", "completed"):
        scenario.then_refused(state=status, command="heartbeat")
        return
    scenario.then(ActivitySeen()).when(lifecycle.RecordHeartbeat()).then(ActivitySeen())
    assert scenario.status == status


@pytest.mark.parametrize("verb", COMMANDS)
def test_knows_no_sprint_before_its_plan(given: Any, verb: str) -> None:
    """A sprint without a plan is not found by any command."""
    command, arguments, _ = COMMANDS[verb]
    scenario: Scenario = given().when(command(**arguments))
    scenario.then_refused(containing="there is no sprint s", sprint="s")
    assert isinstance(scenario.refused, NotFoundError)


def test_notes_when_it_began_and_ended(given: Any) -> None:
    """started-at and completed-at are the times of the sprint's events."""
    scenario: Scenario = given(
        simple("a"), "2026-01-15T10:00:00Z", SprintStarted(), *DONE[:2]
    )
    assert scenario.document["stats"]["completed-at"] is None
    scenario.at("2026-01-15T11:00:00Z").do(lifecycle.CompleteSprint())
    assert scenario.document["stats"]["started-at"] == "2026-01-15T10:00:00Z"
    assert scenario.document["stats"]["completed-at"] == "2026-01-15T11:00:00Z"
    scenario.do(lifecycle.ReopenSprint())
    assert scenario.document["stats"]["completed-at"] is None
