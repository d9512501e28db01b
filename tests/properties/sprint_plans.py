"""Random plans of sprints, and documents as other tools may leave them."""

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from sprintlog.engine.sprint.state.words import (
    PHASE_STATUSES,
    REQUEST_STATUSES,
    SPRINT_STATUSES,
)

Data = dict[str, Any]


def mutated(document: Data, i: int, j: int) -> Data:
    """Return a document as another tool may have left it."""
    nodes = [n for n, _ in walk(document)] or [document]
    node = nodes[j % len(nodes)]
    match i % 9:
        case 0:
            node["status"] = PHASE_STATUSES[j % 6]
        case 1:
            node.pop("id", None)
        case 2:
            node.pop("status", None)
        case 3:
            document.get("phases", []).append(deepcopy(node))
        case 4:
            document["phases"] = list(reversed(document.get("phases", [])))
        case 5:
            for key in (("stats", "current"), ("last-activity",))[j % 2]:
                document.pop(key, None)
        case 6:
            document["stats"] = {"current-iteration": j}
        case 7:
            document = dict(reversed(document.items()))
        case _:
            document["status"] = SPRINT_STATUSES[j % 8]
    if (queue := document.get("operator-queue")) and j % 2:
        entry = queue[j % len(queue)]
        entry["status"] = REQUEST_STATUSES[j % 5]
        if i % 2:
            queue.remove(entry)
    return document


def walk(data: Data, level: int = 0) -> list[tuple[Data, int]]:
    """Return every node below, depth first, with its level."""
    key = ("phases", "steps", "phases")[level] if level < 3 else ""
    found = []
    for child in data.get(key) or []:
        if isinstance(child, dict):
            found += [(child, level + 1), *walk(child, level + 1)]
    return found


@st.composite
def plans(draw: st.DrawFn) -> Data:
    """Return a plan: simple and for-each phases, gates, breakpoints, empty ones."""

    def top(index: int) -> Data:
        node: Data = {"id": f"p{index}"}
        if draw(st.booleans()):
            node["prompt"] = "x"
        else:
            sizes = draw(st.lists(st.integers(0, 2), max_size=3))
            node["steps"] = [
                {"id": f"s{s}", "prompt": "x", "phases": [sub(n) for n in range(size)]}
                for s, size in enumerate(sizes)
            ]
        if draw(st.integers(0, 3)) == 0:
            node["break"] = True
        if draw(st.booleans()):
            node["gate"] = {"script": "x", "max-retries": draw(st.integers(0, 2))}
            if tracked := draw(st.sampled_from(["", "passed", "failed"])):
                node["gate-tracking"] = {"status": tracked}
        return node

    def sub(index: int) -> Data:
        return {"id": f"i/{index}", "prompt": "x"}

    goal: Data = {}
    if draw(st.booleans()):
        goal = {"mode": "ralph", "goal": "x", "per-iteration-hooks": [{"id": "h"}]}
    phases = [top(index) for index in range(draw(st.integers(0 if goal else 1, 3)))]
    return {**goal, "phases": phases}
