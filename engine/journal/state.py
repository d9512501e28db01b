"""The part of a journal's state that its rules require: ids and counts, but no texts.

The cost of recording does not depend on the size of the journal. To read the texts, fold
the `JournalDocument`. This module also creates the ids of entries, learnings and patterns.
"""

import re
from typing import ClassVar

import msgspec

from ..errors import NotFoundError
from ..state_format import sealed, shape_of, unsealed

NUMBER_MAX = 9999

ENTRY_ID = r"^[a-z0-9-]+-\d+$"
LEARNING_ID = r"^learning-\d{4}$"
PATTERN_ID = r"^pattern-\d{4}$"

_OTHER = re.compile(r"[^a-z0-9-]")
_NUMBERED = re.compile(r"(learning|pattern)-(\d{4})", re.ASCII)
MEANING = 1
"""A number to increment when saved fields change their meaning; a test checks this."""
JOURNAL = "journal"


class Journal(msgspec.Struct):
    """The journal at a version of its stream."""

    id: ClassVar[str] = JOURNAL
    """The id of the journal, which is constant because a log has only one journal."""
    version: int = 0
    created_at: str = ""
    """The creation time; empty until the journal is opened."""
    project_name: str = ""
    schema: str = ""
    """The schema version of the journal's file."""
    worktree: str = ""
    place: str = ""
    """The path of the journal's file, relative to the work tree's root."""
    entries: dict[str, int] = {}
    """The number of observations of each entry, by id."""
    attempts: dict[str, int] = {}
    """The number of entries of each PRD."""
    iterations: dict[str, int] = {}
    """The highest iteration number of each PRD."""
    linked: dict[str, list[int]] = {}
    """The observations (from 1) that name a learning, by entry."""
    learnings: dict[str, bool] = {}
    """Whether each learning is still valid, by id."""
    learning_max: int = -1
    """The highest number ever assigned to a learning."""
    pattern_max: int = -1
    """The highest number ever assigned to a pattern."""

    @property
    def exists(self) -> bool:
        """Return whether any event was recorded."""
        return self.version > 0

    def next_iteration(self, prd_id: str) -> int:
        """Return a PRD's next iteration number: the highest number plus 1, despite gaps."""
        return self.iterations.get(prd_id, 0) + 1

    @property
    def next_learning_id(self) -> str | None:
        """Return the id for the next learning; None if no id is left."""
        return next_id("learning", highest=self.learning_max)

    @property
    def next_pattern_id(self) -> str | None:
        """Return the id for the next pattern; None if no id is left."""
        return next_id("pattern", highest=self.pattern_max)

    def check_learning(self, learning_id: str, *, field: str = "learning") -> None:
        """Raise `NotFoundError` unless the learning exists."""
        if learning_id not in self.learnings:
            raise NotFoundError(
                f"{field}: there is no learning {learning_id[:60]}",
                hint="run `sprintlog journal learning list` to list the learnings",
                field=field,
            )


JOURNAL_FORMAT = shape_of(Journal, meaning=MEANING)
"""The format of saved states; states in other formats are ignored."""

_encoder = msgspec.msgpack.Encoder()

_decoder = msgspec.msgpack.Decoder(Journal)


def entry_id(prd_id: str, iteration: int) -> str:
    """Return the id of a PRD's entry (JRN-021)."""
    return f"{_OTHER.sub('-', prd_id.lower())}-{iteration}"


def iteration_reached(id_: str, prd_id: str, iteration: int) -> int:
    """Return the highest iteration number of a PRD that an entry occupies.

    Other tools write ids whose iteration number differs from that of the entry.
    """
    stem = entry_id(prd_id, 0).removesuffix("0")
    number = id_.removeprefix(stem)
    is_numbered = id_.startswith(stem) and re.fullmatch(r"[0-9]{1,18}", number)
    return max(iteration, int(number) if is_numbered else 0)


def number_of(id_: str) -> int:
    """Return the number in the id of a learning or pattern; -1 for any other id."""
    match = _NUMBERED.fullmatch(id_)
    return int(match[2]) if match else -1


def next_id(word: str, *, highest: int) -> str | None:
    """Return the id after the highest number ever assigned; 0 is never assigned.

    Return None if the four-digit numbers are exhausted.
    """
    number = max(highest, 0) + 1
    return f"{word}-{number:04d}" if number <= NUMBER_MAX else None


def pack(journal: Journal) -> bytes:
    """Return the state as bytes for `unpack`."""
    return sealed(_encoder.encode(journal))


def unpack(saved: bytes | memoryview) -> Journal:
    """Return the state saved by `pack`; raise `msgspec.DecodeError` for anything else."""
    return _decoder.decode(unsealed(saved))
