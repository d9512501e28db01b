"""Where saved states stand in a stream: close together near its head, far apart before.

The stream is cut into slots whose width grows with the distance from the head, and one
state is kept in each. So whoever goes back folds in proportion to how far that is.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from .catalogue import EVERY

NEWEST = 4
"""So many are kept whatever stands beside them."""
SLOTS_MAX = 64
"""Into at most so many slots the whole history is cut, beside those near the head."""
BYTES_PER_EVENT = 128
"""Old slots are so wide that their states take no more bytes for each event."""
BYTES_READ_MEANWHILE = 512
"""To fold an event takes about as long as to read so many bytes of a saved state, so
nothing is gained where slots are narrower."""


class Slots(NamedTuple):
    """How a stream is cut, as it stands."""

    head: int
    narrowest: int
    widest: int

    def width(self, version: int) -> int:
        """Return how wide the slot of a version is: a quarter to half of its distance."""
        half = (self.head - version) // 2
        return max(self.narrowest, min(self.widest, _power_from(half + 1) // 2))

    def after(self, version: int) -> int:
        """Return the first version of the slot after that of a version."""
        wide = self.width(version)
        return (version // wide + 1) * wide

    def surplus(
        self, versions: Iterable[int], *, taken_back_by: Mapping[int, int]
    ) -> list[int]:
        """Return the saved versions that are not worth their bytes.

        Of several in a slot that stays which was in force for longest, of these the
        first. `taken_back_by` says since when versions are not in force.
        """

        def slot(version: int) -> tuple[int, int]:
            wide = self.width(version)
            return wide, version // wide

        def in_force_until(version: int) -> tuple[int, int]:
            return taken_back_by.get(version, self.head + 1), -version

        gone: list[int] = []
        for _, group in groupby(sorted(versions)[:-NEWEST], slot):
            if len(found := list(group)) > 1:
                best = max(found, key=in_force_until)
                gone += [version for version in found if version != best]
        return gone


def slots_of(head: int, *, state_bytes: int = 0, narrowest: int = EVERY) -> Slots:
    """Return how a stream is cut whose states take so many bytes."""
    return Slots(
        head,
        max(narrowest, _power_from(state_bytes // BYTES_READ_MEANWHILE)),
        max(_power_from(state_bytes // BYTES_PER_EVENT), _power_from(head // SLOTS_MAX)),
    )


def _power_from(number: int) -> int:
    """Return the lowest power of two that is no less than a number."""
    return 1 << max(number - 1, 0).bit_length()
