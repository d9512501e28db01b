"""The journal's state file, progress.json."""

from collections.abc import Iterable
from itertools import dropwhile, islice
from typing import Any

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.document import EVOLVE, JournalDocument
from sprintlog.engine.journal.events import EntryRecorded
from sprintlog.engine.journal.parts import Entry
from sprintlog.engine.journal.state import JOURNAL, Journal
from sprintlog.engine.service.place.location import wrong_journal
from sprintlog.engine.service.streams.catalogue import CODEC

from . import progress_json
from .files import FilesService, Seen
from .progress_json import as_data, as_json, written
from .refresh import ProjectedFile


class JournalFile(ProjectedFile[Journal]):
    """The file progress.json; its text is read from the log when the file is written."""

    def __init__(self, workspace: FilesService) -> None:
        super().__init__(workspace, workspace.journals)

    def path(self, state: Journal) -> str | None:
        """Return the file's path in this work tree, or None if the file is elsewhere."""
        if not (state.exists and state.worktree == self.workspace.location.worktree):
            return None
        if problem := wrong_journal(state.place):
            raise RefusedError(f"{state.place}: {problem}", file=state.place, field="place")
        return state.place

    def render(self, state: Journal) -> bytes:
        """Return the file's content."""
        return progress_json.render(self._document(state))

    def _document(self, state: Journal) -> JournalDocument:
        documents = self.workspace.documents
        document = documents.current(state.id)
        if document.version != state.version:
            document = documents.at_version(state.id, state.version)
        return document

    def render_over(self, state: Journal, path: str, seen: Seen) -> bytes:
        """Return the file's content; a long file is extended at the end of its entries."""
        content, end = self._gone_on_with(state, path, seen) or self._made(state)
        if end is not None and len(content) >= LONG_BYTES:
            digest = self.files.digest(path, content)
            if digest != seen.digest:
                spans = {self._mark(state.version): (state.version, end)}
                self.files.blocks.keep(path, digest, spans)
        return content

    def _gone_on_with(
        self, state: Journal, path: str, seen: Seen
    ) -> tuple[bytes, int] | None:
        """Return the current text extended with later entries, if nothing else changed."""
        if seen.content is None or len(seen.content) < LONG_BYTES:
            return None
        for mark, (version, end) in self.files.blocks.of(path, seen.digest).items():
            if version <= state.version and mark == self._mark(version):
                entries = self._entries(version, state)
                return None if entries is None else with_entries(seen.content, end, entries)
        return None

    def _entries(self, after: int, state: Journal) -> list[Entry] | None:
        """Return the entries since a version; None if anything else changed."""
        stream = self.repository.kind.stream(state.id)
        rows = self.workspace.log.scan(stream, after=after, until=state.version)
        found: list[Entry] = []
        for _, _, event in CODEC.events_of_rows(rows):
            if isinstance(event, EntryRecorded):
                found.append(event.entry)
            elif type(event) in EVOLVE:
                return None
        return found

    def _mark(self, version: int) -> bytes:
        """Return a key that identifies the history up to a version, and the layout."""
        stream = self.repository.kind.stream(JOURNAL)
        return (self.workspace.log.hash_of(stream, version) or b"") + bytes([LAYOUT])

    def _made(self, state: Journal) -> tuple[bytes, int | None]:
        document = self._document(state)
        content = progress_json.render(document)
        is_long = len(content) >= LONG_BYTES
        return content, end_of_entries(document, content) if is_long else None

    def load(self, content: bytes, *, file: str) -> Any:
        """Return third-party content as data.

        Raise `InvalidInputError` if the content is invalid.
        """
        return progress_json.load(content, file=file)


LAYOUT = 1
"""Increase this number if the layout of an unchanged journal changes; a test checks it."""
LONG_BYTES = 64 * 1024
"""The minimum length for extending a text; shorter texts are generated completely."""
_INDENT = b"\n    "


def end_of_entries(document: JournalDocument, text: bytes) -> int | None:
    """Return the offset where the entries end in a journal's text; None if uncertain."""
    keys = islice(
        dropwhile(lambda key: key != "entries", data := as_data(document)), 1, None
    )
    rest = {key: data[key] for key in keys}
    tail = b"\n  ]" + (b"," + as_json(rest)[1:] if rest else b"\n}\n")
    return len(text) - len(tail) if document.entries and text.endswith(tail) else None


def with_entries(before: bytes, end: int, entries: Iterable[Entry]) -> tuple[bytes, int]:
    """Return the text with additional entries, and the offset where the entries end."""
    added = b"".join(b"," + _INDENT + _laid_out(entry) for entry in entries)
    if not added:
        return before, end
    return b"".join((before[:end], added, before[end:])), end + len(added)


def _laid_out(entry: Entry) -> bytes:
    return as_json(written(entry)).rstrip().replace(b"\n", _INDENT)
