"""The next action of a sprint, as a pure function of its state and the time.

A loop in any language asks for the next action, performs it, records the result, and asks
again; it needs no state besides the log. This module determines the actions for phases, for
a goal, and for judging the last iteration.
"""

from msgspec.structs import replace

from ...log.event import made_from
from ..iterations import loop, loop_changes
from ..iterations.budgets import OF_SPRINT
from ..iterations.follow_up import Do, due, loop_rules
from ..iterations.hook_tasks import hooks_due, transcript_of
from ..phases import lifecycle, retry, waits
from ..phases.gate import find_gate, gate_of, is_due, next_attempt, repair_prompt
from ..state import document_fields, transitions, words
from ..state.completion import done_work
from ..state.sprint import Plan, Sprint
from ..state.tree import Node, gate_is_open, gate_status
from ..state.words import COMPLETED, FINISHED, IN_PROGRESS, PASSED, PENDING
from . import actions, stops
from .prompt import goal_parts, goal_prompt

_WORKS = (actions.WORK, actions.ITERATE, actions.GATE)


def next_action(
    sprint: Sprint, *, now: str, spent_by: str | None = None, has_budgets: bool = True
) -> actions.Action:
    """Return the action to take now; raise `NotFoundError` if the sprint has no plan.

    If `has_budgets` is set, return a stop action if the action would exceed the sprint's
    budget. The time of a lost run counts only up to `spent_by`.
    """
    transitions.check_exists(sprint)
    action = _due(sprint, now)
    if not has_budgets:
        return action
    return stops.stop_by_budget(sprint, action, spent_by or now, of=OF_SPRINT) or action


def with_fallback(sprint: Sprint, action: actions.Action, *, now: str) -> actions.Action:
    """Return the action for the fallback agent if a limit blocks the loop's own agent.

    Return `action` unchanged if there is no limit or if the fallback is blocked as well.
    """
    waiting = waits.limit_of_own(sprint.plan)
    if waiting is None or not waiting.holds(now):
        return action
    if action.do == actions.WAIT and action.waits_for:
        action = next_action(sprint, now=waiting.until, spent_by=now)
    if action.do not in _WORKS or action.prompt is None:
        return action
    place = action.phase or "", None if action.phase else action.iteration
    # The fallback receives the same prompt but chooses its own model.
    resumed = action.resumed and not waiting.is_of(*place)
    limit = {"until": waiting.until, "waits_for": waiting.waits_for, "why": waiting.why}
    return replace(action, is_fallback=True, resumed=resumed, model=None, **limit)


def run_hooks(plan: Plan) -> actions.Action | None:
    """Return the action that runs the hooks due for the last ended iteration, or None."""
    number = loop.last_ended_iteration(plan)
    runs = tuple(run_of(hook, number) for hook in hooks_due(plan))
    return actions.Action(actions.HOOKS, iteration=number, hooks=runs) if runs else None


def run_of(hook: document_fields.Hook, number: int) -> actions.HookRun:
    """Return the run of a hook for the given iteration."""
    return made_from(actions.HookRun, hook, transcript=transcript_of(number, hook.id))


def failure_said(sprint: Sprint) -> str | None:
    """Return the iteration's last error and, if known, the number of failures in a row."""
    failed, turns = sprint.plan.last.failure, sprint.plan.turns
    if failed is None:
        return turns.error
    count = turns.failures - turns.forgiven
    most = retry.failures_survived(sprint, failed.category)
    return f"{turns.error} (failure {count} in a row, at most {most})"


def work_on_goal(sprint: Sprint, now: str) -> actions.Action:
    """Return the action to run the next iteration, to wait first, or to stop."""
    plan, turns = sprint.plan, sprint.plan.turns
    if not turns.number and (stop := stops.decide_at_goal(sprint) or stops.used_up(sprint)):
        return stop
    number = turns.number or sprint.knowledge.iteration_max + 1
    if turns.due is not None and not actions.is_over(turns.due, now):
        why = failure_said(sprint)
        return actions.Action(
            actions.WAIT, until=turns.due, why=why, iteration=number, hint=actions.ASK_NOW
        )
    if waiting := waits.wait_in_force(plan, iteration=number, now=now):
        return actions.waits(waiting)
    reflects = loop_changes.reflection_is_due(plan)
    return actions.Action(
        actions.ITERATE,
        iteration=number,
        prompt=goal_prompt(goal_parts(sprint, number=number, reflects=reflects)),
        model=stops.text_said(plan.document.get("model")),
        attempt=turns.failures + 1,
        resumed=turns.number > 0,
        reflection=reflects,
    )


def judge_first(sprint: Sprint) -> actions.Action | None:
    """Return the action that must follow the last iteration before any other, or None."""
    found = due(sprint)
    if found is None:
        return None
    number = found.number
    if found.do is Do.MEASURE:
        keeps = loop_rules(sprint).keeps_files
        hint = "`sprintlog iteration measure --by-rules`"
        return actions.Action(
            actions.MEASURE, iteration=number, keeps_files=keeps, hint=hint
        )
    if found.do is Do.DECIDE:
        hint = "`sprintlog iteration decide`"
        return actions.Action(actions.DECIDE, iteration=number, hint=hint)
    if found.do is Do.RESTORE:
        hint = f"`sprintlog rollback iter:{found.target} --yes`"
        return actions.Action(
            actions.RESTORE, iteration=number, target=found.target, why=found.why, hint=hint
        )
    return actions.Action(
        actions.STOP,
        because=actions.PERSON if found.do is Do.ASK else actions.JUDGE,
        iteration=number,
        target=found.target,
        why=found.why,
        hint=found.hint,
    )


def with_judging(sprint: Sprint, action: actions.Action) -> actions.Action:
    """Return the action, with an iteration number if each agent run is an iteration.

    An attempt to fix a failed gate also counts, so the iteration limit may stop it.
    """
    rules, plan = loop_rules(sprint), sprint.plan
    is_work = action.do in _WORKS and action.prompt is not None
    if not is_work or (rules.measure is None and not rules.keeps_files):
        return action
    number = action.iteration
    if action.phase is not None:
        goes_on = loop.is_begun_for(plan, action.phase)
        if action.do == actions.GATE and not goes_on and (stop := stops.used_up(sprint)):
            return stop
        number = plan.iteration if goes_on else sprint.knowledge.iteration_max + 1
    return replace(action, iteration=number, keeps_files=rules.keeps_files)


def _due(sprint: Sprint, now: str) -> actions.Action:
    """Return the next action without checking the budgets."""
    plan = sprint.plan
    # An iteration's hooks run before anything else, even after the last iteration.
    if plan.status in (IN_PROGRESS, COMPLETED) and (hooks := run_hooks(plan)):
        return hooks
    return judge_first(sprint) or with_judging(sprint, _go_on(sprint, now))


def _go_on(sprint: Sprint, now: str) -> actions.Action:
    """Return the next action if nothing is due for the last iteration."""
    plan = sprint.plan
    if plan.status != IN_PROGRESS:
        return _of_sprint(plan)
    leaf = plan.tree.open_leaf()
    if leaf is None and plan.is_ralph:
        return work_on_goal(sprint, now)
    if leaf is None:
        return stops.decide_first(sprint) or actions.Action(actions.COMPLETE)
    if leaf.status in FINISHED:
        return _gate(plan, find_gate(sprint, None), now)
    if leaf.is_empty and leaf.status in (PENDING, IN_PROGRESS):
        if gate_is_open(leaf.data):
            return _gate(plan, leaf, now)
        return actions.Action(actions.END, phase=leaf.address)
    if leaf.status == PENDING:
        goes_on = loop.is_begun_for(plan, leaf.address)
        return (None if goes_on else stops.used_up(sprint)) or _work(leaf)
    if leaf.status == words.BLOCKED and is_due(leaf):
        return _gate(plan, leaf, now)
    if leaf.status != IN_PROGRESS:
        return _after_failure(leaf, now)
    return _in_progress(sprint, leaf, now)


def _in_progress(sprint: Sprint, leaf: Node, now: str) -> actions.Action:
    word, is_done = gate_status(leaf.data), done_work(sprint.plan, leaf.address) is not None
    if word == PASSED or (word is None and is_done):
        return actions.Action(actions.END, phase=leaf.address)
    # A gate that has run implies that the work was done, regardless of who recorded it.
    if word is not None and (is_done or word != PENDING):
        return _gate(sprint.plan, leaf, now)
    waiting = waits.wait_in_force(sprint.plan, phase=leaf.address, now=now)
    return actions.waits(waiting) if waiting else _work(leaf)


def _of_sprint(plan: Plan) -> actions.Action:
    """Return the action for a sprint that is not in progress."""
    match plan.status:
        case words.NOT_STARTED:
            return actions.Action(actions.START)
        case words.INTERRUPTED:
            return actions.Action(actions.RESUME, why=stops.still(plan), hint=stops.GO_ON)
        case words.COMPLETED:
            return actions.Action(actions.DONE)
        case _:
            return stops.stop_of(plan)


def _work(leaf: Node) -> actions.Action:
    prompt, model = stops.text_said(leaf.data.get("prompt")), _model(leaf)
    if prompt is None:
        return actions.Action(
            actions.STOP,
            because=actions.PERSON,
            phase=leaf.address,
            why=f"phase {leaf.address} has no prompt",
            hint="skip the phase, or record its result by hand",
        )
    return actions.Action(
        actions.WORK,
        phase=leaf.address,
        prompt=prompt,
        model=model,
        attempt=1 + document_fields.count_of(leaf.data, "retry-count"),
        resumed=leaf.status == IN_PROGRESS,
        gated=gate_is_open(leaf.data),
    )


def _gate(plan: Plan, node: Node, now: str) -> actions.Action:
    if gate_of(node).script is None:
        return actions.Action(
            actions.STOP,
            because=actions.PERSON,
            phase=node.address,
            why=f"the gate of phase {node.address} has no script",
            hint="use `sprintlog gate record --exit-code N` to record a result from "
            "elsewhere",
        )
    prompt = repair_prompt(plan, node)
    if prompt and (waiting := waits.wait_in_force(plan, phase=node.address, now=now)):
        return actions.waits(waiting)
    return actions.Action(
        actions.GATE,
        phase=node.address,
        prompt=prompt,
        model=_model(node),
        attempt=next_attempt(plan, node),
    )


def _after_failure(leaf: Node, now: str) -> actions.Action:
    due = leaf.data.get("next-retry-at")
    if isinstance(due, str):
        is_due = actions.is_over(due, now)
        return actions.Action(
            actions.RETRY if is_due else actions.WAIT,
            phase=leaf.address,
            until=None if is_due else due,
            why=stops.text_said(leaf.data.get("error")),
        )
    return actions.Action(
        actions.STOP,
        because=actions.PERSON if lifecycle.need_of(leaf) else actions.BLOCKED,
        phase=leaf.address,
        why=stops.text_said(leaf.data.get("error"))
        or f"phase {leaf.address} is {leaf.status}",
        hint=stops.leads_on(leaf),
    )


def _model(node: Node | None) -> str | None:
    """Return the model of a node, or of its nearest ancestor that specifies a model."""
    while node is not None:
        if model := stops.text_said(node.data.get("model")):
            return model
        node = node.parent
    return None
