"""Pure functions that return why a sprint must stop and how a person can continue it.

A stop follows from the sprint's status, an undecided request, the iteration limit or a
budget: no iteration starts if a budget is spent or if its use cannot be determined. `ENDS`
lists the reasons why a run of the loop can end.
"""

from ...usage import is_less, minus, plus
from ..agent import actions
from ..events import SprintBlocked, SprintInterrupted, SprintPaused
from ..iterations import budgets
from ..iterations.budgets import typed
from ..iterations.loop import is_begun_for, is_used_up, more_allowed
from ..iterations.run_record import LOST as LOST
from ..phases.lifecycle import leaf_in_need
from ..state import words
from ..state.completion import listed, undecided_at_end, urgent
from ..state.document_fields import mapping_of, max_iterations, min_iterations
from ..state.knowledge import COST, TOKENS
from ..state.sprint import Plan, Sprint
from ..state.tree import Data, Node, gate_status
from .actions import STOP, STOPS, WAIT, Action

DONE, ERROR, SIGNAL = "done", "error", "signal"
ENDS = {
    DONE: "the sprint is done",
    **STOPS,
    WAIT: "a retry is due later",
    ERROR: "it failed",
    SIGNAL: "a signal ended it",
    LOST: "its process is gone: it was killed, or the machine went down",
}
"""The reasons for the end of a run, with their meanings."""

SPENT = "the budget is spent: "
"""The text before the description of a spent budget."""
_PAID = (actions.WORK, actions.ITERATE, actions.RETRY, actions.WAIT)
_SAYS: dict[str, type[SprintPaused | SprintBlocked | SprintInterrupted]] = {
    words.PAUSED: SprintPaused,
    words.BLOCKED: SprintBlocked,
    words.INTERRUPTED: SprintInterrupted,
}
"""For each status, the type of the event that states its reason."""
_BECAUSE = {
    words.PAUSED: actions.PAUSED,
    words.PAUSED_AT_BREAKPOINT: actions.BREAKPOINT,
    words.BLOCKED: actions.BLOCKED,
    words.NEEDS_HUMAN: actions.PERSON,
}

GO_ON = "use `sprintlog sprint resume`; `sprintlog run -- COMMAND` also resumes the sprint"
"""The hint for continuing a loop that was stopped from outside."""

_LAST_WORDS_MAX = 200
"""The maximum length of a gate's last output line in the reason for a stop."""


def stop_of(plan: Plan) -> Action:
    """Return the stop for a sprint that is paused, blocked or waiting for a person."""
    status = plan.status
    leaf = None if plan.is_at_goal else plan.pointed()
    why, details, error = still(plan), None, None
    if status == words.NEEDS_HUMAN:
        leaf = leaf_in_need(plan) or leaf
        data: Data = plan.document if leaf is None else leaf.data
        needed = mapping_of(data, "human-needed")
        error = text_said(plan.turns.error if leaf is None else data.get("error"))
        why = text_said(needed.get("reason")) or error or why
        details = text_said(needed.get("details"))
    gate = blocked_gate(leaf) if leaf is not None and status == words.BLOCKED else None
    node = gate or leaf
    if gate is not None:
        details = _last_words(mapping_of(gate.data, "gate-tracking").get("last-output"))
    return Action(
        STOP,
        because=_BECAUSE.get(status, actions.PERSON),
        phase=node.address if node else None,
        why=why,
        details=details,
        error=error if error != why else None,
        hint=_hint(status, leaf, gate),
    )


def used_up(sprint: Sprint) -> Action | None:
    """Return a stop if the iteration limit was reached, otherwise None."""
    if not is_used_up(sprint):
        return None
    begun, most = sprint.knowledge.iteration_max, max_iterations(sprint.plan.document)
    why = f"reached the limit of {most} iteration{'' if most == 1 else 's'}"
    return actions.stop(actions.LIMIT, why, more_allowed(begun))


def decide_first(sprint: Sprint) -> Action | None:
    """Return a stop if undecided requests prevent the sprint's completion, or None."""
    waiting = undecided_at_end(sprint)
    if not waiting:
        return None
    # Urgent requests prevent completion; others only prevent automatic completion.
    close = "" if urgent(sprint) else "; `sprintlog sprint complete` leaves them pending"
    why = f"everything is finished, but requests are undecided: {listed(waiting)}"
    hint = f"run `sprintlog queue list --status pending`, decide, then continue{close}"
    return actions.stop(actions.PERSON, why, hint)


def decide_at_goal(sprint: Sprint) -> Action | None:
    """Return a stop if the goal is reported as reached with urgent requests undecided."""
    plan = sprint.plan
    number = plan.iteration
    if plan.turns.claimed != number or number < max(1, min_iterations(plan.document)):
        return None
    waiting = urgent(sprint)
    if not waiting:
        return None
    return Action(
        STOP,
        because=actions.PERSON,
        why=f"the goal is claimed, but requests are undecided: {listed(waiting)}",
        hint="run `sprintlog queue list --status pending`, decide, then run `sprintlog "
        "goal complete` or let the loop continue",
        iteration=number,
    )


def on_request(sprint: Sprint, *, priority: str) -> Action | None:
    """Return a stop for undecided requests of at least this priority, or None."""
    waiting = urgent(sprint, priority=priority)
    if not waiting:
        return None
    hint = "run `sprintlog queue list --status pending`, and decide"
    return actions.stop(
        actions.PERSON, f"undecided urgent requests: {listed(waiting)}", hint
    )


def still(plan: Plan) -> str:
    """Return a sentence that states a stopped sprint's status and the reason for it.

    An imported document states no reason; the error at its pointer is used instead.
    """
    status = plan.status
    last = plan.last.sprint
    reason = None
    says = _SAYS.get(status)
    if says is not None and isinstance(last, says):
        reason = text_said(last.reason)
    elif status == words.BLOCKED:
        leaf = None if plan.is_at_goal else plan.pointed()
        reason = text_said(_error_at(leaf)) if leaf else plan.turns.error
    return f"the sprint is {status}" + (f": {reason}" if reason else "")


def leads_on(leaf: Node) -> str:
    """Return the commands with which a person can resume a failed or blocked leaf."""
    again = f"`sprintlog phase retry {leaf.address}`"
    return f"{again} or `sprintlog phase skip {leaf.address}`"


def is_stuck(leaf: Node | None) -> bool:
    """Return whether a leaf failed or is blocked, and therefore needs a person."""
    return leaf is not None and leaf.status in (words.FAILED, words.BLOCKED)


def blocked_gate(leaf: Node) -> Node | None:
    """Return the leaf or its nearest ancestor whose gate is blocked, or None."""
    nodes = (leaf, *leaf.above())
    return next((node for node in nodes if gate_status(node.data) == words.BLOCKED), None)


def text_said(value: object) -> str | None:
    """Return the value if it is a non-blank string, otherwise None."""
    return value if isinstance(value, str) and value.strip() else None


def stop_by_budget(sprint: Sprint, action: Action, now: str, *, of: str) -> Action | None:
    """Return a stop if the given action would exceed a budget, otherwise None."""
    if action.do not in _PAID and not (action.do == actions.GATE and action.prompt):
        return None
    found = budgets.standings(sprint, now, of=of)
    for one in found:
        # The sprint's iteration limit has its own stop, so a started iteration may finish.
        is_own = one.budget == budgets.ITERATIONS and of == budgets.OF_SPRINT
        goes_on = one.budget == budgets.ITERATIONS and not _begins(sprint.plan, action)
        if one.is_spent and not (is_own or goes_on):
            return _stop(sprint, one, action)
    for one in found:
        if one.budget in (COST, TOKENS) and one.budget in sprint.knowledge.loops.silent:
            return _silent(sprint, one, action)
    return None


def _begins(plan: Plan, action: Action) -> bool:
    """Return whether the action would start an iteration."""
    if action.do == actions.ITERATE:
        return not plan.turns.number
    return action.do == actions.WORK and not is_begun_for(plan, str(action.phase))


def _stop(sprint: Sprint, one: budgets.BudgetState, action: Action) -> Action:
    because = actions.LIMIT if one.budget == budgets.ITERATIONS else actions.BUDGET
    why = f"{SPENT}{budgets.said(one)}"
    option = f"--budget-{one.budget}"
    started = sprint.knowledge.loops.started
    if one.of == budgets.OF_RUN and started is not None:
        hint = f"use `{budgets.run_again(started)}` to continue with the same budget again"
    else:
        more = plus(one.limit, one.limit)
        if is_less(more, one.spent):
            more = plus(one.spent, one.limit)
        command = f"sprintlog iteration rules set {option} {typed(one.budget, more)}"
        again = budgets.run_again(started)
        free = budgets.amount(one.budget, minus(more, one.spent))
        hint = (
            f"run `{command}` to allow {free} more, then use `{again}` to restart the loop"
        )
    return actions.stop(because, why, hint, action)


def _silent(sprint: Sprint, one: budgets.BudgetState, action: Action) -> Action:
    started = sprint.knowledge.loops.started
    is_priced = started is not None and started.price is not None
    what = "its cost" if one.budget == COST else "its tokens"
    ways = []
    if one.budget == COST and is_priced:
        # The price applies to tokens, whose number is unknown as well.
        what = "its cost and tokens"
    elif one.budget == COST:
        computes = (
            "use `sprintlog run --price IN/OUT -- COMMAND` to compute it from the tokens"
        )
        ways = [f"{computes}; IN/OUT are dollars per million input and output tokens"]
    if one.of == budgets.OF_SPRINT:
        typed = f"sprintlog iteration rules set --budget-{one.budget} none"
        ways.append(f"run `{typed}`")
    else:
        again = budgets.run_again(started, with_budgets=False)
        ways.append(f"use `{again}` to continue without that budget")
    whose = "run" if one.of == budgets.OF_RUN else "sprint"
    why = f"the agent does not report {what}, so the {whose}'s budget cannot be kept"
    return actions.stop(actions.BUDGET, why, "; or ".join(ways), action)


def _error_at(leaf: Node) -> object:
    gate = blocked_gate(leaf)
    if gate is None:
        return leaf.data.get("error")
    error = mapping_of(gate.data, "gate-tracking").get("error")
    return f"phase {gate.address}: {error}" if text_said(error) else leaf.data.get("error")


def _last_words(output: object) -> str | None:
    """Return the last line of a gate's output, truncated, or None."""
    lines = (text_said(output) or "").strip().split("\n")
    return lines[-1].strip()[:_LAST_WORDS_MAX] or None


def _hint(status: str, leaf: Node | None, gate: Node | None) -> str:
    if status == words.PAUSED:
        return "`sprintlog sprint resume`"
    if status == words.PAUSED_AT_BREAKPOINT:
        return "review the work, then run `sprintlog sprint resume`"
    hint = "resolve the problem, then run `sprintlog sprint resume --by NAME --why TEXT`"
    if gate is not None:
        hint = f"{hint}, and `sprintlog gate run`"
        if gate is leaf and is_stuck(leaf):
            hint += f"; or have {leaf.address} done again: "
            hint += f"`sprintlog phase retry {leaf.address}`"
        return hint
    if leaf is not None and is_stuck(leaf):
        return f"{hint}, and {leads_on(leaf)}"
    return hint
