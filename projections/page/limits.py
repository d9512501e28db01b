"""Limits on the number of entries that a sprint's page shows."""

from typing import NamedTuple

from sprintlog.facts import SprintFacts

ITERATIONS_MAX, VERSIONS_MAX = 60, 2_000
"""A sprint with more of them is a long one."""


class PageLimits(NamedTuple):
    """The maximum number of entries of each kind; the newest ones are shown."""

    iterations: int
    """In the table, the plots and the timeline."""
    bars: int
    """Work on phases in the timeline; iterations are limited separately."""
    signs: int
    """Gates, retries and so on; as many waits."""
    listed: int
    """Lines of the timeline in words."""
    nodes: int
    """Parts of the plan."""
    prompt_chars: int
    decisions: int
    events: int
    data: int
    """Events that have their data, too."""
    lines: int
    """Lines of the state file; the script has all of them."""
    line_chars: int
    history_bytes: int
    """The state file at its versions, as the script reads it."""
    remark_chars: int


USUAL = PageLimits(200, 300, 300, 60, 400, 140, 80, 200, 60, 400, 400, 90_000, 300)
LONG = PageLimits(200, 50, 30, 30, 60, 60, 30, 50, 15, 80, 120, 36_000, 70)


def limits_of(facts: SprintFacts) -> PageLimits:
    """Return the limits for a sprint's page."""
    is_long = len(facts.sprint.knowledge.iterations) > ITERATIONS_MAX
    return LONG if is_long or facts.version > VERSIONS_MAX else USUAL
