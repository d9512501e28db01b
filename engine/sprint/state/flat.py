"""A long list of plain phases, which are found without a node for each of them.

Most commands are about one phase, and a process ends after one command.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import repeat
from operator import contains, itemgetter
from typing import Any, NamedTuple

from .words import PHASE_STATUSES

LONG = 64
"""For fewer phases their nodes are made at once."""
_NOT_IN_PLAIN_IDS = "~/#"


class FlatPhases(NamedTuple):
    """Phases of which each is a leaf, takes part, and is addressed by its id as it is."""

    phases: list[dict[str, Any]]
    places: dict[str, int]
    """The index of each, by its id."""
    tally: dict[str, int]
    """How many have each status."""


def flat_phases(document: Mapping[str, Any]) -> FlatPhases | None:
    """Return the phases of a document if they are many and all of them are plain."""
    phases = document.get("phases")
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
    places = dict(zip(ids, range(len(ids)), strict=True))
    counted = Counter(words)
    tally = {word: counted[word] for word in PHASE_STATUSES}
    text = "\n".join(ids)
    is_plain = (
        len(places) == sum(tally.values()) == len(ids)
        and "" not in places
        and not any(mark in text for mark in _NOT_IN_PLAIN_IDS)
    )
    return FlatPhases(phases, places, tally) if is_plain else None
