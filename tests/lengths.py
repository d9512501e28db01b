"""Short and long forms of a test: `make test` runs the short one, `make test-long` both."""

import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

is_long = False  # set by tests/conftest.py from --long and --only-long


def examples(number: int) -> int:
    """Return the number of examples for a property intended for `number` examples.

    The short form uses at most 10, the long form a quarter of `number`, and with
    `SPRINTLOG_EXAMPLES=10` ten times `number`.
    """
    if is_long:
        return max(1, round(number * float(os.environ.get("SPRINTLOG_EXAMPLES", "0.25"))))
    return min(number, 10)


def is_property(item: pytest.Item) -> bool:
    """Return whether hypothesis draws the examples of the item."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


def long_forms(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the items that only the long form runs.

    These are the items marked `long`, and of those marked `sampled(n)` all but n per test
    function: the first, the last, and others at even distances. With `sampled(n, m)`, the
    long form runs m of them; the others are in neither form.
    """
    long = {item for item in items if item.get_closest_marker("long")}
    for cases, marker in _sampled(items):
        short = _spread(cases, marker.args[0])
        longer = _spread(cases, marker.args[1]) if len(marker.args) > 1 else {*cases}
        long |= longer - short
    return long


def in_no_form(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the cases of a test marked `sampled(n, m)` that neither form runs."""
    found: set[pytest.Item] = set()
    for cases, marker in _sampled(items):
        if len(marker.args) > 1:
            found |= (
                {*cases} - _spread(cases, marker.args[0]) - _spread(cases, marker.args[1])
            )
    return found


def _sampled(items: list[pytest.Item]) -> Iterator[tuple[list[pytest.Item], pytest.Mark]]:
    """Yield the cases of each sampled test that is not long itself, with its mark."""
    found: dict[tuple[Any, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("long"):
            found[item.parent, getattr(item, "originalname", item.name)].append(item)
    for cases in found.values():
        marker = cases[0].get_closest_marker("sampled")
        assert marker is not None
        yield cases, marker


def _spread(cases: list[pytest.Item], number: int) -> set[pytest.Item]:
    """Return that many of the cases: the first, the last, and some between them."""
    number = min(number, len(cases))
    step = (len(cases) - 1) / max(number - 1, 1)
    return {cases[round(place * step)] for place in range(number)}
