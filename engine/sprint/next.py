"""What is to be done now: a pure answer from the state of a sprint and the time.

A loop in any language asks, does what the answer says, records what came of it, and
asks again. What it must know from one question to the next is in the log.
"""

from typing import Any

import msgspec

from ..errors import InvalidInputError
from .gates import find_gate, gate_of, next_attempt, repair_prompt
from .phases import done_work
from .state import Sprint
from .times import parse
from .transitions import check_exists
from .tree import Node, gate_is_open, gate_status
from .words import (
    BLOCKED,
    COMPLETED,
    FINISHED,
    IN_PROGRESS,
    INTERRUPTED,
    NEEDS_HUMAN,
    NOT_STARTED,
    PASSED,
    PAUSED,
    PAUSED_AT_BREAKPOINT,
    PENDING,
)

START = "start"
WORK = "work"
GATE = "gate"
END = "end"
RETRY = "retry"
WAIT = "wait"
RESUME = "resume"
COMPLETE = "complete"
STOP = "stop"
DONE = "done"

ACTIONS = {
    START: "the sprint has not begun: `sprint start`",
    WORK: "`phase start`, hand the prompt to an agent, record how it ended",
    GATE: "hand the prompt to an agent if there is one, then `gate run`",
    END: "the work is done and its gate has passed: `phase complete`",
    RETRY: "the wait after a failure is over: `phase retry`",
    WAIT: "nothing before `until`",
    RESUME: "the loop was stopped from outside: `sprint resume`",
    COMPLETE: "everything is done: `sprint complete`",
    STOP: "a person is asked for; `why` and `hint` say what for",
    DONE: "the sprint is completed",
}
"""Every answer, and what a loop does with it."""


class Action(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to do; what means nothing for it is left out."""

    do: str
    """A word of `ACTIONS`."""
    phase: str | None = None
    """Address of the leaf, or of the phase whose gate is meant."""
    prompt: str | None = None
    model: str | None = None
    attempt: int | None = None
    """1 for the first time that a leaf is worked on or a gate is run."""
    resumed: bool = False
    """The leaf was begun before, and nothing says how that ended."""
    gated: bool = False
    """`gate run` comes after this work, before `phase complete`."""
    until: str | None = None
    why: str | None = None
    hint: str | None = None


def next_action(sprint: Sprint, *, now: str) -> Action:
    """Return what is to be done at this time; raise `NotFoundError` without a plan."""
    check_exists(sprint)
    plan = sprint.plan
    if plan.status != IN_PROGRESS:
        return _of_sprint(plan.status, plan.pointed())
    leaf = plan.tree.open_leaf()
    if leaf is None:
        return _GOAL if plan.document.get("mode") == "ralph" else Action(COMPLETE)
    if leaf.status in FINISHED:
        return _gate(find_gate(sprint, None))
    if leaf.status == PENDING:
        return _limit(plan.stats) or _work(leaf)
    if leaf.status != IN_PROGRESS:
        return _after_failure(leaf, now)
    return _in_progress(sprint, leaf)


_GOAL = Action(
    STOP,
    why="in Ralph mode the sprint ends when its goal is reached",
    hint="`sprintlog sprint complete` once it is",
)


def _in_progress(sprint: Sprint, leaf: Node) -> Action:
    word, is_done = gate_status(leaf.data), done_work(sprint.plan, leaf.address) is not None
    if word == PASSED or (word is None and is_done):
        return Action(END, phase=leaf.address)
    # A gate that was run once knows of work that was done, whoever recorded it.
    if word is not None and (is_done or word != PENDING):
        return _gate(leaf)
    return _work(leaf)


def _of_sprint(status: str, leaf: Node | None) -> Action:
    """Return what a status other than in-progress asks for."""
    if status in _ALONE:
        return _ALONE[status]
    why = f"the sprint is {status}"
    if leaf is not None and status in (BLOCKED, NEEDS_HUMAN):
        needed = leaf.data.get("human-needed")
        said = needed.get("reason") if isinstance(needed, dict) else None
        why = _text(said) or _text(leaf.data.get("error")) or why
    return Action(
        STOP, phase=leaf.address if leaf else None, why=why, hint=_HINTS.get(status)
    )


_ALONE = {
    NOT_STARTED: Action(START),
    INTERRUPTED: Action(RESUME),
    COMPLETED: Action(DONE),
}

_RESOLVED = (
    "resolve it, then `sprintlog sprint resume --by NAME --why TEXT`, and "
    "`sprintlog phase retry` or `phase skip`"
)
_HINTS = {
    PAUSED: "`sprintlog sprint resume`",
    PAUSED_AT_BREAKPOINT: "look at what was done, then `sprintlog sprint resume`",
    BLOCKED: _RESOLVED,
    NEEDS_HUMAN: _RESOLVED,
}


def _limit(stats: dict[str, Any]) -> Action | None:
    """Return a stop when the iterations that the sprint may take are used up."""
    made, most = stats.get("current-iteration"), stats.get("max-iterations")
    if type(made) is not int or type(most) is not int or made < most:
        return None
    return Action(
        STOP,
        why=f"iteration {made} of at most {most} is over",
        hint=f"`sprintlog iteration start --max-iterations {most + 10}` allows more",
    )


def _work(leaf: Node) -> Action:
    prompt, model = _text(leaf.data.get("prompt")), _model(leaf)
    if prompt is None:
        return Action(
            STOP,
            phase=leaf.address,
            why=f"phase {leaf.address} has no prompt",
            hint="skip it, or record by hand what is done",
        )
    count = leaf.data.get("retry-count")
    return Action(
        WORK,
        phase=leaf.address,
        prompt=prompt,
        model=model,
        attempt=1 + (count if type(count) is int and count > 0 else 0),
        resumed=leaf.status == IN_PROGRESS,
        gated=gate_is_open(leaf.data),
    )


def _gate(node: Node) -> Action:
    if gate_of(node).script is None:
        return Action(
            STOP,
            phase=node.address,
            why=f"the gate of phase {node.address} has no script",
            hint="`sprintlog gate record` takes a result from elsewhere",
        )
    return Action(
        GATE,
        phase=node.address,
        prompt=repair_prompt(node),
        model=_model(node),
        attempt=next_attempt(node),
    )


def _after_failure(leaf: Node, now: str) -> Action:
    due = leaf.data.get("next-retry-at")
    if isinstance(due, str):
        is_over = _is_over(due, now)
        return Action(
            RETRY if is_over else WAIT,
            phase=leaf.address,
            until=None if is_over else due,
            why=_text(leaf.data.get("error")),
        )
    return Action(
        STOP,
        phase=leaf.address,
        why=_text(leaf.data.get("error")) or f"phase {leaf.address} is {leaf.status}",
        hint=f"`sprintlog phase retry {leaf.address}` or `phase skip`",
    )


def _is_over(due: str, now: str) -> bool:
    try:
        return parse(now) >= parse(due)
    except InvalidInputError:
        # Another tool wrote it; a wait that nobody can read is none.
        return True


def _model(node: Node | None) -> str | None:
    """Return the nearest model named upwards."""
    while node is not None:
        if model := _text(node.data.get("model")):
            return model
        node = node.parent
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
