"""What the rules must know of a journal: its ids and counts, none of its texts.

So that recording costs the same, however much was written down before. Whoever wants the
texts folds the `Document`.
"""

import re
from typing import ClassVar

import msgspec

from ..errors import NotFoundError
from ..saved import sealed, shape_of, unsealed

NUMBER_MAX = 9999

ENTRY_ID = r"^[a-z0-9-]+-\d+$"
LEARNING_ID = r"^learning-\d{4}$"
PATTERN_ID = r"^pattern-\d{4}$"

_OTHER = re.compile(r"[^a-z0-9-]")
_NUMBERED = re.compile(r"(learning|pattern)-(\d{4})", re.ASCII)


def entry_id(prd_id: str, iteration: int) -> str:
    """Return the id of a PRD's entry (JRN-021)."""
    return f"{_OTHER.sub('-', prd_id.lower())}-{iteration}"


def iteration_reached(id_: str, prd_id: str, iteration: int) -> int:
    """Return the highest iteration of a PRD that an entry of it takes up.

    Other tools give ids that say another one than the entry itself does.
    """
    stem = entry_id(prd_id, 0).removesuffix("0")
    number = id_.removeprefix(stem)
    is_numbered = id_.startswith(stem) and re.fullmatch(r"[0-9]{1,18}", number)
    return max(iteration, int(number) if is_numbered else 0)


def number_of(id_: str) -> int:
    """Return the number of a learning or pattern; -1 for what is no such id."""
    match = _NUMBERED.fullmatch(id_)
    return int(match[2]) if match else -1


def next_id(word: str, *, highest: int) -> str | None:
    """Return the id after the highest number ever allotted; 0 is never allotted.

    None when the four digits are used up.
    """
    number = max(highest, 0) + 1
    return f"{word}-{number:04d}" if number <= NUMBER_MAX else None


MEANING = 1
"""Raised when what is saved says something else in the same fields; a test tells."""
JOURNAL = "journal"


class Journal(msgspec.Struct):
    """The journal at a version of its stream."""

    id: ClassVar[str] = JOURNAL
    """There is one in a log."""
    version: int = 0
    created_at: str = ""
    """Empty until it was opened."""
    project_name: str = ""
    schema: str = ""
    """The version of the schema that its file is written by."""
    worktree: str = ""
    place: str = ""
    """Where its file is, below the root of the work tree."""
    entries: dict[str, int] = {}
    """The id of every entry, and how many observations it has."""
    attempts: dict[str, int] = {}
    """How many entries each PRD has."""
    iterations: dict[str, int] = {}
    """The highest iteration of each PRD."""
    linked: dict[str, list[int]] = {}
    """By entry the observations, from 1, that name a learning."""
    learnings: dict[str, bool] = {}
    """The id of every learning, and whether it still holds."""
    learning_max: int = -1
    """The highest number ever given to a learning."""
    pattern_max: int = -1
    """The highest number ever given to a pattern."""

    @property
    def exists(self) -> bool:
        """Tell whether anything was ever recorded."""
        return self.version > 0

    def next_iteration(self, prd_id: str) -> int:
        """Return the next iteration of a PRD: after the highest, whatever lacks before."""
        return self.iterations.get(prd_id, 0) + 1

    @property
    def next_learning_id(self) -> str | None:
        """Return the id of the next learning; None after the last one."""
        return next_id("learning", highest=self.learning_max)

    @property
    def next_pattern_id(self) -> str | None:
        """Return the id of the next pattern; None after the last one."""
        return next_id("pattern", highest=self.pattern_max)

    def check_learning(self, learning_id: str, *, field: str = "learning") -> None:
        """Raise `NotFoundError` unless there is such a learning."""
        if learning_id not in self.learnings:
            raise NotFoundError(
                f"{field}: there is no learning {learning_id[:60]}",
                hint="`sprintlog learning list` lists them",
                field=field,
            )


JOURNAL_FORMAT = shape_of(Journal, meaning=MEANING)
"""A state that was saved in another format is not read again."""

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Journal)


def pack(journal: Journal) -> bytes:
    """Return the state as bytes that `unpack` reads again."""
    return sealed(_encoder.encode(journal))


def unpack(saved: bytes | memoryview) -> Journal:
    """Return the state saved by `pack`; raise `msgspec.DecodeError` for anything else."""
    return _decoder.decode(unsealed(saved))
