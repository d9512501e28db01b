"""A long list of plain phases, which are found without a node for each of them.

Most commands are about one phase, and a process ends after one command.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import repeat
from operator import contains, itemgetter
from typing import Any

from .words import FINISHED, PHASE_STATUSES

LONG = 64
"""For fewer phases their nodes are made at once."""
_NOT_IN_PLAIN_IDS = "~/#"
_LOOKS = 3


class FlatPhases:
    """Phases of which each is a leaf, takes part, and is addressed by its id as it is."""

    __slots__ = ("_asked", "_places", "phases", "tally")

    def __init__(self, phases: list[dict[str, Any]], tally: dict[str, int]) -> None:
        self.phases = phases
        self.tally = tally
        """How many have each status, as they are now."""
        self._places: dict[str, int] | None = None
        self._asked = 0

    def ids(self) -> list[str]:
        """Return the id of each."""
        return [*map(itemgetter("id"), self.phases)]

    def place_of(self, address: str) -> int | None:
        """Return the index of the phase with an id; None when there is none."""
        if self._places is None:
            # A process that ends asks once or twice: to look through takes less then.
            self._asked += 1
            ids = self.ids()
            if self._asked <= _LOOKS:
                return ids.index(address) if address in ids else None
            self._places = dict(zip(ids, range(len(ids)), strict=True))
        return self._places.get(address)

    def is_over(self, index: int) -> bool:
        """Tell whether a phase is finished and has no gate to wait for."""
        phase = self.phases[index]
        return phase["status"] in FINISHED and "gate" not in phase


def flat_phases(
    document: Mapping[str, Any], *, known: dict[str, int] | None = None
) -> FlatPhases | None:
    """Return the phases of a document if they are many and all of them are plain.

    Where that is `known`, as their tally, they are not looked at.
    """
    phases = document.get("phases")
    if known is not None and type(phases) is list:
        return FlatPhases(phases, known)
    if type(phases) is not list or len(phases) < LONG:
        return None
    if {*map(type, phases)} != {dict} or any(map(contains, phases, repeat("steps"))):
        return None
    try:
        ids, words = ([*map(itemgetter(key), phases)] for key in ("id", "status"))
    except KeyError:
        return None
    if {*map(type, ids), *map(type, words)} != {str}:
        return None
    counted = Counter(words)
    tally = {word: counted[word] for word in PHASE_STATUSES}
    text = "\n".join(ids)
    is_plain = (
        len({*ids}) == sum(tally.values()) == len(ids)
        and "" not in ids
        and not any(mark in text for mark in _NOT_IN_PLAIN_IDS)
    )
    return FlatPhases(phases, tally) if is_plain else None
