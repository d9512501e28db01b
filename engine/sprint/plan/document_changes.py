"""The effects of events that contain a document on the plan and the knowledge.

The ids of requests in such documents are recorded, so that they are never reused.
"""

from typing import Any

from ...log.event import Takers
from ..events import SprintCompiled, SprintImported
from ..state import plan_records, queue, sprint
from ..state.knowledge import Knowledge, note_tree


def record_ids(
    knowledge: Knowledge, event: SprintCompiled | SprintImported, version: int
) -> None:
    """Record the ids of requests in a document, so that they are never reused."""
    named: list[Any] = []
    if event.document is not None:
        named = [event.document.get(queue.QUEUE)]
    for operation in (event.patch if isinstance(event, SprintImported) else None) or ():
        path = str(operation.get("path"))
        if path.startswith(f"/{queue.QUEUE}"):
            value = operation.get("value")
            named.append({"id": value} if path.endswith("/id") else value)
    for value in named:
        for entry in value if isinstance(value, list) else [value]:
            identity = entry.get("id") if isinstance(entry, dict) else None
            if isinstance(identity, str) and identity not in knowledge.request_ids:
                knowledge.request_ids.append(identity)


def _evolve_compiled(plan: sprint.Plan, event: SprintCompiled, at: str) -> None:
    plan.replace(event.document)
    plan.place = event.place
    plan.touched = True
    # Records on the phases of an earlier plan do not apply to the new ones.
    plan.last = plan_records.LastEvents()
    plan.decisions.clear()
    plan.turns = plan_records.LoopCounters()


def _evolve_imported(plan: sprint.Plan, event: SprintImported, at: str) -> None:
    if event.document is not None:
        plan.replace(event.document)
        plan.place = event.place
    else:
        # Imported here: most plans are never changed by another tool.
        from ..state.patch import apply

        plan.replace(apply(plan.derived_document(), event.patch or []))
    plan.last = plan_records.LastEvents()
    plan.turns = plan_records.LoopCounters()


def _record_compiled(knowledge: Knowledge, event: SprintCompiled, version: int) -> None:
    record_ids(knowledge, event, version)
    note_tree(knowledge, event.work_tree, event.place.worktree if event.place else None)


def _record_imported(knowledge: Knowledge, event: SprintImported, version: int) -> None:
    knowledge.iteration_max = max(knowledge.iteration_max, event.iteration)
    knowledge.imported_at = version
    record_ids(knowledge, event, version)
    note_tree(knowledge, event.work_tree, event.place.worktree if event.place else None)


EVOLVE: Takers = {SprintCompiled: _evolve_compiled, SprintImported: _evolve_imported}
LEARN: Takers = {SprintCompiled: _record_compiled, SprintImported: _record_imported}
