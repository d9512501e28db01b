"""A sprint's state as rows of the read model."""

from collections.abc import Iterator
from typing import Any

import msgspec

from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import gate_status

Row = tuple[Any, ...]


def sprint_row(sprint: Sprint) -> Row:
    """Return a sprint as a row of `v_sprints`."""
    document = sprint.document
    figures = document.get("stats")
    stats = figures if isinstance(figures, dict) else {}
    fields = [document.get("mode"), document.get("goal"), document.get("last-activity")]
    names = ("started-at", "completed-at", "total-phases", "completed-phases")
    fields += [stats.get(name) for name in names]
    place = sprint.plan.place
    path = place.path if place else None
    return sprint.id, sprint.version, sprint.plan.status, *map(_plain, fields), path


def phase_rows(sprint: Sprint) -> Iterator[Row]:
    """Yield all phases, steps and sub-phases as rows of `v_phases`."""
    names = (
        *("prompt", "model", "started-at", "completed-at"),
        *("summary", "error", "next-retry-at"),
    )
    pointed = sprint.plan.pointed()
    for number, node in enumerate(sprint.plan.tree.root.walk(), start=1):
        data = node.data
        tracking = data.get("gate-tracking")
        attempts = tracking.get("attempts") if isinstance(tracking, dict) else None
        yield (
            sprint.id,
            node.address,
            node.address.rpartition("/")[0] or None,
            number,
            node.level,
            int(node.leaf >= 0),
            int(node is pointed),
            _plain(data.get("id")),
            _plain(data.get("status")),
            *(_plain(data.get(name)) for name in names),
            int(data.get("injected") is True),
            gate_status(data),
            _plain(attempts),
        )


def _plain(value: Any) -> str | int | float | None:
    """Return a value that a column takes; what has parts as JSON."""
    if value is None or isinstance(value, str | int | float):
        return value
    return msgspec.json.encode(value).decode()
