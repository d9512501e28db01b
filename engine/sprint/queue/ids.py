"""The ids of requests in documents that come in."""

from typing import Any

from ..events import SprintCompiled, SprintImported
from ..state.knowledge import Knowledge
from .view import QUEUE


def record_ids(
    knowledge: Knowledge, event: SprintCompiled | SprintImported, version: int
) -> None:
    """Keep the ids of requests in a document that came in: none is given again."""
    named: list[Any] = []
    if event.document is not None:
        named = [event.document.get(QUEUE)]
    for operation in (event.patch if isinstance(event, SprintImported) else None) or ():
        path = str(operation.get("path"))
        if path.startswith(f"/{QUEUE}"):
            value = operation.get("value")
            named.append({"id": value} if path.endswith("/id") else value)
    for value in named:
        for entry in value if isinstance(value, list) else [value]:
            identity = entry.get("id") if isinstance(entry, dict) else None
            if isinstance(identity, str) and identity not in knowledge.request_ids:
                knowledge.request_ids.append(identity)
