"""The leaves' half of the transition table, complete (SPR-051)."""

from typing import Any

import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.phases.lifecycle import AddNote

from ..conftest import Data, Make, Scenario, for_each, simple

AT = "2026-01-15T09:00:00Z"

HISTORIES: dict[str, tuple[Event, ...]] = {
    "pending": (),
    "in-progress": (f.PhaseStarted("a"),),
    "completed": (f.PhaseStarted("a"), f.PhaseCompleted("a")),
    "blocked": (f.PhaseBlocked("a", "stuck"),),
    "skipped": (f.PhaseSkipped("a"),),
    "failed": (f.PhaseStarted("a"), f.PhaseFailed("a", "boom", "network")),
}
"""How a leaf gets into each status while the sprint stays in progress."""

COMMANDS: dict[str, tuple[Make, Data, type[Event]]] = {
    "start": (leaves.StartPhase, {"model": "opus"}, f.PhaseStarted),
    "complete": (leaves.CompletePhase, {"summary": "good"}, f.PhaseCompleted),
    "fail": (leaves.FailPhase, {"error": "no"}, f.PhaseFailed),
    "block": (leaves.BlockPhase, {"reason": "why"}, f.PhaseBlocked),
    "skip": (leaves.SkipPhase, {"reason": "not needed"}, f.PhaseSkipped),
    "retry": (leaves.RetryPhase, {"reason": "repaired"}, f.PhaseRetried),
    "reopen": (leaves.ReopenPhase, {"reason": "wrong"}, f.PhaseReopened),
}
"""Each command with content unlike that of the histories."""

ALLOWED = {
    ("pending", "start"): "in-progress",
    ("in-progress", "complete"): "completed",
    ("in-progress", "fail"): "failed",
    ("pending", "block"): "blocked",
    ("in-progress", "block"): "blocked",
    ("pending", "skip"): "skipped",
    ("in-progress", "skip"): "skipped",
    ("failed", "skip"): "skipped",
    ("blocked", "skip"): "skipped",
    ("failed", "retry"): "pending",
    ("blocked", "retry"): "pending",
    ("completed", "reopen"): "pending",
    ("skipped", "reopen"): "pending",
}
"""The table: from which status each command leads to which."""

PAIRS = [(status, verb) for status in HISTORIES for verb in COMMANDS]
REFUSED = [pair for pair in PAIRS if pair not in ALLOWED]
BLOCKS_SPRINT = ("fail", "block")


def reached(running: Any, status: str) -> Scenario:
    """Return a started sprint whose leaf `a` has this status."""
    scenario: Scenario = running(simple("a", "b"), *HISTORIES[status])
    assert scenario.node("a")["status"] == status
    assert scenario.status == "in-progress"
    return scenario


@pytest.mark.parametrize(("status", "verb"), ALLOWED)
def test_leads_to_the_status_after(running: Any, status: str, verb: str) -> None:
    """If the table has a line, the event is recorded and the status changes."""
    command, arguments, event = COMMANDS[verb]
    scenario = reached(running, status).do(command(phase="a", **arguments))
    decided = [type(x) for x in scenario.decided or ()]
    assert decided == [event, f.SprintBlocked] if verb in BLOCKS_SPRINT else [event]
    assert scenario.node("a")["status"] == ALLOWED[status, verb]


@pytest.mark.parametrize(("status", "verb"), REFUSED)
def test_refuses_what_the_table_lacks(running: Any, status: str, verb: str) -> None:
    """All others are refused with the status, the command and the allowed commands."""
    command, arguments, _ = COMMANDS[verb]
    allowed = [name for name in COMMANDS if (status, name) in ALLOWED]
    reached(running, status).when(command(phase="a", **arguments)).then_refused(
        containing=f"a is {status}: cannot {verb} it; allowed: {', '.join(allowed)}",
        phase="a",
        state=status,
        command=verb,
        allowed=allowed,
    )


@pytest.mark.parametrize(("status", "verb"), ALLOWED)
def test_accepts_the_same_command_again(running: Any, status: str, verb: str) -> None:
    """The same command with the same content records nothing."""
    command, arguments, _ = COMMANDS[verb]
    scenario = reached(running, status).do(command(phase="a", **arguments))
    scenario.when(command(phase="a", **arguments)).then_nothing()


@pytest.mark.parametrize(("status", "verb"), ALLOWED)
def test_refuses_the_command_with_other_content(
    running: Any, status: str, verb: str
) -> None:
    """The same command with different content is refused."""
    command, arguments, _ = COMMANDS[verb]
    scenario = reached(running, status).do(command(phase="a", **arguments))
    last = list(arguments)[-1]
    other = {**arguments, last: "haiku" if verb == "start" else "something else"}
    scenario.when(command(phase="a", **other)).then_refused()


@pytest.mark.parametrize(
    ("history", "status", "way"),
    [
        (None, "not-started", "start"),
        (f.SprintPaused(), "paused", "resume"),
        (f.BreakpointReached("b"), "paused-at-breakpoint", "resume"),
        (f.SprintBlocked("x"), "blocked", "resume"),
        (f.HumanNeeded("b", "x"), "needs-human", "resume"),
        (f.SprintInterrupted(), "interrupted", "resume"),
        (f.SprintCompleted(), "completed", "reopen"),
    ],
)
@pytest.mark.parametrize(("before", "verb"), ALLOWED)
def test_needs_the_sprint_in_progress(
    given: Any, history: Event | None, status: str, way: str, before: str, verb: str
) -> None:
    """A leaf's status changes only in a sprint in progress; the hint names the command.

    Work that ends while the sprint is stopped is recorded, and changes no status.
    """
    scenario: Scenario = given(simple("a", "b"), *HISTORIES[before], history)
    command, arguments, _ = COMMANDS[verb]
    scenario.when(command(phase="a", **arguments))
    if (verb, way) == ("complete", "resume"):
        scenario.then(f.WorkDone("a", **arguments))
        return
    scenario.then_refused(
        containing=f"sprint s is {status}: cannot {verb} phase a",
        state=status,
        allowed=[way],
    )


@pytest.mark.parametrize("verb", [name for name in COMMANDS if name != "reopen"])
def test_means_the_pointed_leaf_without_address(running: Any, verb: str) -> None:
    """Without an address a command applies to the pointer's leaf."""
    before = next(status for status, name in ALLOWED if name == verb)
    command, arguments, _ = COMMANDS[verb]
    scenario = reached(running, before).do(command(**arguments))
    assert scenario.node("a")["status"] == ALLOWED[before, verb]


def test_refuses_a_parent_and_names_leaves(running: Any) -> None:
    """A parent's status is derived, so commands name leaves."""
    scenario: Scenario = running({"phases": [for_each("p", x=("y", "z"))]})
    scenario.when(leaves.StartPhase(phase="p")).then_refused(
        containing="follows from its parts", allowed=["p/x/y", "p/x/z"]
    )


@pytest.mark.parametrize("address", ["nope", "", "p/x/y/z", "p/x/#7", "/p"])
def test_knows_no_other_address(running: Any, address: str) -> None:
    """An address without a node is not found."""
    scenario: Scenario = running({"phases": [for_each("p", x=("y",))]})
    scenario.when(leaves.StartPhase(phase=address)).then_refused(phase=address)
    assert isinstance(scenario.refused, NotFoundError)


@pytest.mark.parametrize(
    ("identity", "address"),
    [("a/b", "a~1b"), ("a~b", "a~0b"), ("#1", "~21"), ("a#1", "a#1"), ("~2", "~02")],
)
def test_escapes_ids_in_addresses(running: Any, identity: str, address: str) -> None:
    """Addresses consist of escaped ids, so that no id can be mistaken for a path."""
    scenario: Scenario = running(simple(identity, "b")).do(leaves.StartPhase())
    assert scenario.decided == [f.PhaseStarted(address)]
    assert scenario.document["phases"][0]["status"] == "in-progress"
    assert scenario.document["phases"][1]["status"] == "pending"


def test_finds_a_leaf_by_index_too(running: Any) -> None:
    """A segment `#n` is the place among the siblings, counted from 0."""
    scenario: Scenario = running({"phases": [for_each("p", x=("y", "z"))]})
    scenario.when(leaves.StartPhase(phase="p/x/#1")).then(f.PhaseStarted("p/x/z"))


def test_refuses_words_outside_the_lists(running: Any) -> None:
    """Models and failure categories are closed lists."""
    scenario: Scenario = running(simple("a"))
    scenario.when(leaves.StartPhase(model="gpt")).then_refused(
        containing="model 'gpt' is unknown", allowed=["sonnet", "opus", "haiku"]
    )
    scenario.do(leaves.StartPhase())
    scenario.when(leaves.FailPhase("x", "bad")).then_refused(
        allowed=["network", "rate-limit", "timeout", "validation", "logic"]
    )


def test_keeps_what_each_event_says(running: Any) -> None:
    """Times, elapsed, summary, model and error are fields of the leaf."""
    scenario: Scenario = running(simple("a"), "2026-01-15T09:00:00Z")
    scenario.do(leaves.StartPhase(model="opus")).at("2026-01-15T09:05:00Z")
    assert scenario.do(leaves.CompletePhase(summary="Found it")).node("a") == {
        "id": "a",
        "status": "completed",
        "prompt": "Do a",
        "started-at": "2026-01-15T09:00:00Z",
        "model": "opus",
        "completed-at": "2026-01-15T09:05:00Z",
        "elapsed": "00:05:00",
        "summary": "Found it",
    }


def test_forgets_the_end_when_reopened(running: Any) -> None:
    """Reopening removes the start and the end of a leaf."""
    scenario: Scenario = running(simple("a"))
    scenario.do(leaves.StartPhase()).do(leaves.CompletePhase(summary="x"))
    scenario.do(leaves.ReopenPhase(phase="a"))
    assert set(scenario.node("a")) == {"id", "status", "prompt"}


def test_ignores_events_about_unknown_leaves(running: Any) -> None:
    """An observed event may name nodes missing from our plan: it has happened."""
    scenario: Scenario = running({"phases": [for_each("p", x=("y",))]})
    before = scenario.document["phases"]
    scenario.given(f.PhaseCompleted("nope"), f.PhaseCompleted("p"), f.PhaseRetried("p/x"))
    scenario.given(f.HumanNeeded("p", "help"))
    assert scenario.document["phases"] == before


def test_notes_belong_to_a_sprint_or_phase(running: Any) -> None:
    """A note must have text and a known subject; it changes no state."""
    scenario: Scenario = running(simple("a"))
    before = scenario.bytes()
    scenario.when(AddNote(text="x", phase="a")).then(f.NoteAdded("x", "a"))
    scenario.when(AddNote(text=" \n")).then_refused(field="text")
    scenario.when(AddNote(text="x", phase="b")).then_refused(phase="b")
    assert scenario.bytes() == before
