"""Random requests for the operator queue, and random decisions on them."""

from typing import Any

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.plan.insertion_points import AFTER_CURRENT, POSITIONS
from sprintlog.engine.sprint.queue import decisions
from sprintlog.engine.sprint.queue.requests import QueueRequests, SubmittedRequest
from sprintlog.engine.sprint.queue.rules import DEFAULT_RULES, decide_by_rules
from sprintlog.engine.sprint.state.queue import takes_part
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import DEFERRALS, PRIORITIES, REQUEST_TYPES

KINDS = ("approve", "reject", "defer", "defer", "defer", "backlog", "reopen")


def move_queue(sprint: Sprint, *, i: int, j: int, at: str) -> list[Event]:
    """Decide on a move in the queue that two numbers choose."""
    ids = [entry["id"] for entry in sprint.queue if takes_part(entry)]
    if i % 4 == 0 or not ids:
        identity = f"r{j % 7}" if j % 3 == 0 else None
        priority, kind = PRIORITIES[j % 4], REQUEST_TYPES[i % 6]
        asked = SubmittedRequest(
            f"x{j}", priority, kind, request=identity, context={"j": j}
        )
        return QueueRequests(requests=[asked] * (1 if identity else 1 + j % 2)).decide(
            sprint, at
        )
    if i % 23 == 22:
        rulings = decide_by_rules(sprint, rules=DEFAULT_RULES[: 1 + j % 3], at=at)
        return [event for ruling in rulings for event in ruling.events]
    said: dict[str, Any] = {"request": ids[j % len(ids)], "reasoning": f"w{j % 2}"}
    match KINDS[i % len(KINDS)]:
        case "approve":
            position = POSITIONS[j % len(POSITIONS)]
            is_alone = position in (AFTER_CURRENT, "end-of-phase", "end-of-workflow")
            said["position"] = InjectionPosition(position if is_alone else AFTER_CURRENT)
            said["id_prefix"] = None if j % 2 else "fix"
            return decisions.ApproveRequest(**said).decide(sprint, at)
        case "reject":
            return decisions.RejectRequest(**said).decide(sprint, at)
        case "defer":
            return decisions.DeferRequest(**said, until=DEFERRALS[j % 3]).decide(sprint, at)
        case "reopen":
            return decisions.ReopenRequest(
                request=said["request"], reason=said["reasoning"]
            ).decide(sprint, at)
        case _:
            return decisions.BacklogRequest(**said).decide(sprint, at)
