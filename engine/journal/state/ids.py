"""The ids of the journal: how they are made, and what their patterns are."""

import re

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
