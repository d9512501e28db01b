"""Upcasts: pure functions that convert each stored shape to the next one.

No other module depends on old shapes.
"""

from collections.abc import Callable, Mapping
from typing import Any

Upcast = Callable[[dict[str, Any]], dict[str, Any]]
Upcasts = Mapping[tuple[str, int], Upcast]
"""The functions that convert a tag's stored version to the next version."""


def _plan_of_many_files(shape: dict[str, Any]) -> dict[str, Any]:
    """Convert a version 1 compiled plan, which names a single file without a digest."""
    today = {name: value for name, value in shape.items() if name != "source"}
    source = shape.get("source")
    return today if source is None else {**today, "sources": [{"path": source}]}


UPCASTS: Upcasts = {
    ("sprint-compiled", 1): _plan_of_many_files,
    # A version 1 claim always has a reason, so it remains a refused claim.
    ("goal-claimed", 1): dict,
}
"""All upcasts; a new field with a default value requires no upcast."""


def check_upcasts(today: Mapping[str, int], upcasts: Upcasts) -> None:
    """Raise `ValueError` unless every older version of every tag has an upcast."""
    needed = {(tag, v) for tag, version in today.items() for v in range(1, version)}
    if missing := sorted(needed - upcasts.keys()):
        raise ValueError(f"no upcast from {missing}")
    if extra := sorted(upcasts.keys() - needed):
        raise ValueError(f"upcast from an unknown shape: {extra}")


def upcast(
    upcasts: Upcasts, tag: str, shape: dict[str, Any], *, since: int, to: int
) -> dict[str, Any]:
    """Convert a stored shape step by step to the current version, and return the result."""
    for version in range(since, to):
        shape = upcasts[tag, version](shape)
    return shape
