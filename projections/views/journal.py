"""Answers about the journal: figures, search results and proposed learnings."""

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from sprintlog.engine.journal import queries
from sprintlog.engine.journal.document import JournalDocument
from sprintlog.engine.journal.parts import Entry, Learning
from sprintlog.engine.journal.state import Journal

from ..sql.search import LEARNING, Hit
from .events import filled


class JournalFigures(Struct, frozen=True, kw_only=True):
    """The journal's figures and failure patterns."""

    version: int
    schema: str
    project_name: str
    entries: int
    learnings: int
    learnings_valid: int
    patterns: int
    blockers: int
    failure_patterns: dict[str, int]
    attempts: dict[str, int]
    next_learning_id: str | None
    next_pattern_id: str | None
    last_entry: Entry | UnsetType | None = UNSET
    """The last entry of the requested PRD."""


class RecoveryAnswer(Struct, frozen=True):
    """A suggested recovery from a failure, and its source."""

    action: str
    guidance: str
    failures: int
    entry: str
    learning: str
    similarity: float


class Proposal(Struct, frozen=True):
    """A learning proposed from an observation, and the observation's number."""

    observation: int
    learning: Learning


class Migrated(Struct, frozen=True):
    """The result of importing a progress.txt."""

    file: str
    stream: str
    version: int
    recorded: int
    entries: int
    learnings: int
    patterns: int


def figures(document: JournalDocument, journal: Journal, prd: str | None) -> JournalFigures:
    """Return the journal's figures, with the attempts of one PRD or of all PRDs."""
    count = journal.attempts if prd is None else {prd: queries.attempts(document, prd)}
    return filled(
        JournalFigures,
        document,
        entries=len(document.entries),
        learnings=len(document.learnings),
        learnings_valid=sum(x.still_valid for x in document.learnings),
        patterns=len(document.patterns),
        blockers=len(queries.blockers(document)),
        failure_patterns=queries.failure_patterns(document),
        attempts=count,
        next_learning_id=journal.next_learning_id,
        next_pattern_id=journal.next_pattern_id,
        last_entry=UNSET if prd is None else queries.last_entry(document, prd),
    )


class FoundText(Hit, frozen=True):
    """A journal text that contains every word of the search query."""

    still_valid: bool | UnsetType | None = UNSET
    """Whether a learning is still valid; absent for other texts."""
    log: str | UnsetType = UNSET
    """The name of its log, if logs were specified."""


def found_part(hit: Hit, learnings: dict[str, bool], log: str) -> FoundText:
    """Return a match; `learnings` states which learnings are still valid."""
    holds = learnings.get(hit.id) if hit.kind == LEARNING else UNSET
    return FoundText(**asdict(hit), still_valid=holds, log=log or UNSET)
