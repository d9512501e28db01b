"""Limits on the number of entries shown on a sprint's page."""

from typing import NamedTuple

from sprintlog.facts import SprintFacts

ITERATIONS_MAX, VERSIONS_MAX = 60, 2_000
"""A sprint with more iterations or versions is considered long."""


class PageLimits(NamedTuple):
    """The maximum number of entries per kind; the newest entries are shown."""

    iterations: int
    """Iterations in the table, the plots and the timeline."""
    bars: int
    """Bars of phases in the timeline; iterations are limited separately."""
    signs: int
    """Gate checks, retries and similar events; the same limit applies to waits."""
    listed: int
    """Lines in the timeline's table."""
    nodes: int
    """Nodes of the plan."""
    prompt_chars: int
    decisions: int
    events: int
    data: int
    """Events that are shown with their data."""
    lines: int
    """Lines of the state file; the script has all lines."""
    line_chars: int
    history_bytes: int
    """The size of the state file's history, as the script reads it."""
    remark_chars: int


USUAL = PageLimits(200, 300, 300, 60, 400, 140, 80, 200, 60, 400, 400, 90_000, 300)
LONG = PageLimits(200, 50, 30, 30, 60, 60, 30, 50, 15, 80, 120, 36_000, 70)


def limits_of(facts: SprintFacts) -> PageLimits:
    """Return the limits for a sprint's page."""
    is_long = len(facts.sprint.knowledge.iterations) > ITERATIONS_MAX
    return LONG if is_long or facts.version > VERSIONS_MAX else USUAL
