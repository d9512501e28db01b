"""How the journal is read: its ids and counts for the rules, its texts for all else."""

from ...journal.document import JournalDocument, fold_document
from ...journal.fold import fold
from ...journal.state import journal
from ...journal.state.journal import JOURNAL, JOURNAL_FORMAT, Journal
from ...log.port import Log
from ...log.stores.memory import MemoryCheckpoints
from .catalogue import Reading
from .repository import Reader

JOURNALS: Reading[Journal] = Reading(
    name=lambda _: "the journal",
    stream=lambda _: JOURNAL,
    begin=lambda _: Journal(),
    fold=fold,
    rollbacks=lambda _: [],
    pack=journal.pack,
    unpack=journal.unpack,
    format=JOURNAL_FORMAT,
)


def _never_saved(_: object) -> JournalDocument:
    raise ValueError("the texts of a journal are read from the log")


DOCUMENTS: Reading[JournalDocument] = Reading(
    name=lambda _: "the journal",
    stream=lambda _: JOURNAL,
    begin=lambda _: JournalDocument(),
    fold=fold_document,
    rollbacks=lambda _: [],
    pack=lambda _: b"",
    unpack=_never_saved,
    format=0,
)


def read_journals(log: Log) -> Reader[Journal]:
    """Return the reader of what the rules must know; it is saved now and then."""
    return Reader(log, JOURNALS, log.checkpoints)


def read_documents(log: Log) -> Reader[JournalDocument]:
    """Return the reader of all texts, which are read from the log."""
    return Reader(log, DOCUMENTS, MemoryCheckpoints())
