"""What a phase or a step says follows from what is below it: status, error, times."""

from typing import Any

from .node import Node, gate_is_open, gate_status
from .times import elapsed
from .words import BLOCKED, COMPLETED, FAILED, FINISHED, IN_PROGRESS, PENDING, SKIPPED

Data = dict[str, Any]


def derived_status(node: Node) -> str:
    """Return a parent's status from its children's (SPR-052, SPR-053)."""
    tally, total = node.tally, len(node.children)
    if tally[BLOCKED]:
        return BLOCKED
    if tally[FAILED]:
        return FAILED
    if tally[COMPLETED] + tally[SKIPPED] == total:
        if tally[SKIPPED] == total:
            return SKIPPED
        if not gate_is_open(node.data):
            return COMPLETED
        return BLOCKED if gate_status(node.data) == BLOCKED else IN_PROGRESS
    return PENDING if tally[PENDING] == total else IN_PROGRESS


def waits_for_gate(node: Node) -> bool:
    """Tell whether only its gate keeps a parent from its end.

    That goes by its leaves: a document may say something else of what is between.
    """
    if not gate_is_open(node.data):
        return False
    done = node.tally[COMPLETED]
    if done + node.tally[SKIPPED] == len(node.children):
        return done > 0
    words = {leaf.status for leaf in node.leaves()}
    gates = any(waits_for_gate(x) if x.children else needs_gate(x) for x in node.walk())
    return words <= FINISHED and COMPLETED in words and not gates


def needs_gate(leaf: Node) -> bool:
    """Tell whether a completed leaf waits for its own gate."""
    return leaf.status == COMPLETED and gate_is_open(leaf.data)


def put(data: Data, key: str, value: Any) -> None:
    """Set a key; a new one goes before a list of children that stands last."""
    last = next(reversed(data), None)
    data[key] = value
    if last in ("steps", "phases"):
        data[last] = data.pop(last)


def drop(data: Data, *keys: str) -> None:
    """Take keys away that are there."""
    for key in keys:
        if key in data:
            del data[key]


def note_error(parent: Node) -> None:
    """Keep a parent's error that of its first failed or blocked child, or of its gate."""
    data, source = parent.data, None
    if parent.tally[FAILED] or parent.tally[BLOCKED]:
        source = next(x.data for x in parent.children if x.status in (FAILED, BLOCKED))
    elif gate_status(data) == BLOCKED:
        source = data["gate-tracking"]
    if source is None:
        data.pop("error", None)
    elif (error := source.get("error")) is not None:
        put(data, "error", error)


def say_elapsed(data: Data) -> None:
    """Say what a leaf took, where there are yet the two times it lies between.

    To reckon that takes longer than the rest of an event, and most leaves of a long stream
    are done again: so a fold says it of the last end only.
    """
    if type(span := data.get("elapsed")) is tuple:
        if (duration := elapsed(*span)) is None:
            del data["elapsed"]
        else:
            data["elapsed"] = duration


def note_times(data: Data, status: str, at: str) -> None:
    """Keep a parent's times in step with its derived status."""
    if status == PENDING:
        data.pop("started-at", None)
    if status == IN_PROGRESS and not data.get("started-at"):
        put(data, "started-at", at)
    if status == COMPLETED:
        put(data, "completed-at", at)
        if (duration := elapsed(data.get("started-at"), at)) is not None:
            put(data, "elapsed", duration)
    else:
        for key in ("completed-at", "elapsed", "summary"):
            data.pop(key, None)
