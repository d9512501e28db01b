"""A journal with its history: given, when, then; no store and no clock."""

from typing import Any, Self

import msgspec

from sprintlog.engine.command import Command, decided
from sprintlog.engine.errors import RefusedError
from sprintlog.engine.journal.document import JournalDocument, fold_document
from sprintlog.engine.journal.fold import fold
from sprintlog.engine.journal.parts import Entry, Learning, Observation, Pattern
from sprintlog.engine.journal.state import Journal, pack
from sprintlog.engine.log.event import Event
from sprintlog.projections.state_files.progress_json import as_data

AT = "2026-02-01T10:00:00Z"


def entry(prd_id: str = "auth", *, status: str = "completed", **fields: Any) -> Entry:
    """Return an entry as given to a command."""
    return Entry(**{"prd_id": prd_id, "status": status, "observations": (), **fields})


def noticed(type_: str = "finding", *, title: str = "x", **fields: Any) -> Observation:
    """Return an observation."""
    return Observation(type=type_, title=title, **fields)


def learned(content: str = "use it", **fields: Any) -> Learning:
    """Return a learning as given to a command."""
    return Learning(
        **{
            "type": "tool-usage",
            "content": content,
            "source_prd_id": "auth",
            "still_valid": True,
            **fields,
        }
    )


def pattern(name: str = "one way", **fields: Any) -> Pattern:
    """Return a pattern as given to a command."""
    return Pattern(**{"name": name, "type": "api-pattern", **fields})


class Diary:
    """A journal that events happen to, with and without its texts."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.document = JournalDocument()
        self.events: list[Event] = []

    def happen(self, *events: Event) -> Self:
        """Apply events."""
        for event in events:
            self.events.append(event)
            recorded = [(len(self.events), AT, event)]
            fold(self.journal, recorded)
            fold_document(self.document, recorded)
        return self

    def decide(self, command: Command, *, at: str = AT) -> list[Event]:
        """Return the decision on a command, which must not change the journal."""
        before = pack(self.journal)
        events = decided(command, self.journal, at)
        assert pack(self.journal) == before
        return events

    def do(self, command: Command, *, at: str = AT) -> Self:
        """Handle a command and apply its events."""
        return self.happen(*self.decide(command, at=at))

    def refusal(self, command: Command, *, at: str = AT) -> RefusedError:
        """Return why a command is refused."""
        try:
            events = self.decide(command, at=at)
        except RefusedError as error:
            return error
        raise AssertionError(f"not refused: {events}")

    @property
    def data(self) -> Any:
        """Return progress.json as data."""
        return msgspec.json.decode(msgspec.json.encode(as_data(self.document)))
