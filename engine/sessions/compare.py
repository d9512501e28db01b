"""What hooks said of a session, compared with its transcript; pure."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from .events import ToolCalled


class Compared(NamedTuple):
    """Which calls of a transcript are known, and which are to be recorded."""

    seen: int
    """Of how many calls hooks told."""
    taken: int
    """How many were taken from a transcript before."""
    missing: list[ToolCalled]
    only_hooks: int
    """How many calls hooks told of that are not in the transcript."""


def compare(known: Iterable[ToolCalled], kept: Iterable[ToolCalled]) -> Compared:
    """Return what a transcript's calls are to those that are recorded.

    The agent's id of a call tells it; where hooks have none, its input does.
    """
    by_id: dict[str, ToolCalled] = {}
    nameless: Counter[str | None] = Counter()
    for call in known:
        if call.call:
            by_id[call.call] = call
        else:
            nameless[call.input_sha256] += 1
    seen, taken, missing = 0, 0, list[ToolCalled]()
    # What is known by its id must not use up another call of the same input.
    for call in kept:
        before = by_id.pop(call.call or "", None)
        if before is not None:
            taken += before.found_in is not None
            seen += before.found_in is None
        elif nameless[call.input_sha256] > 0:
            nameless[call.input_sha256] -= 1
            seen += 1
        else:
            missing.append(call)
    only = sum(call.found_in is None for call in by_id.values()) + nameless.total()
    return Compared(seen, taken, missing, only)
