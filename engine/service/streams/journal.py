"""Readers of the journal: its ids and counts for the rules, its texts for other uses."""

from ...journal import state
from ...journal.document import JournalDocument, fold_document
from ...journal.fold import fold
from .catalogue import CODEC, StreamKind

JOURNALS: StreamKind[state.Journal] = StreamKind(
    name=lambda _: "the journal",
    stream=lambda _: state.JOURNAL,
    begin=lambda _: state.Journal(),
    fold=fold,
    fold_rows=lambda journal, rows, live: fold(journal, CODEC.events_of_rows(rows), live),
    pack=state.pack,
    unpack=state.unpack,
    format=state.JOURNAL_FORMAT,
)


DOCUMENTS: StreamKind[JournalDocument] = StreamKind(
    name=lambda _: "the journal",
    stream=lambda _: state.JOURNAL,
    begin=lambda _: JournalDocument(),
    fold=fold_document,
    fold_rows=lambda journal, rows, live: fold_document(
        journal, CODEC.events_of_rows(rows), live
    ),
    pack=lambda _: b"",
    unpack=lambda _: JournalDocument(),
    format=0,
)
