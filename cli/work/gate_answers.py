"""What the commands that check a gate answer, to people and to the loop."""

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import GateBlocked, GateChecked
from sprintlog.engine.sprint.gates.gate import failure_text, verdict_of
from sprintlog.engine.sprint.gates.policy import GatePolicy, gate_of
from sprintlog.engine.sprint.state.words import BLOCKED, PASSED
from sprintlog.projections.views.events import reference
from sprintlog.projections.views.work import GateAnswer, gate_run
from sprintlog.projections.workspace import Outcome, Workspace

from ..output import GATE_FAILED, print_error, print_json, print_text, warn
from ..record import answer_and_refresh, refresh


def answer_gate(workspace: Workspace, outcome: Outcome, *, as_json: bool) -> int:
    """Print how a gate went, bring the state file up to date; return the exit code."""
    events = [CODEC.decode(recorded) for recorded in outcome.events]
    checked = next((event for event in events if isinstance(event, GateChecked)), None)
    if checked is None:
        answer_and_refresh(workspace, outcome, as_json=as_json)
        return 0
    word = verdict_of(checked)
    if any(isinstance(event, GateBlocked) for event in events):
        word = BLOCKED
    try:
        answer = gate_run(
            outcome.sprint,
            checked,
            [*map(reference, outcome.events)],
            status=word,
            duplicate=outcome.duplicate,
        )
        if as_json:
            print_json(answer)
        else:
            _print(outcome, checked, answer)
    finally:
        refresh(workspace, outcome.sprint.id)
    return 0 if word == PASSED else GATE_FAILED


def _print(outcome: Outcome, checked: GateChecked, answer: GateAnswer) -> None:
    """Print a verdict for people, and what a repair needs as the only data."""
    attempt = f"attempt {checked.attempt} of {answer.attempts_max}"
    if checked.left_behind:
        left = checked.left_behind
        warn(f"processes that the gate of {checked.phase} left running were ended: {left}")
    if answer.status == PASSED:
        others = "".join(f", {x.type}" for x in answer.events[1:])
        print_text(
            f"{outcome.sprint.id}: the gate of {checked.phase} passed, {attempt}{others}"
            f"  [position {answer.position}, version {answer.version}]"
        )
        return
    how = f"exit code {checked.exit_code}"
    if checked.timed_out:
        how = "it ran into its time limit"
    node = outcome.sprint.plan.tree.find(checked.phase)
    told = answer.repair_prompt or failure_text(
        gate_of(node) if node else GatePolicy(None, None),
        phase=checked.phase,
        attempt=checked.attempt,
        exit_code=checked.exit_code,
        timed_out=checked.timed_out,
        output=checked.output,
    )
    print_text(*told.split("\n"))
    hint = "repair it and run it again; standard output is what the repair needs"
    if answer.status == BLOCKED:
        hint = "`sprintlog sprint resume --by NAME --why TEXT`, then run it again"
    message = f"the gate of {checked.phase} failed: {how} ({attempt}, {answer.status})"
    print_error(SprintlogError(message, hint=hint), as_json=False)
