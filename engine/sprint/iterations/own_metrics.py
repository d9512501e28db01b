"""Metrics of one's own in a sprint: which the rules in force declare."""

from ..state.sprint import Sprint


def own_names(sprint: Sprint) -> tuple[str, ...]:
    """Return the names of metrics of one's own that can be measured now."""
    rules = sprint.knowledge.tracker.rules_at(sprint.version)
    return tuple(one.name for one in rules.metrics)


def pointers(sprint: Sprint) -> dict[str, str]:
    """Return where in JSON reports they are, by name, of those of which that is known."""
    rules = sprint.knowledge.tracker.rules_at(sprint.version)
    return {one.name: one.pointer for one in rules.metrics if one.pointer is not None}
