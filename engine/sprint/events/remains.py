"""The erasure of a document's text, which preserves the nodes and their progress."""

from typing import Any

from ...log.event import ERASED

STAYS = frozenset(
    (
        *("id", "sprint-id", "status", "mode", "model", "workflow", "elapsed", "hook-id"),
        *("priority", "type", "ref", "decision", "position", "idPrefix", "transcript"),
        *("discovered-in", "deferred-until", "deferredUntil", "category"),
        "retryOn",
    )
)
"""The keys whose text other data refers to; keys that end with `-at` are also kept."""
RUN = ("script", "command")
"""The keys whose text is executed."""
NOT_RUN = f"echo '{ERASED}' >&2; exit 1"
"""The script that replaces an erased script; it prints `ERASED` and fails."""


def remains_of(part: Any, *, key: str = "") -> Any:
    """Return a part of a document without its text; `key` is the part's key."""
    if isinstance(part, dict):
        return {name: remains_of(value, key=name) for name, value in part.items()}
    if isinstance(part, list):
        stays = key in STAYS
        whole = [one for one in part if stays or not isinstance(one, str)]
        return [remains_of(one, key=key) for one in whole]
    if not isinstance(part, str) or not part or key in STAYS or key.endswith("-at"):
        return part
    return NOT_RUN if key in RUN else ERASED


def remains_of_patch(patch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a document's JSON Patch without its text."""
    return [
        {**step, "value": remains_of(step["value"], key=step["path"].rpartition("/")[2])}
        if "value" in step
        else step
        for step in patch
    ]
