"""Typed access to the fields of a document, which may contain anything.

A field of the wrong type is treated as missing. The second half of the module reads the
settings of the loop for a goal.
"""

from enum import Enum
from typing import Any, Final

import msgspec


class Missing(Enum):
    """The marker for a missing field, because `null` is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


def text_of(data: Any, key: str) -> str | None:
    """Return a field if it is a non-empty string, otherwise None."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) and value else None


def mapping_of(data: Any, key: str) -> dict[str, Any]:
    """Return a field if it is a mapping, otherwise an empty mapping."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def list_of(data: Any, key: str) -> list[Any]:
    """Return a field if it is a list, otherwise an empty list."""
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, list) else []


def count_of(data: dict[str, Any], key: str) -> int:
    """Return a field if it is a positive integer, otherwise 0."""
    value = data.get(key)
    return value if type(value) is int and value > 0 else 0


IDLE_THRESHOLD = 3
"""The number of iterations without progress before reflection starts."""
ITERATIONS_MAX = 100
"""The default maximum number of iterations towards a goal."""
NOT_LEFT: dict[str, Any] = {"detected-at": None, "iteration": None, "final-summary": None}
"""The value of `ralph-exit` until the goal is reached."""
LOOP_IN = "the loop in "
"""The start of the goal that is generated for a wrapped command's loop."""
RALPH = "ralph"
HOOKS = "per-iteration-hooks"


class Hook(msgspec.Struct, frozen=True):
    """An enabled entry of `per-iteration-hooks`."""

    id: str
    workflow: str | None
    prompt: str | None
    command: str | None
    parallel: bool


def ralph_fields(
    goal: str,
    *,
    idle_threshold: int | None = None,
    min_iterations: int | None = None,
    hooks: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the fields that a document has in Ralph mode, in display order."""
    ralph: dict[str, Any] = {"idle-threshold": idle_threshold or IDLE_THRESHOLD}
    if min_iterations is not None:
        ralph["min-iterations"] = min_iterations
    return {
        "mode": RALPH,
        "goal": goal,
        "ralph": ralph,
        **({HOOKS: hooks} if hooks else {}),
        "dynamic-steps": [],
        "hook-tasks": [],
        "ralph-exit": dict(NOT_LEFT),
    }


def max_iterations(document: dict[str, Any]) -> int | None:
    """Return the maximum number of iterations, or None; 0 in a document means no limit."""
    given = mapping_of(document, "stats").get("max-iterations")
    if type(given) is int and given >= 0:
        return given or None
    return ITERATIONS_MAX if document.get("mode") == RALPH else None


def idle_threshold(document: dict[str, Any]) -> int:
    """Return the number of idle iterations after which the loop reflects."""
    return count_of(mapping_of(document, "ralph"), "idle-threshold") or IDLE_THRESHOLD


def min_iterations(document: dict[str, Any]) -> int:
    """Return the first iteration in which the goal can be reached; 0 if any can."""
    return count_of(mapping_of(document, "ralph"), "min-iterations")


def goal_said(document: dict[str, Any]) -> str | None:
    """Return the first line of the goal, or None if no goal was set.

    The generated goal of a wrapped loop's sprint is ignored.
    """
    goal = (text_of(document, "goal") or "").strip().partition("\n")[0]
    is_name = goal.startswith(LOOP_IN) and max_iterations(document) is None
    return None if not goal or is_name else goal


def steps_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the steps by id; steps without an id are omitted."""
    return {
        step["id"]: step
        for step in list_of(document, "dynamic-steps")
        if isinstance(step, dict) and isinstance(step.get("id"), str)
    }


def hooks_of(document: dict[str, Any]) -> list[Hook]:
    """Return the enabled hooks in order."""
    found: dict[str, Hook] = {}
    for hook in list_of(document, HOOKS):
        identity = text_of(hook, "id")
        if identity is None or hook.get("enabled") is False or identity in found:
            continue
        actions = (text_of(hook, name) for name in ("workflow", "prompt", "command"))
        workflow, prompt, command = actions
        is_parallel = hook.get("parallel") is True
        found[identity] = Hook(identity, workflow, prompt, command, is_parallel)
    return list(found.values())
