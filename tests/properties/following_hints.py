"""A person who types the commands of a hint, and the consequences."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.sprint.iterations import goal, hook_tasks, loop
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.phases.gate import GateResult
from sprintlog.engine.sprint.phases.gate_checks import CheckGate, RecordGate, StartGate
from sprintlog.engine.sprint.plan import goal_steps
from sprintlog.engine.sprint.queue import decisions
from sprintlog.engine.sprint.state.queue import takes_part
from sprintlog.engine.sprint.state.words import PENDING
from tests.cli.typed import Typed, commands_in, typed
from tests.spec.gated import lost

from .random_sprints import Life

STEPS_MAX = 12
"""No way out is longer than so many commands."""

OTHERWISE = re.compile(r"\bor\b|;")
"""Separators between two commands of which one is enough."""

READS = {
    *(("gate", "show"), ("log",), ("status",), ("audit",), ("next",)),
    *(("sprint", "list"), ("list",), ("show", "event"), ("journal", "entry", "list")),
}
"""They change nothing, and there is always something to read."""
ELSEWHERE = {
    *(("compile",), ("sprint", "create"), ("import", "progress"), ("iteration", "select")),
    *(("iteration", "snapshot"), ("iteration", "baseline"), ("iteration", "end")),
    *(("rollback",), ("phase", "inject")),
}
"""They need a file, a measurement or a point that only the person knows."""


class DeadEndError(AssertionError):
    """A hint names a command that fails or leads in a circle."""


class Step(NamedTuple):
    """A command, and the text of its refusal, if any."""

    words: list[str]
    refused: str | None


def follow(
    life: Life, *, message: str, hint: str | None, must_help: bool = False
) -> list[Step]:
    """Type the commands of a hint in order; of those joined by `or`, one is enough.

    A refused command is repeated after the commands of its refusal. Raise `DeadEndError` if
    a refusal repeats; with `must_help` also if a command of the hint is finally refused.
    """
    steps: list[Step] = []
    granted = _follow(life, hint, [message], steps)
    if must_help and not granted:
        raise DeadEndError("\n".join([message, *map(str, steps)]))
    return steps


def _follow(life: Life, hint: str | None, seen: list[str], steps: list[Step]) -> bool:
    for group in groups_in(hint or ""):
        words = life.chance.choice(group)
        while refusal := type_in(life, words):
            steps.append(Step(words, refusal.message))
            if refusal.message in seen or len(steps) > STEPS_MAX:
                raise DeadEndError("\n".join([seen[0], *map(str, steps)]))
            named = [words for one_of in groups_in(refusal.hint or "") for words in one_of]
            if not any(map(changes_state, named)):
                return False
            before = len(steps)
            _follow(life, refusal.hint, [*seen, refusal.message], steps)
            # The same command with another option was the intended one.
            if any(typed(x.words).path == typed(words).path for x in steps[before:]):
                break
        steps.append(Step(words, None))
    return True


def groups_in(hint: str) -> list[list[list[str]]]:
    """Return the commands in a hint, in groups of which one command is enough."""
    groups: list[list[list[str]]] = []
    between = ""
    for number, piece in enumerate(" ".join(hint.split()).split("`")):
        if number % 2 == 0:
            between = piece
        elif found := commands_in(f"`{piece}`"):
            if groups and OTHERWISE.search(between):
                groups[-1] += found
            else:
                groups.append(found)
    return groups


def changes_state(words: list[str]) -> bool:
    """Return whether an accepted command has changed the sprint."""
    return typed(words).path in COMMANDS


def type_in(life: Life, words: list[str]) -> RefusedError | NotFoundError | None:
    """Run a command as typed; return the refusal, if any."""
    command = typed(_with_request(life, words))
    if command.path in READS or command.path in ELSEWHERE:
        return None
    if command.path not in COMMANDS:
        raise DeadEndError(f"nobody here knows what `{' '.join(command.path)}` does")
    try:
        COMMANDS[command.path](life, command)
    except (RefusedError, NotFoundError) as error:
        return error
    return None


def _with_request(life: Life, words: list[str]) -> list[str]:
    """Insert the id of a request in the queue."""
    ids = [entry["id"] for entry in life.sprint.queue if takes_part(entry)]
    return [life.chance.choice(ids) if word == "ID" and ids else word for word in words]


def _rule(
    rule: Callable[..., Any], *names: str, **fixed: Any
) -> Callable[[Life, Typed], None]:
    """Return a command that accepts some of its options."""

    def perform(life: Life, command: Typed) -> None:
        options = {name: command.options[name] for name in names}
        life.command(rule(**options, **fixed))

    return perform


def _decide(life: Life, command: Typed) -> None:
    """Decide on all pending requests, as a person would."""
    for entry in life.sprint.queue:
        if takes_part(entry) and entry["status"] == PENDING:
            said = {"request": entry["id"], "reasoning": "no"}
            life.command(decisions.RejectRequest(**said))


def _complete(life: Life, command: Typed) -> None:
    said = {"abandons_goal": command.options["abandon_goal"]}
    life.command(lifecycle.CompleteSprint(reason=command.options["reason"], **said))


def _fail(life: Life, command: Typed) -> None:
    life.command(leaves.FailPhase(phase=command.options["phase"], error="x"))


def _run_gate(life: Life, command: Typed) -> None:
    events = life.command(
        StartGate(
            phase=command.options["phase"],
            run=f"r{len(life.events)}",
            pid=1,
            process_started="s",
            boot_id="b",
            lost=lost(life.sprint, command.options["phase"]),
        )
    )
    if events:
        run: Any = events[-1]
        life.command(CheckGate(phase=run.phase, run=run.run, result=GateResult(0)))


COMMANDS: dict[tuple[str, ...], Callable[[Life, Typed], None]] = {
    ("sprint", "start"): _rule(lifecycle.StartSprint),
    ("sprint", "resume"): _rule(lifecycle.ResumeSprint, "by", "why"),
    ("sprint", "complete"): _complete,
    ("sprint", "reopen"): _rule(lifecycle.ReopenSprint),
    ("phase", "start"): _rule(leaves.StartPhase, "phase"),
    ("phase", "complete"): _rule(leaves.CompletePhase, "phase"),
    ("phase", "skip"): _rule(leaves.SkipPhase, "phase"),
    ("phase", "retry"): _rule(leaves.RetryPhase, "phase"),
    ("phase", "reopen"): _rule(leaves.ReopenPhase, "phase"),
    ("phase", "fail"): _fail,
    ("gate", "run"): _run_gate,
    ("gate", "record"): _rule(RecordGate, "phase", result=GateResult(0)),
    ("iteration", "start"): _rule(loop.StartIteration, "max_iterations", "beyond_limit"),
    ("sprint", "limit"): _rule(loop.LimitIterations, "max_iterations"),
    ("goal", "set"): _rule(goal.SetGoal, goal="Win"),
    ("goal", "complete"): _rule(goal.CompleteGoal),
    ("step", "update"): _rule(goal_steps.UpdateStep, "step", status="completed"),
    ("hook-task",): _rule(hook_tasks.SpawnHook, "hook_id"),
    ("queue", "list"): _decide,
    ("queue", "reopen"): _rule(decisions.ReopenRequest, "request", reason="x"),
    ("queue", "defer"): _rule(
        decisions.DeferRequest, "request", until="next-sprint", reasoning="x"
    ),
}
