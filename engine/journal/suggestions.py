"""The learnings that an entry suggests (JRN-100 to JRN-102)."""

from ..command import Commands, JournalCommand
from ..log.event import Event
from .parts import CODEBASE_PATTERN, ERROR_WORKAROUND, Entry, Learning, Observation
from .rules import AddLearning, DraftJournal
from .state import Journal

ARCHITECTURE = "architecture"
TYPES = {
    "api-issue": "api-convention",
    "test-failure": "test-pattern",
    "tooling-friction": "tool-usage",
    "dependency": "dependency-quirk",
    ARCHITECTURE: "architecture-constraint",
}
"""The type of a learning by the category of its observation."""

Proposal = tuple[int, Learning]
"""The number of an observation, from 1, and what would be learned from it."""


def extract(entry: Entry) -> list[Proposal]:
    """Return what an entry suggests; observations that name a learning suggest none."""
    return [
        (number, _learning(entry, observation))
        for number, observation in enumerate(entry.observations, 1)
        if _suggests(observation)
    ]


class AddExtractedLearnings(JournalCommand, frozen=True):
    """Add what was extracted; each learning gets an id of its own."""

    proposals: list[Proposal]


def add_extracted(journal: Journal, command: AddExtractedLearnings, at: str) -> list[Event]:
    """Decide on `AddExtractedLearnings`."""
    ahead = DraftJournal(journal, at)
    for observation, learning in command.proposals:
        ahead.decide(AddLearning(learning, observation))
    return ahead.events


def _suggests(observation: Observation) -> bool:
    return not observation.related_learning_id and (
        observation.action_taken == "documented" or observation.category == ARCHITECTURE
    )


def _learning(entry: Entry, observation: Observation) -> Learning:
    fixed = observation.action_taken == "fixed"
    otherwise = ERROR_WORKAROUND if fixed else CODEBASE_PATTERN
    return Learning(
        type=TYPES.get(observation.category, otherwise),
        content=observation.description or observation.title,
        context=f"Discovered while working on {entry.prd_id}",
        source_prd_id=entry.prd_id,
        source_entry_id=entry.id,
        still_valid=True,
    )


COMMANDS: Commands = {AddExtractedLearnings: add_extracted}
