"""How alike two texts are: by the words they share, so anybody can check it by hand.

A word is a run of three or more letters and digits, in small letters. The measure is how
many of the words of the text that has fewer of them stand in the other one as well.
"""

import re
from fractions import Fraction

ALIKE = Fraction(1, 2)
"""From here on two texts are about the same."""
SHARED_MIN = 2
"""Fewer words in common than this say nothing."""

_WORD = re.compile(r"[^\W_]{3,}")


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(_WORD.findall(text.casefold()))


def similarity(one: str, other: str) -> Fraction:
    """Return how much of the shorter text's words the other one has, from 0 to 1."""
    ours, theirs = words_of(one), words_of(other)
    shared = len(ours & theirs)
    if shared < SHARED_MIN:
        return Fraction(0)
    return Fraction(shared, min(len(ours), len(theirs)))
