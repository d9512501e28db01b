"""The completion of leaves, phases and the sprint, and the requests that prevent it.

The work on a leaf can be done before the leaf ends. A sprint pauses for a review after a
phase with `break: true`.
"""

from collections.abc import Sequence

from ...log.event import Event
from .. import events as f
from . import queue, words
from .sprint import Plan, Sprint
from .tree import Data, Node, gate_is_open

ANSWER, WRAPPED, AGENT = "answer", "wrapped", "agent"
LOOP, PERSON, CONDITION = "loop", "person", "condition"
"""The sources of claims."""


def breakpoint_after(node: Node, status: str) -> list[Event]:
    """Return the breakpoint that is reached if the end of a node completes its phase.

    `status` is the future status of the node: `completed` or `skipped`.
    """
    while node.level > 1 and node.parent is not None:
        parent = node.parent
        statuses = {
            status,
            *(child.status for child in parent.children if child is not node),
        }
        if not statuses <= words.FINISHED:
            return []
        status = words.COMPLETED if words.COMPLETED in statuses else words.SKIPPED
        if status == words.COMPLETED and gate_is_open(parent.data):
            return []
        node = parent
    if status == words.COMPLETED and node.data.get("break") is True:
        return [f.BreakpointReached(node.address)]
    return []


def breakpoint_after_skipping(node: Node) -> list[Event]:
    """Return the breakpoint that is reached if a node's unfinished leaves are skipped."""
    if any(gate_is_open(x.data) and _is_done(x) for x in (node, *node.walk())):
        return []
    return breakpoint_after(node, words.COMPLETED if _is_done(node) else words.SKIPPED)


def _is_done(node: Node) -> bool:
    """Return whether there is completed work for a gate to check."""
    return any(leaf.status == words.COMPLETED for leaf in node.leaves())


def done_work(plan: Plan, address: str) -> f.WorkDone | None:
    """Return the `WorkDone` event of a leaf that has not ended yet, or None."""
    work = plan.last.work
    return work.of(address) if address in work else None


def open_claim(plan: Plan) -> f.GoalClaimed | None:
    """Return the latest iteration's claim if it has not been decided yet, or None."""
    claim, decided = plan.last.claim, plan.last.decided
    if claim is None or claim.reason is not None or decided is not None:
        return None
    is_latest = claim.iteration == plan.iteration
    return claim if is_latest and plan.status != words.COMPLETED else None


def refusal_of(plan: Plan) -> str | None:
    """Return why the last claim was refused or could not be accepted yet, or None."""
    claim, decided = plan.last.claim, plan.last.decided
    if claim is None or plan.status == words.COMPLETED:
        return None
    return decided.reason if isinstance(decided, f.ClaimRefused) else claim.reason


def goal_standing(plan: Plan) -> str:
    """Return a phrase that states whether the goal is reached, and how that is known."""
    claim, decided, done = plan.last.claim, plan.last.decided, plan.last.sprint
    if plan.status != words.COMPLETED:
        if why := refusal_of(plan):
            return f"claimed, refused: {why}"
        in_ = "" if claim is None else f"claimed in iteration {claim.iteration}, "
        return f"{in_}not verified" if in_ else "not reached"
    if not isinstance(done, f.GoalCompleted):
        return "given up" if getattr(done, "abandons_goal", False) else "not reached"
    if isinstance(decided, f.ClaimAccepted):
        return f"reached, verified: {decided.reason}"
    if done.source == PERSON:
        return "reached, according to a person; not verified"
    by = {LOOP: " by the loop", "": ""}.get(done.source, " by the agent")
    return f"claimed{by}, not verified"


def waits_to_go_on(plan: Plan) -> bool:
    """Return whether a leaf whose work is done waits for a stopped sprint to resume."""
    if plan.status not in words.STOPPED:
        return False
    begun = (leaf for leaf in plan.tree.leaves if leaf.status == words.IN_PROGRESS)
    return any(done_work(plan, leaf.address) for leaf in begun)


def has_ended(plan: Plan) -> bool:
    """Return whether nothing is left to do; in Ralph mode, only the goal decides."""
    if plan.status == words.COMPLETED:
        return True
    tree = plan.tree
    return tree.leaf_count > 0 and not plan.is_ralph and tree.open_leaf() is None


def finished_phases(plan: Plan) -> set[str]:
    """Return the addresses of the finished top-level phases.

    Phases that the pointer passes over are not included.
    """
    return {
        phase.address
        for phase in plan.tree.root.children
        if not phase.is_passed_over
        and phase.status in words.FINISHED
        and (phase.status == words.SKIPPED or not gate_is_open(phase.data))
    }


HIGH = words.PRIORITIES[1]
"""The lowest priority of urgent requests, which prevent the sprint from completing."""
NEXT_SPRINT = words.DEFERRALS[-1]


def urgent(sprint: Sprint, *, priority: str = HIGH, put_off: bool = False) -> list[str]:
    """Return the ids of the pending requests that have at least this priority.

    With `put_off`, include requests that are deferred until later in this sprint.
    """
    priorities = words.PRIORITIES[: words.PRIORITIES.index(priority) + 1]
    return [
        entry["id"]
        for entry in filter(queue.takes_part, sprint.queue)
        if entry.get("priority") in priorities
        and (entry["status"] == words.PENDING or (put_off and _comes_back(entry)))
    ]


def undecided_at_end(sprint: Sprint) -> list[str]:
    """Return the requests that a person must decide before the sprint is finished.

    These are the urgent requests and the requests that are pending again.
    """
    return list(dict.fromkeys([*urgent(sprint), *came_back(sprint)]))


def listed(requests: Sequence[str]) -> str:
    """Return the first few request ids as one line."""
    return ", ".join(requests[:5]) + (" …" if len(requests) > 5 else "")


def came_back(sprint: Sprint) -> list[str]:
    """Return the requests that are pending again after a deferral or a decision."""
    returned = [i for i, last in sprint.plan.decisions.items() if last.returned is not None]
    if not returned:
        return []
    there = {entry["id"] for entry in sprint.queue if queue.takes_part(entry)}
    return [identity for identity in returned if identity in there]


def _comes_back(entry: Data) -> bool:
    return entry["status"] == words.DEFERRED and entry.get("deferred-until") != NEXT_SPRINT
