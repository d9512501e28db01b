"""How parts of the journal are printed: each as progress.json has it, or as a line."""

from collections.abc import Sequence
from typing import Any

import msgspec

from sprintlog.engine.errors import NotFoundError
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.parts import ClosedObject, Entry
from sprintlog.projections.state_files.progress_json import written

from ..output import print_answer, table


def entry_of(document: JournalDocument, entry_id: str) -> Entry:
    """Return an entry; raise `NotFoundError` where there is none of that id."""
    if (entry := document.entry(entry_id)) is None:
        raise NotFoundError(
            f"there is no entry {entry_id}",
            hint="`sprintlog entry list` lists them",
            entry=entry_id,
        )
    return entry


def shown(part: ClosedObject) -> dict[str, Any]:
    """Return the fields of a part that say something, as JSON has them."""
    data: dict[str, Any] = msgspec.to_builtins(written(part))
    return data


def print_parts(
    parts: Sequence[ClosedObject],
    rows: Sequence[Sequence[str]],
    *,
    nothing: str,
    as_json: bool,
) -> None:
    """Print parts as a list in JSON, or a line each for people."""
    lines = table(rows) if rows else [nothing]
    print_answer([written(part) for part in parts], lines, as_json=as_json)
