"""How requests of the operator queue are shown: to scripts as JSON, to people as lines."""

from collections.abc import Iterable
from typing import Any

import msgspec

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.engine.sprint.events import (
    EVENTS,
    REQUEST,
    Injection,
    RequestDecided,
    RequestQueued,
    RequestReopened,
    RequestReturned,
)
from sprintlog.engine.sprint.iterations.rollback import lies_on, path
from sprintlog.engine.sprint.plan.injection import addresses
from sprintlog.engine.sprint.queue.rules import Ruling
from sprintlog.engine.sprint.state.sprint import Sprint

OF_QUEUE = {event.type for event in EVENTS if event.subject.word == REQUEST.word}
Data = dict[str, Any]


def answer_of(sprint: Sprint, entry: Data) -> Data:
    """Return a request as scripts get it."""
    said = entry.get("decision")
    decision: Data = said if isinstance(said, dict) else {}
    last = sprint.plan.decisions.get(entry["id"])
    injection = decision.get("injection")
    keys = ("title", "description", "priority", "type", "status", "created-at")
    return {
        "sprint": sprint.id,
        "id": entry["id"],
        **{key.replace("-", "_"): entry.get(key) for key in keys},
        "discovered_in": entry.get("discovered-in"),
        "context": entry.get("context"),
        "taken_over_from": entry.get("taken-over-from"),
        "decided_at": entry.get("decided-at"),
        "decision": decision.get("decision"),
        "reasoning": decision.get("reasoning"),
        "rule": last.event.rule if last is not None and decision else None,
        "injection": _snake(injection) if isinstance(injection, dict) else None,
        "rejection_reason": entry.get("rejection-reason"),
        "deferred_until": entry.get("deferred-until"),
        "came_back_from": last.returned if last is not None else None,
    }


def ruling_answer(ruling: Ruling) -> Data:
    """Return what a rule decides, as scripts get it."""
    why = [x.reasoning for x in ruling.events if isinstance(x, RequestDecided)]
    came = [a for x in ruling.events if isinstance(x, Injection) for a in addresses(x)]
    return {
        "request": ruling.request,
        "rule": ruling.rule,
        "decision": ruling.decision,
        "reasoning": why[0] if why else None,
        "addresses": came,
        "problem": ruling.problem,
    }


def ruling_row(ruling: Ruling) -> list[str]:
    """Return what a rule decides as a row for people."""
    problem = f"refused: {ruling.problem}" if ruling.problem else ""
    by = f"by rule {ruling.rule}" if ruling.rule else ""
    return [ruling.request, ruling.decision or "no rule fits", by, problem]


def row_of(entry: Data) -> list[str]:
    """Return a request as a row of the list."""
    status, until = str(entry["status"]), entry.get("deferred-until")
    said = f"{status} ({until})" if until and status == "deferred" else status
    rest = [str(entry.get(key) or "") for key in ("priority", "type", "title")]
    return [entry["id"], said, *rest]


def history_of(sprint: Sprint, request: str, events: Iterable[RecordedEvent]) -> list[Data]:
    """Return what happened to a request, up to this version of its sprint."""
    live = path(sprint.knowledge.rollbacks, sprint.version)
    found = []
    for recorded in events:
        if recorded.type not in OF_QUEUE or recorded.version > sprint.version:
            continue
        event = CODEC.decode(recorded)
        if getattr(event, "request", None) != request:
            continue
        said: Data = {
            "version": recorded.version,
            "at": recorded.at,
            "actor": recorded.actor,
            "type": recorded.type,
            "in_force": isinstance(event, RequestQueued) or lies_on(live, recorded.version),
        }
        if isinstance(event, RequestDecided):
            said |= {"decision": event.decision, "reasoning": event.reasoning}
            said["rule"] = event.rule
        if isinstance(event, RequestReopened):
            said["reason"] = event.reason
        if isinstance(event, RequestReturned):
            said["until"] = event.until
        found.append(said)
    return found


def lines_of(answer: Data, history: list[Data]) -> list[str]:
    """Return a request as lines for people."""
    lines = [f"{answer['id']}  {answer['status']}  {answer['priority']} {answer['type']}"]
    lines.append(f"  {answer['title']}")
    if answer["description"] not in (None, answer["title"]):
        lines += [f"  {line}" for line in str(answer["description"]).split("\n")]
    for name in _SHOWN:
        if (value := answer[name]) is not None:
            shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            lines.append(f"  {name.replace('_', ' ')}: {shown}")
    return [*lines, *(_line(said) for said in history)]


_SHOWN = (
    *("created_at", "discovered_in", "taken_over_from", "context", "decided_at"),
    *("decision", "reasoning", "rule", "injection", "rejection_reason", "deferred_until"),
    "came_back_from",
)


def _line(said: Data) -> str:
    what = said["type"]
    if "decision" in said:
        by = f" by rule {said['rule']}" if said["rule"] else ""
        what = f"{said['decision']}{by}: {said['reasoning']}"
    elif "until" in said:
        what = f"came back, {said['until']} was reached"
    elif "reason" in said:
        what = f"reopened: {said['reason']}"
    voided = "" if said["in_force"] else "  (rolled back)"
    return f"  {said['at']}  version {said['version']}  {said['actor']}  {what}{voided}"


def _snake(injection: Data) -> Data:
    return {"id_prefix" if k == "idPrefix" else k: v for k, v in injection.items()}
