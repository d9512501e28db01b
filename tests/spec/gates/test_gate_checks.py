"""A gate's checks: its six statuses, retries, time limit, and lost runs."""

from typing import Any

import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases import gate_checks as g
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.state.sprint import pack, unpack
from sprintlog.engine.sprint.state.words import GATE_STATUSES

from ..conftest import Data, Make
from ..gated import BY, at_its_gate, check, lost, start, tracking, word

Step = tuple[Make, Data]


def test_runs(running: Any) -> None:
    """A run is recorded before the script starts, and the gate is `running`."""
    scenario = start(at_its_gate(running, {"timeout": 0.5}))
    scenario.then(f.GateStarted("p", 1, "r", 7, "99", "b", 500))
    assert tracking(scenario) == {"attempts": 0, "status": "running"}
    assert scenario.node("p")["status"] == "in-progress"


def test_passes(running: Any) -> None:
    """A script that exits with 0 passes its gate, which completes the phase."""
    scenario = check(at_its_gate(running), 0, output="fine\n", duration_ms=3)
    scenario.then(f.GateChecked("p", 1, 0, output="fine\n", duration_ms=3))
    assert tracking(scenario) == {
        "attempts": 1,
        "status": "passed",
        "last-output": "fine\n",
        "last-exit-code": 0,
    }
    assert scenario.node("p")["status"] == "completed"
    assert scenario.document["stats"]["completed-phases"] == 1
    assert scenario.pointer == (1, None, None)


@pytest.mark.parametrize(
    ("retries", "words"),
    [
        (None, ["retrying", "failed", "failed", "blocked"]),
        (3, ["retrying", "failed", "failed", "blocked"]),
        (2, ["retrying", "failed", "blocked"]),
        (1, ["retrying", "blocked"]),
        (0, ["blocked"]),
    ],
)
def test_counts_its_failures(running: Any, retries: int | None, words: list[str]) -> None:
    """First `retrying`, then `failed`, and `blocked` when the retries are used up."""
    gate = {} if retries is None else {"max-retries": retries}
    scenario = at_its_gate(running, gate)
    for attempt, expected in enumerate(words, start=1):
        check(scenario, 2).go()
        assert (tracking(scenario)["attempts"], word(scenario)) == (attempt, expected)
        assert scenario.pointer == (0, 0, 0)
    assert scenario.status == "blocked"


def test_blocks_phase_and_sprint(running: Any) -> None:
    """A gate that used up its retries blocks its phase and the sprint."""
    scenario = check(at_its_gate(running, {"max-retries": 0}), 2, output="no")
    error = "the gate failed once, as often as it may; last: exit code 2"
    scenario.then(
        f.GateChecked("p", 1, 2, output="no"),
        f.GateBlocked("p", error),
        f.SprintBlocked(f"phase p: {error}"),
    )
    assert tracking(scenario)["error"] == error
    assert [p["status"] for p in scenario.document["phases"]] == ["blocked", "pending"]
    assert scenario.node("p/x/i")["status"] == "completed"


def test_reaches_every_word(running: Any) -> None:
    """Each of the six statuses is reached by commands alone."""
    scenario = at_its_gate(running, {"max-retries": 2, "gate-tracking": {}})
    seen = ["pending"]
    for code in (1, 1, 1, 0):
        if scenario.status == "blocked":
            scenario.do(lifecycle.ResumeSprint(by="ana", why="repaired"))
        start(scenario).go()
        seen.append(word(scenario))
        scenario.do(g.CheckGate(phase="p", run="r", result=GateResult(code)))
        seen.append(word(scenario))
    assert dict.fromkeys(seen).keys() == set(GATE_STATUSES)


def test_tells_a_timeout_from_exit_124(running: Any) -> None:
    """A time limit is a failed attempt, distinguished from a script that exits with 124."""
    scenario = check(at_its_gate(running), 143, timed_out=True)
    scenario.then(f.GateChecked("p", 1, 143, timed_out=True))
    assert word(scenario) == "retrying"
    check(scenario, 124).then(f.GateChecked("p", 2, 124))


def test_fails_when_told_to_end_and_exits_with_0(running: Any) -> None:
    """Output of a script about itself after its time limit is not a success."""
    assert word(check(at_its_gate(running), 0, timed_out=True).go()) == "retrying"


def test_begins_anew_after_a_person(running: Any) -> None:
    """Once a person has resolved the block, the gate has all its attempts again."""
    scenario = at_its_gate(running, {"max-retries": 1})
    check(check(scenario, 1).go(), 1).go()
    start(scenario).then_refused(containing="sprint s is blocked", state="blocked")
    scenario.do(lifecycle.ResumeSprint(by="ana", why="repaired"))
    assert word(scenario) == "blocked"
    start(scenario).then(f.GateStarted("p", 1, "r", 7, "99", "b", 60000))
    assert "error" not in tracking(scenario)
    assert scenario.node("p")["status"] == "in-progress"
    scenario.do(g.CheckGate(phase="p", run="r", result=GateResult(1)))
    assert (word(scenario), scenario.status) == ("retrying", "in-progress")


STOPS: list[tuple[Make, Data, str]] = [
    (lifecycle.PauseSprint, {}, "paused"),
    (lifecycle.InterruptSprint, {}, "interrupted"),
    (lifecycle.BlockSprint, {"reason": "x"}, "blocked"),
]


@pytest.mark.parametrize(("stop", "said", "status"), STOPS)
@pytest.mark.parametrize("code", [0, 1])
def test_takes_a_verdict_whatever_happened(
    running: Any, stop: Make, said: Data, status: str, code: int
) -> None:
    """A verdict that was reached is recorded, also when the sprint was stopped."""
    scenario = start(at_its_gate(running)).go().do(stop(**said))
    scenario.when(g.CheckGate(phase="p", run="r", result=GateResult(code)))
    scenario.then(f.GateChecked("p", 1, code))
    assert (scenario.status, word(scenario)) == (status, ("passed", "retrying")[code])


@pytest.mark.parametrize(("stop", "said", "status"), STOPS)
def test_blocks_a_sprint_that_was_stopped(
    running: Any, stop: Make, said: Data, status: str
) -> None:
    """The last failure blocks its phase and the sprint, unless that is blocked already."""
    scenario = start(at_its_gate(running, {"max-retries": 0})).go().do(stop(**said))
    scenario.do(g.CheckGate(phase="p", run="r", result=GateResult(1)))
    assert (scenario.status, scenario.node("p")["status"]) == ("blocked", "blocked")
    assert scenario.decided is not None
    is_news = any(isinstance(event, f.SprintBlocked) for event in scenario.decided)
    assert is_news == (status != "blocked")


@pytest.mark.parametrize(("stop", "said", "status"), STOPS)
def test_reaches_its_breakpoint_all_the_same(
    running: Any, stop: Make, said: Data, status: str
) -> None:
    """A breakpoint after a gate is reached even if the sprint was stopped meanwhile."""
    scenario = start(at_its_gate(running, None, **{"break": True})).go().do(stop(**said))
    scenario.do(g.CheckGate(phase="p", run="r", result=GateResult(0)))
    if status == "blocked":
        assert scenario.status == "blocked"
        scenario.do(lifecycle.ResumeSprint(by="ana", why="x"))
    assert scenario.status == "paused-at-breakpoint"
    assert scenario.do(lifecycle.ResumeSprint()).status == "in-progress"


def test_says_nothing_of_a_leaf_that_is_over(running: Any) -> None:
    """A leaf that was skipped while its gate ran stays skipped."""
    leaf = {"id": "p", "prompt": "x", "gate": {"script": "make", "max-retries": 0}}
    scenario = start(running({"phases": [leaf]}, f.PhaseStarted("p"))).go()
    scenario.do(leaves.SkipPhase())
    scenario.when(g.CheckGate(phase="p", run="r", result=GateResult(1)))
    scenario.then(f.GateChecked("p", 1, 1))
    assert scenario.node("p")["status"] == "skipped"


def test_begins_anew_with_work_that_failed_first(running: Any) -> None:
    """A last failure on a leaf that has also failed blocks nothing; both start again."""
    leaf = {"id": "p", "prompt": "x", "gate": {"script": "make", "max-retries": 0}}
    scenario = start(running({"phases": [leaf]}, f.PhaseStarted("p"))).go()
    scenario.do(leaves.FailPhase("429", "network"))
    scenario.when(g.CheckGate(phase="p", run="r", result=GateResult(1)))
    scenario.then(f.GateChecked("p", 1, 1))
    assert scenario.status == "in-progress"
    scenario.do(leaves.RetryPhase())
    assert (tracking(scenario)["attempts"], word(scenario)) == (0, "pending")


@pytest.mark.parametrize(("stop", "said", "status"), STOPS)
def test_takes_a_result_of_elsewhere_while_stopped(
    running: Any, stop: Make, said: Data, status: str
) -> None:
    """An external result is recorded whatever the sprint is waiting for."""
    scenario = at_its_gate(running).do(stop(**said))
    scenario.do(g.RecordGate(result=GateResult(0)))
    assert (scenario.status, word(scenario)) == (status, "passed")


def test_takes_no_result_of_what_has_blocked(running: Any) -> None:
    """Once a gate has blocked, a person must decide before it runs again."""
    scenario = check(at_its_gate(running, {"max-retries": 0}), 1).go()
    scenario.when(g.RecordGate(result=GateResult(0))).then_refused(state="blocked")


def test_has_nothing_to_do_once_passed(running: Any) -> None:
    """A gate that has passed is not run again."""
    scenario = check(at_its_gate(running)).go()
    scenario.when(
        g.StartGate(run="s", lost=lost(scenario.sprint, "p"), phase="p", **BY)
    ).then_nothing()


def test_refuses_a_second_run(running: Any) -> None:
    """While a process runs a gate, another run is refused with its name."""
    scenario = start(at_its_gate(running)).go()
    start(scenario, "s", alive=True).then_refused(
        containing="is being run by process 7, attempt 1", pid=7, state="running"
    )


def test_notices_a_lost_run(running: Any) -> None:
    """A run whose process is gone is interrupted, and does not count as an attempt."""
    scenario = start(check(at_its_gate(running), 1).go()).go()
    start(scenario, "s").then(
        f.GateInterrupted("p", "process 7 is gone and left no result"),
        f.GateStarted("p", 2, "s", 7, "99", "b", 60000),
    )
    scenario.do(g.CheckGate(phase="p", run="s", result=GateResult(1)))
    assert (tracking(scenario)["attempts"], word(scenario)) == (2, "failed")


@pytest.mark.parametrize(
    ("before", "then"), [(0, "pending"), (1, "retrying"), (2, "failed")]
)
def test_goes_back_to_its_word(running: Any, before: int, then: str) -> None:
    """An interrupted run leaves the gate in its earlier state."""
    scenario = at_its_gate(running)
    for _ in range(before):
        check(scenario, 1).go()
    start(scenario).go().when(g.InterruptGate(phase="p", run="r", reason="Ctrl-C"))
    scenario.then(f.GateInterrupted("p", "Ctrl-C"))
    assert (tracking(scenario)["attempts"], word(scenario)) == (before, then)
    scenario.when(g.InterruptGate(phase="p", run="r", reason="Ctrl-C")).then_nothing()


def test_takes_up_what_another_tool_left_running(running: Any) -> None:
    """An imported gate with status `running` has no process, so its run is lost."""
    scenario = at_its_gate(running, **{"gate-tracking": {"status": "running"}})
    start(scenario, alive=True).then(
        f.GateInterrupted("p", "whoever ran it is gone and left no result"),
        f.GateStarted("p", 1, "r", 7, "99", "b", 60000),
    )


def test_knows_its_run_after_a_checkpoint(running: Any) -> None:
    """A state saved in between still knows which process runs the gate."""
    scenario = start(at_its_gate(running)).go()
    scenario.sprint = unpack(pack(scenario.sprint))
    start(scenario, "s", alive=True).then_refused(pid=7)
    scenario.when(g.CheckGate(phase="p", run="r", result=GateResult(0)))
    scenario.then(f.GateChecked("p", 1, 0))


ROLLBACK: Step = (RollBack, {"to": 4, "is_inside_append": False})
LOSS: Step = (g.InterruptGate, {"phase": "p", "run": "r", "reason": "x"})
AGAIN: list[Step] = [
    (leaves.ReopenPhase, {"phase": "p/x/i"}),
    (leaves.StartPhase, {}),
    (leaves.CompletePhase, {}),
]


@pytest.mark.parametrize(
    ("meanwhile", "run"),
    [([ROLLBACK], "r"), ([LOSS], "r"), (AGAIN, "r"), ([], "other")],
    ids=["rolled back", "interrupted", "reopened", "another"],
)
def test_counts_no_result_of_another_run(
    running: Any, meanwhile: list[Step], run: str
) -> None:
    """A result counts only for the run in progress."""
    scenario = start(at_its_gate(running)).go()
    for command, said in meanwhile:
        scenario.do(command(**said))
    scenario.when(g.CheckGate(phase="p", run=run, result=GateResult(0)))
    scenario.then_refused(containing="was discarded", phase="p")
