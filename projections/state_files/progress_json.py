"""The file progress.json: a journal in the layout of the specification's own writer.

Fields are in the order of the writer's structs, empty fields are omitted (JRN-006), and
fields from a later version of the schema come last.
"""

from typing import Any

import msgspec

from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.parts import ClosedObject, Entry


def render(document: JournalDocument) -> bytes:
    """Return the file's content, which is always the same for the same journal."""
    return as_json(as_data(document))


def as_json(data: Any) -> bytes:
    """Return the data as a human-readable JSON file."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"


def as_data(document: JournalDocument) -> dict[str, Any]:
    """Return the data of the file, with list items in their encoded form."""
    data: dict[str, Any] = {"version": document.schema, "created_at": document.created_at}
    if document.project_name:
        data["project_name"] = document.project_name
    data["entries"] = [written(entry) for entry in document.entries]
    if document.learnings:
        data["learnings"] = [written(learning) for learning in document.learnings]
    if document.patterns:
        data["patterns"] = [written(pattern) for pattern in document.patterns]
    return {**data, **document.extra}


def load(content: bytes, *, file: str) -> Any:
    """Return third-party content as data.

    Raise `InvalidInputError` if the content is not JSON.
    """
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInputError(f"not JSON: {error}", file=file) from error


def written(part: ClosedObject) -> Any:
    """Return a part in its encoded form, with fields from later versions at the end."""
    return _flat(part) if _has_extra(part) else part


def _has_extra(part: ClosedObject) -> bool:
    if part.extra or not isinstance(part, Entry):
        return bool(part.extra)
    if part.context is not None and part.context.extra:
        return True
    return any(observation.extra for observation in part.observations)


def _flat(part: ClosedObject) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(part)
    data.pop("extra", None)
    if isinstance(part, Entry):
        data["observations"] = [_flat(one) for one in part.observations]
        if part.context is not None:
            data["context"] = _flat(part.context)
    return {**data, **part.extra}
