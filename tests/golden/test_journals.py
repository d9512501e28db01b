"""Stored journals: read by the current code, byte for byte, permanently.

A fixture is never edited. A changed event adds a journal with the next number.
"""

from pathlib import Path

import pytest

from sprintlog.engine.journal.document import JournalDocument, fold_document
from sprintlog.engine.journal.events import JOURNAL_EVENTS
from sprintlog.engine.log.codec import encode
from sprintlog.engine.service.streams.catalogue import CODEC
from sprintlog.projections.state_files.progress_json import render
from tests.strict_journal import faults, read

from .test_streams import FIXTURES, lines, recorded_of

JOURNALS = sorted((FIXTURES / "journals").glob("*.jsonl"))


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
def test_every_payload_reads_and_writes_the_same(journal: Path) -> None:
    """A stored payload in today's shape encodes to the same bytes again."""
    for line in lines(journal):
        event = recorded_of(line)
        assert encode(CODEC.decode(event)) == event.payload, line


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.stem)
def test_every_journal_gives_its_state_file(journal: Path) -> None:
    """progress.json of a stored journal is the stored file, byte for byte."""
    recorded_events = [recorded_of(line) for line in lines(journal)]
    events = [(event.version, event.at, CODEC.decode(event)) for event in recorded_events]
    expected = (FIXTURES / "expected" / f"{journal.stem}.progress.json").read_bytes()
    assert render(fold_document(JournalDocument(), events)) == expected


def test_a_strict_reader_takes_what_is_of_its_version() -> None:
    """The specification's schema accepts the stored files of version 1.0."""
    kept = {path.stem: (FIXTURES / "expected" / f"{path.stem}.progress.json").read_bytes()
            for path in JOURNALS}  # fmt: skip
    assert read(kept["a-journal-v1"])["version"] == "1.0"
    assert faults(read_any(kept["a-later-schema-v1"])), "it has fields of version 1.1"


def read_any(content: bytes) -> object:
    """Return the contents of a file of any version."""
    import json

    return json.loads(content)


def test_every_shape_is_stored_somewhere() -> None:
    """Each shape that a wire tag ever had is in at least one stored journal."""
    stored = {
        (line["type"], line["schema_version"])
        for journal in JOURNALS
        for line in lines(journal)
    }
    wanted = {(event.type, event.schema_version) for event in JOURNAL_EVENTS}
    assert stored - {("edit-observed", 1)} == wanted
