"""Short and long forms: what `make test` runs of a test, and what `make test-long` adds."""

import os
from collections import defaultdict
from typing import Any

import pytest

is_long = False  # set by tests/conftest.py from --long and --only-long


def examples(number: int) -> int:
    """Return how many examples a property takes whose long form takes `number`.

    The short form takes 10 at most. `SPRINTLOG_EXAMPLES=10` takes ten times `number`.
    """
    if is_long:
        return number * int(os.environ.get("SPRINTLOG_EXAMPLES", "1"))
    return min(number, 10)


def is_property(item: pytest.Item) -> bool:
    """Return whether hypothesis draws the examples of the item."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def long_forms(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the items that only the long form runs.

    These are the items marked `long`, and of those marked `sampled(n)` all but n for each
    test function: the first, the last, and others at even distances between them.
    """
    long = {item for item in items if item.get_closest_marker("long")}
    sampled: dict[tuple[Any, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and item not in long:
            sampled[item.parent, getattr(item, "originalname", item.name)].append(item)
    for cases in sampled.values():
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        number = min(marker.args[0], len(cases))
        kept = {
            round(place * (len(cases) - 1) / max(number - 1, 1)) for place in range(number)
        }
        long.update(case for place, case in enumerate(cases) if place not in kept)
    return long
