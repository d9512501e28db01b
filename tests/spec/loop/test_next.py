"""The next action: the answer to every state of a sprint."""

from typing import Any

import msgspec
import pytest

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.agent.actions import ACTIONS, Action
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate_checks import InterruptGate
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack

from ..conftest import Data, Scenario, for_each, simple
from ..gated import EACH, LEAF, NEXT, at_its_gate, check, start

NOW = "2026-01-15T10:00:00Z"


def answer(scenario: Scenario, now: str = NOW) -> Data:
    """Return the answer as JSON; a saved state gives the same answer."""
    action = next_action(scenario.sprint, now=now)
    assert action.do in ACTIONS
    assert next_action(unpack(pack(scenario.sprint)), now=now) == action
    told: Data = msgspec.to_builtins(action)
    return told


def do(scenario: Scenario, now: str = NOW) -> str:
    """Return the answer's action."""
    return str(answer(scenario, now)["do"])


def test_without_a_plan() -> None:
    """An unknown sprint has no next action."""
    with pytest.raises(NotFoundError):
        next_action(Sprint("s"), now=NOW)


def test_a_new_sprint_is_started() -> None:
    """A new plan begins with the start of its sprint."""
    assert answer(Scenario().given(simple("a"))) == {"do": "start"}


def test_work_comes_with_all_that_an_agent_needs(running: Any) -> None:
    """The first open leaf is worked on: prompt, nearest model, which attempt."""
    plan = for_each("p", x=("i", "j"))
    plan["model"] = "opus"
    scenario: Scenario = running({"phases": [plan]}, f.PhaseSkipped("p/x/i"))
    prompt = scenario.node("p/x/j")["prompt"]
    assert answer(scenario) == {
        "do": "work",
        "phase": "p/x/j",
        "prompt": prompt,
        "model": "opus",
        "attempt": 1,
    }


def test_work_that_was_cut_short_is_done_again(running: Any) -> None:
    """A leaf in progress is handed out once more, and marked so."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"))
    assert answer(scenario)["resumed"] is True


def test_counts_attempts(running: Any) -> None:
    """A leaf that was retried once is at its second attempt."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"), f.PhaseFailed("a", "x"))
    assert answer(scenario.given(f.PhaseRetried("a")))["attempt"] == 2


def test_waits_until_a_retry_is_due(running: Any) -> None:
    """Before next-retry-at there is nothing to do; then the retry is due."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"))
    scenario.do(leaves.FailPhase(error="429", category="rate-limit"), at=NOW)
    waiting = answer(scenario)
    assert (waiting["do"], waiting["why"]) == ("wait", "429")
    assert waiting["until"] == "2026-01-15T10:00:01Z"
    assert do(scenario, waiting["until"]) == "retry"


@pytest.mark.parametrize("due", ["soon", "2026-01-15", 7])
def test_a_wait_that_nobody_can_read_is_over(running: Any, due: object) -> None:
    """An imported next-retry-at in another format does not block a sprint forever."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"), f.PhaseFailed("a", "x"))
    scenario.node("a")["next-retry-at"] = due
    assert do(scenario) in ("retry", "stop")


def test_everything_done_is_completed(running: Any) -> None:
    """When no leaf is open, the sprint is completed, and then done."""
    scenario: Scenario = running(simple("a"), f.PhaseSkipped("a"))
    assert answer(scenario) == {"do": "complete"}
    assert answer(scenario.do(lifecycle.CompleteSprint())) == {"do": "done"}


def test_ralph_mode_is_not_over_without_its_goal(running: Any) -> None:
    """Phases that are done do not complete a sprint that works towards a goal."""
    plan = {"mode": "ralph", "goal": "Win", **simple("a")}
    told = answer(running(plan, f.PhaseSkipped("a")))
    assert (told["do"], told["iteration"], "Win" in told["prompt"]) == ("iterate", 1, True)


def test_an_interrupted_loop_goes_on(running: Any) -> None:
    """A loop ended by a signal continues without a person."""
    scenario: Scenario = running(simple("a"), f.SprintInterrupted())
    told = answer(scenario)
    assert (told["do"], told["why"]) == ("resume", "the sprint is interrupted")
    scenario = running(simple("a"), f.SprintInterrupted("SIGTERM"))
    assert answer(scenario)["why"] == "the sprint is interrupted: SIGTERM"


@pytest.mark.parametrize(
    ("event", "because", "why", "hint"),
    [
        (f.SprintPaused(), "paused", "the sprint is paused", "sprint resume"),
        (f.SprintPaused("lunch"), "paused", "the sprint is paused: lunch", "sprint resume"),
        (f.BreakpointReached("a"), "breakpoint", "the sprint is paused-at-breakpoint",
         "review the work"),
        (f.SprintBlocked("no disk"), "blocked", "the sprint is blocked: no disk",
         "--by NAME --why"),
        (f.HumanNeeded("a", "a key", error="no key"), "person", "a key",
         "--by NAME --why"),
    ],
)  # fmt: skip
def test_a_person_is_asked_for(
    running: Any, event: Any, because: str, why: str, hint: str
) -> None:
    """If only a person can continue, the answer is stop, with reason and remedy."""
    told = answer(running(simple("a", "b"), event))
    assert (told["do"], told["because"], told["why"]) == ("stop", because, why)
    assert hint in told["hint"]


def test_a_blocked_gate_of_steps_is_named(running: Any) -> None:
    """Its error is shown, and the hint is about the gate, not about a leaf."""
    scenario: Scenario = running({"phases": [EACH]}, f.PhaseStarted("p/x/i"))
    scenario.given(f.PhaseCompleted("p/x/i"), f.PhaseSkipped("p/y/i"))
    while scenario.status != "blocked":
        check(scenario, 1).go()
    told = answer(scenario)
    assert "the gate failed" in told["why"]
    assert "`sprintlog gate run`" in told["hint"]
    assert "phase" not in told["hint"]


def test_a_leaf_at_work_is_not_to_be_retried(running: Any) -> None:
    """Only the gate of a leaf in progress can have blocked: it runs again."""
    tracked = {"gate-tracking": {"attempts": 1, "status": "blocked"}}
    scenario: Scenario = running({"phases": [{**LEAF, **tracked}]}, f.PhaseStarted("p"))
    scenario.given(f.SprintBlocked("no disk"))
    hint = next_action(scenario.sprint, now=NOW).hint
    assert hint is not None
    assert ("gate run" in hint, "phase retry" in hint) == (True, False)


def test_a_pending_leaf_of_a_blocked_sprint_needs_no_retry(running: Any) -> None:
    """A hint's command is not refused: only failed work can be retried."""
    told = answer(running(simple("a"), f.SprintBlocked("no disk")))
    assert "phase retry" not in told["hint"]
    told = answer(running(simple("a"), f.PhaseBlocked("a", "x"), f.SprintBlocked("x")))
    assert "`sprintlog phase retry a`" in told["hint"]


def test_a_leaf_left_failed_needs_a_word(running: Any) -> None:
    """A sprint resumed over a finally failed leaf does not run it automatically."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"), f.PhaseFailed("a", "x"))
    told = answer(scenario)
    assert (told["do"], told["why"], told["phase"]) == ("stop", "x", "a")
    assert told["because"] == "blocked"


def test_a_leaf_without_a_prompt_needs_a_person(running: Any) -> None:
    """Without a prompt for the agent the loop stops."""
    scenario: Scenario = running(simple("a"))
    scenario.node("a").pop("prompt")
    assert do(scenario) == "stop"


def test_iterations_are_bounded(running: Any) -> None:
    """After max-iterations, no new leaf starts; a started one continues."""
    scenario: Scenario = running(simple("a", "b"), f.IterationStarted(2, 2))
    told = answer(scenario)
    assert (told["do"], told["why"]) == ("stop", "reached the limit of 2 iterations")
    assert told["because"] == "limit"
    assert do(scenario.given(f.PhaseStarted("a"))) == "work"


def test_a_gate_comes_after_the_work(running: Any) -> None:
    """Work of a leaf with a gate is marked; once it is done, the gate is next."""
    scenario: Scenario = running({"phases": [LEAF, NEXT]})
    assert answer(scenario)["gated"] is True
    scenario.given(f.PhaseStarted("p"))
    assert do(scenario) == "work"
    scenario.given(f.WorkDone("p", "made it"))
    assert answer(scenario) == {"do": "gate", "phase": "p", "attempt": 1}


def test_work_done_before_is_not_done_again(running: Any) -> None:
    """Work that ended while the sprint was paused waits only for its end."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"), f.WorkDone("a", "ok"))
    assert answer(scenario) == {"do": "end", "phase": "a"}


def test_a_leaf_begun_anew_forgets_its_work(running: Any) -> None:
    """Finished work counts for one attempt only."""
    scenario: Scenario = running(simple("a"), f.PhaseStarted("a"), f.WorkDone("a", "ok"))
    scenario.given(f.PhaseCompleted("a"), f.PhaseReopened("a"), f.PhaseStarted("a"))
    assert do(scenario) == "work"


def test_a_gate_that_was_cut_short_is_run_again(running: Any) -> None:
    """An interrupted run of a leaf's gate means that the work is already done."""
    scenario = start(running({"phases": [LEAF]}, f.PhaseStarted("p"))).go()
    scenario.do(InterruptGate(phase="p", run="r", reason="Ctrl-C"))
    assert answer(scenario) == {"do": "gate", "phase": "p", "attempt": 1}


def test_a_gate_that_failed_is_repaired_first(running: Any) -> None:
    """A failed gate includes the prompt for the agent that repairs it."""
    scenario = at_its_gate(running, {"on-fail-prompt": "Repair it"})
    assert answer(scenario) == {"do": "gate", "phase": "p", "attempt": 1}
    check(scenario, 1, output="boom").go()
    told = answer(scenario)
    assert (told["do"], told["phase"], told["attempt"]) == ("gate", "p", 2)
    assert told["prompt"].startswith("Repair it")
    assert "boom" in told["prompt"]


def test_after_a_passed_gate_the_leaf_ends(running: Any) -> None:
    """Once a leaf's gate has passed, the leaf must be completed."""
    scenario: Scenario = running({"phases": [LEAF, NEXT]}, f.PhaseStarted("p"))
    check(scenario, 0).go()
    assert answer(scenario) == {"do": "end", "phase": "p"}


def test_a_gate_without_a_script_needs_a_person(running: Any) -> None:
    """A gate that cannot be run waits for an external result."""
    phase = {**EACH, "gate": {}}
    scenario: Scenario = running({"phases": [phase]}, f.PhaseStarted("p/x/i"))
    told = answer(scenario.given(f.PhaseCompleted("p/x/i")))
    assert told["do"] == "stop"
    assert "gate record" in told["hint"]


def test_actions_leave_out_what_means_nothing() -> None:
    """An answer contains only fields that belong to its action."""
    assert msgspec.json.encode(Action("done")) == b'{"do":"done"}'
