"""A custom loop: it asks for the next action, performs it, and records the result."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.engine.sprint.agent.runs import EndRun, EndTurn, StartRun, StartTurn
from sprintlog.engine.sprint.answers.verdict import Turn, Verdict
from sprintlog.engine.sprint.events import AgentRan, GateStarted
from sprintlog.engine.sprint.iterations import hook_tasks
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.phases.gate_checks import CheckGate, StartGate, run_of
from sprintlog.engine.sprint.state.completion import done_work
from sprintlog.engine.sprint.state.times import parse
from sprintlog.engine.sprint.state.words import COMPLETED, FAILED, NEEDS_HUMAN
from tests.spec.gated import lost

if TYPE_CHECKING:
    from .random_sprints import Life

ENDS = (actions.STOP, actions.DONE)
ITERATIONS_MAX = 12
"""After so many iterations an agent says that the goal is reached."""

Meddle = Callable[[], None]


def ask(life: "Life") -> actions.Action:
    """Return the next action."""
    return next_action(life.sprint, now=life.time)


def perform(life: "Life", *, between: Meddle | None = None) -> actions.Action:
    """Perform the next action; do nothing if a person is needed.

    `between` happens while the agent or the gate works. Raise `RefusedError` if the rules
    refuse the result, unless another record intervened.
    """
    action = ask(life)
    if action.do in ENDS:
        return action
    try:
        _PERFORMS[action.do](life, action, between)
    except RefusedError:
        # Work in progress may be discarded in the meantime, and with it its purpose.
        if between is None:
            raise
    return action


def _says(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    command = {
        actions.START: lifecycle.StartSprint(),
        actions.RESUME: lifecycle.ResumeSprint(),
        actions.COMPLETE: lifecycle.CompleteSprint(),
    }[action.do]
    life.command(command)


def _retry(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    life.command(leaves.RetryPhase(phase=action.phase))


def _wait(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    assert action.until is not None
    left = parse(action.until) - parse(life.time)
    life.waited_ms += max(0, round(1000 * left.total_seconds()))


def _end(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    assert action.phase is not None
    done = done_work(life.sprint.plan, action.phase)
    summary = done.summary if done else None
    life.command(leaves.CompletePhase(phase=action.phase, summary=summary))


def _work(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    assert action.phase is not None
    life.command(StartRun(phase=action.phase))
    if is_killed(life.chance, between):
        return
    verdict = verdict_of(life.chance)
    ran = AgentRan(action.phase, verdict.status)
    life.command(EndRun(ran=ran, verdict=verdict))


def _iterate(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    life.command(StartTurn())
    number = life.sprint.plan.turns.number
    if is_killed(life.chance, between):
        return
    verdict = verdict_of(life.chance)
    if verdict.status == COMPLETED:
        late = life.sprint.knowledge.iteration_max > ITERATIONS_MAX
        verdict = Turn(COMPLETED, is_goal=late or life.chance.random() < 0.2)
    ran = AgentRan("", verdict.status, iteration=number)
    life.command(EndTurn(ran=ran, verdict=verdict))


def _hooks(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    for hook in action.hooks:
        said: dict[str, Any] = {"hook_id": hook.id, "iteration": action.iteration}
        life.command(hook_tasks.SpawnHook(**said))
        if not is_killed(life.chance, between):
            life.command(hook_tasks.CompleteHook(**said))


def _gate(life: "Life", action: actions.Action, between: Meddle | None) -> None:
    if action.prompt is not None:
        assert action.phase is not None
        life.append([AgentRan(action.phase, COMPLETED, is_repair=True)])
    events = life.command(
        StartGate(
            phase=action.phase,
            run=f"r{len(life.events)}",
            pid=1,
            process_started="s",
            boot_id="b",
            lost=lost(life.sprint, action.phase),
        )
    )
    run = events[-1]
    assert isinstance(run, GateStarted)
    if is_killed(life.chance, between):
        return
    result = GateResult(0 if life.chance.random() < 0.6 else 1)
    counts = is_under_way(life, run)
    try:
        life.command(CheckGate(phase=run.phase, run=run.run, result=result))
    except RefusedError as error:
        if counts:
            raise AssertionError("a verdict is lost") from error
        raise


def is_under_way(life: "Life", run: GateStarted) -> bool:
    """Return whether a gate's run is still the one whose verdict is awaited."""
    node = life.sprint.plan.tree.find(run.phase)
    return node is not None and run_of(life.sprint.plan, node) == run


def is_killed(chance: Random, between: Meddle | None) -> bool:
    """Let others act in the meantime; return whether the loop survives."""
    if between is None:
        return False
    between()
    return chance.random() < 0.2


def verdict_of(chance: Random) -> Verdict:
    """Return how an agent's run ended: mostly well."""
    drawn = chance.random()
    if drawn < 0.75:
        return Verdict(COMPLETED, summary="done")
    if drawn < 0.93:
        category = chance.choice(("network", "logic", "timeout"))
        return Verdict(FAILED, error="broken", category=category)
    return Verdict(NEEDS_HUMAN, error="which one?")


_PERFORMS: dict[str, Callable[["Life", actions.Action, Meddle | None], None]] = {
    actions.START: _says,
    actions.RESUME: _says,
    actions.COMPLETE: _says,
    actions.RETRY: _retry,
    actions.WAIT: _wait,
    actions.END: _end,
    actions.WORK: _work,
    actions.ITERATE: _iterate,
    actions.HOOKS: _hooks,
    actions.GATE: _gate,
}
