"""The figures of a sprint that follow from its state: what is not there is `MISSING`."""

from typing import Any

from .document_fields import MISSING
from .times import elapsed
from .tree import Data, Tree
from .words import COMPLETED

FIGURES = ("total-phases", "completed-phases", "total-steps", "completed-steps", "elapsed")
"""In the order in which they are written."""


def figures(given: Any, tree: Tree, last_at: str | None) -> Data:
    """Return all of `stats`: what a document has there, and what follows from the state."""
    found: Data = dict(given) if isinstance(given, dict) else {}
    for name in FIGURES:
        if (value := figure(name, given, tree, last_at)) is not MISSING:
            found[name] = value
    return found


def figure(name: str, given: Any, tree: Tree, last_at: str | None) -> Any:
    """Return one figure of `stats`, which cost less than all of them."""
    known: Data = given if isinstance(given, dict) else {}
    match name:
        case "elapsed":
            ended = known.get("completed-at") or last_at
            duration = elapsed(known.get("started-at"), ended)
            return known.get(name, MISSING) if duration is None else duration
        case "total-phases":
            return sum(tree.phases.values())
        case "completed-phases":
            return tree.phases[COMPLETED]
        case "total-steps" | "completed-steps":
            total = sum(tree.steps.values())
            if total or "total-steps" in known:
                return total if name == "total-steps" else tree.steps[COMPLETED]
        case _:
            pass
    return known.get(name, MISSING)
