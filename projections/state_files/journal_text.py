"""The text of a long journal, made from its text before: entries are added to it.

Nothing else of it is decoded or laid out again. Where something else happened since, and
where the text before is not known, it is made as a whole.
"""

from collections.abc import Iterable
from itertools import dropwhile, islice

from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.state.shapes import Entry

from .progress_json import as_data, as_json, written

LAYOUT = 1
"""Raised when the same journal gets another text; a test tells."""
LONG_BYTES = 64 * 1024
"""Shorter texts are made as a whole."""
_INDENT = b"\n    "


def end_of_entries(document: JournalDocument, text: bytes) -> int | None:
    """Return where the entries end in the text of a journal; None where that is unsure."""
    keys = islice(
        dropwhile(lambda key: key != "entries", data := as_data(document)), 1, None
    )
    rest = {key: data[key] for key in keys}
    tail = b"\n  ]" + (b"," + as_json(rest)[1:] if rest else b"\n}\n")
    return len(text) - len(tail) if document.entries and text.endswith(tail) else None


def with_entries(before: bytes, end: int, entries: Iterable[Entry]) -> tuple[bytes, int]:
    """Return a text with further entries after those in it, and where they end."""
    added = b"".join(b"," + _INDENT + _laid_out(entry) for entry in entries)
    if not added:
        return before, end
    return b"".join((before[:end], added, before[end:])), end + len(added)


def _laid_out(entry: Entry) -> bytes:
    return as_json(written(entry)).rstrip().replace(b"\n", _INDENT)
