"""What a plan says of a gate: read in one place, whichever way the plan came in."""

import math
from typing import Any, TypeGuard

import msgspec

from ...errors import RefusedError
from ..state.tree import CHILDREN, Data, Node

GATE_RETRIES = 3
"""The default number of retries after a failed gate."""
GATE_TIMEOUT_SECONDS = 60
"""The default timeout of a gate's script, in seconds."""
GATE_TIMEOUT_SECONDS_MAX = 7 * 24 * 60 * 60
"""Longer than a week nobody waits, and no clock of the system can be set."""

FIELDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "script": (("script",),),
    "on-fail-prompt": (("on-fail-prompt",), ("on-fail", "prompt")),
    "max-retries": (("max-retries",), ("on-fail", "max-retries")),
    "timeout": (("timeout",),),
}
"""The paths of each part of a gate, compiled first, then authored (SPR-101)."""


class GatePolicy(msgspec.Struct, frozen=True):
    """What a plan says of a gate, and what holds where it says nothing."""

    script: str | None
    on_fail_prompt: str | None
    retries_max: int = GATE_RETRIES
    timeout_seconds: float = GATE_TIMEOUT_SECONDS

    @property
    def attempts_max(self) -> int:
        """Return how often it may be tried before it blocks."""
        return 1 + self.retries_max


def said_of_gate(gate: object, part: str) -> tuple[tuple[str, ...], Any]:
    """Return what a gate says of one of its parts, and where; None where nothing."""
    for path in FIELDS[part]:
        value = gate
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return path, value
    return FIELDS[part][0], None


def gate_of(node: Node) -> GatePolicy:
    """Return a node's gate; what cannot be one counts as not said."""
    gate = node.data.get("gate")
    said = {
        part: value
        for part in FIELDS
        if _problem(part, value := said_of_gate(gate, part)[1]) is None
    }
    return GatePolicy(
        said.get("script"),
        said.get("on-fail-prompt"),
        said.get("max-retries", GATE_RETRIES),
        said.get("timeout", GATE_TIMEOUT_SECONDS),
    )


def gate_problems(gate: Data) -> list[tuple[str, str]]:
    """Return what in a gate counts as not said: the field and why."""
    found = []
    for part in FIELDS:
        path, value = said_of_gate(gate, part)
        problem = _problem(part, value)
        if problem is not None and (value is not None or part == "script"):
            found.append((".".join(path), problem))
    return found


def check_gate(gate: object, field: str) -> None:
    """Raise `RefusedError` unless a plan may have this gate."""
    if not isinstance(gate, dict):
        raise RefusedError(f"{field}: must be a mapping with a script", field=field)
    if not isinstance(gate.get("on-fail", {}), dict):
        raise RefusedError(f"{field}.on-fail: must be a mapping", field=f"{field}.on-fail")
    for part, problem in gate_problems(gate):
        raise RefusedError(f"{field}.{part}: {problem}", field=f"{field}.{part}")


def check_gates(nodes: object, field: str, *, level: int = 1) -> None:
    """Raise `RefusedError` unless a plan may have these nodes' gates; shapes are right."""
    for index, node in enumerate(nodes if isinstance(nodes, list) else ()):
        where = f"{field}[{index}]"
        if isinstance(node, dict):
            if node.get("gate") is not None:
                check_gate(node["gate"], f"{where}.gate")
            if level < len(CHILDREN):
                key = CHILDREN[level]
                check_gates(node.get(key), f"{where}.{key}", level=level + 1)


def _problem(part: str, value: object) -> str | None:
    """Return why a value cannot be that part of a gate."""
    if part == "max-retries":
        is_one = type(value) is int and value >= 0
        return None if is_one else "must be a whole number, 0 or more"
    if part == "timeout":
        if _is_duration(value) and value <= GATE_TIMEOUT_SECONDS_MAX:
            return None
        return f"must be a number of seconds, more than 0 to {GATE_TIMEOUT_SECONDS_MAX}"
    if not isinstance(value, str):
        return "must be text"
    if not value.strip():
        return "has no text"
    return "holds a NUL, which no script can" if "\0" in value else None


def _is_duration(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and 0 < value < math.inf  # type: ignore[operator]
