"""The settings of a goal's loop in the document of a Ralph sprint; pure."""

from typing import NamedTuple

from .document_fields import count_of, list_of, mapping_of, text_of
from .tree import Data

IDLE_THRESHOLD = 3
"""Iterations without progress before reflection starts."""
ITERATIONS_MAX = 100
"""The default maximum number of iterations towards a goal."""
NOT_LEFT: Data = {"detected-at": None, "iteration": None, "final-summary": None}
"""`ralph-exit` until the goal is reached."""
LOOP_IN = "the loop in "
"""How the goal begins of a loop that said none: a command that was wrapped."""
RALPH = "ralph"
HOOKS = "per-iteration-hooks"


class Hook(NamedTuple):
    """One entry of `per-iteration-hooks` that is switched on."""

    id: str
    workflow: str | None
    prompt: str | None
    command: str | None
    is_parallel: bool


def ralph_fields(
    goal: str,
    *,
    idle_threshold: int | None = None,
    min_iterations: int | None = None,
    hooks: list[Data] | None = None,
) -> Data:
    """Return the fields of a document in Ralph mode, in the order they are shown."""
    ralph: Data = {"idle-threshold": idle_threshold or IDLE_THRESHOLD}
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


def max_iterations(document: Data) -> int | None:
    """Return how many iterations may begin; 0 in a document stands for no limit."""
    given = mapping_of(document, "stats").get("max-iterations")
    if type(given) is int and given >= 0:
        return given or None
    return ITERATIONS_MAX if document.get("mode") == RALPH else None


def idle_threshold(document: Data) -> int:
    """Return after how many idle iterations the loop reflects."""
    return count_of(mapping_of(document, "ralph"), "idle-threshold") or IDLE_THRESHOLD


def min_iterations(document: Data) -> int:
    """Return the first iteration in which the goal can be reached; 0 for any."""
    return count_of(mapping_of(document, "ralph"), "min-iterations")


def goal_said(document: Data) -> str | None:
    """Return the first line of the goal; None if none was set.

    The sprint of a wrapped loop has a name as its goal, and no limit.
    """
    goal = (text_of(document, "goal") or "").strip().partition("\n")[0]
    is_name = goal.startswith(LOOP_IN) and max_iterations(document) is None
    return None if not goal or is_name else goal


def hooks_of(document: Data) -> list[Hook]:
    """Return the hooks that are switched on, in their order."""
    found: dict[str, Hook] = {}
    for hook in list_of(document, HOOKS):
        identity = text_of(hook, "id")
        if identity is None or hook.get("enabled") is False or identity in found:
            continue
        found[identity] = Hook(
            identity,
            text_of(hook, "workflow"),
            text_of(hook, "prompt"),
            text_of(hook, "command"),
            hook.get("parallel") is True,
        )
    return list(found.values())
