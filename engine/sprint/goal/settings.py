"""What a Ralph sprint's document says of how its loop is to go; pure readings of it."""

from typing import Any, NamedTuple

from ..state.tree import Data

IDLE_THRESHOLD = 3
"""Iterations without progress before reflection starts (R53)."""
ITERATIONS_MAX = 100
"""How many iterations a loop towards a goal may begin, unless it is said otherwise."""
NOT_LEFT: Data = {"detected-at": None, "iteration": None, "final-summary": None}
"""`ralph-exit` until the goal is reached (R68)."""
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
    stats = document.get("stats")
    given = stats.get("max-iterations") if isinstance(stats, dict) else None
    if type(given) is int and given >= 0:
        return given or None
    return ITERATIONS_MAX if document.get("mode") == RALPH else None


def idle_threshold(document: Data) -> int:
    """Return after how many idle iterations the loop reflects."""
    given = _setting(document, "idle-threshold")
    return given if type(given) is int and given > 0 else IDLE_THRESHOLD


def min_iterations(document: Data) -> int:
    """Return the first iteration in which the goal can be reached; 0 for any."""
    given = _setting(document, "min-iterations")
    return given if type(given) is int and given > 0 else 0


def hooks_of(document: Data) -> list[Hook]:
    """Return the hooks that are switched on, in their order."""
    given = document.get(HOOKS)
    found: dict[str, Hook] = {}
    for hook in given if isinstance(given, list) else ():
        identity = _text(hook, "id")
        if identity is None or hook.get("enabled") is False or identity in found:
            continue
        found[identity] = Hook(
            identity,
            _text(hook, "workflow"),
            _text(hook, "prompt"),
            _text(hook, "command"),
            hook.get("parallel") is True,
        )
    return list(found.values())


def _setting(document: Data, key: str) -> Any:
    ralph = document.get("ralph")
    return ralph.get(key) if isinstance(ralph, dict) else None


def _text(data: Any, key: str) -> str | None:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, str) and value else None
