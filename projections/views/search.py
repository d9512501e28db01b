"""What a search in the journal finds."""

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from ..sql.search import LEARNING, Hit


class FoundText(Hit, frozen=True):
    """Something the journal says that holds every word of a search."""

    still_valid: bool | UnsetType | None = UNSET
    """Of a learning."""


def found_part(hit: Hit, learnings: dict[str, bool]) -> FoundText:
    """Return what was found; `learnings` says which of them still hold."""
    holds = learnings.get(hit.id) if hit.kind == LEARNING else UNSET
    return FoundText(**asdict(hit), still_valid=holds)
