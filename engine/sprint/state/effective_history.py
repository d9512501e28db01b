"""Effective versions: the versions that no rollback has discarded, as of a given version.

The parent of a rollback is its target; the parent of any other event is the event before
it. The events on the path from a version to the root are effective at that version.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

VersionRange = tuple[int, int]
"""The first and last version of a range, both inclusive."""


def effective_ranges(
    rollbacks: Sequence[tuple[int, int]], version: int
) -> list[VersionRange]:
    """Return the ranges of the effective versions at `version`, in order.

    `rollbacks` contains the version and the target of each rollback, in order of version;
    later rollbacks are ignored. A rollback itself is effective.
    """
    stretches: list[VersionRange] = []
    last = version
    for at, to in reversed(rollbacks):
        # The log of another user may name a later target, which discards nothing.
        if to < at <= last:
            stretches.append((at, last))
            last = to
    stretches.append((1, last))
    return [stretch for stretch in reversed(stretches) if stretch[0] <= stretch[1]]


def is_effective(stretches: Sequence[VersionRange], version: int) -> bool:
    """Return whether a version is effective."""
    place = bisect_left(stretches, (version + 1,))
    return place > 0 and stretches[place - 1][1] >= version


def stretches_only_in(
    these: Sequence[VersionRange], those: Sequence[VersionRange]
) -> list[VersionRange]:
    """Return the versions that are in the first ranges but not in the second, in order."""
    found: list[VersionRange] = []
    place = 0
    for first, last in these:
        while place < len(those) and those[place][1] < first:
            place += 1
        begin = first
        for other, end in islice(those, place, None):
            if other > last:
                break
            _add(found, begin, other - 1)
            begin = end + 1
        _add(found, begin, last)
    return found


def _add(stretches: list[VersionRange], first: int, last: int) -> None:
    """Append a range, merging it with an adjacent previous range; ignore an empty range."""
    if first > last:
        return
    if stretches and stretches[-1][1] == first - 1:
        first, _ = stretches.pop()
    stretches.append((first, last))


class TurnedBack(msgspec.Struct, frozen=True):
    """The versions that a rollback discards or makes effective again."""

    version: int
    gone: list[VersionRange]
    """The discarded versions."""
    back: list[VersionRange]
    """The versions that become effective again."""


def turns(rollbacks: Sequence[tuple[int, int]]) -> Iterator[TurnedBack]:
    """Yield, for each rollback, the versions that it discarded or restored."""
    stretches: list[VersionRange] = []
    begun = 1
    for at, to in rollbacks:
        if to >= at:
            yield TurnedBack(at, [], [])
            continue
        _add(stretches, begun, at - 1)
        begun = at
        if to < 1 or is_effective(stretches, to):
            gone: list[VersionRange] = []
            while stretches and stretches[-1][1] > to:
                first, last = stretches.pop()
                gone.append((max(first, to + 1), last))
                _add(stretches, first, min(last, to))
            yield TurnedBack(at, list(reversed(gone)), [])
        else:
            before, stretches = stretches, effective_ranges(rollbacks, to)
            gone = stretches_only_in(before, stretches)
            yield TurnedBack(at, gone, stretches_only_in(stretches, before))


def turned_by(rollbacks: Sequence[tuple[int, int]], at: int, to: int) -> TurnedBack:
    """Return the versions that a rollback at `at` to `to` discards or restores."""
    before, after = effective_ranges(rollbacks, at - 1), effective_ranges(rollbacks, to)
    gone, back = stretches_only_in(before, after), stretches_only_in(after, before)
    return TurnedBack(at, gone, back)


def discarded_by(
    versions: Sequence[int], rollbacks: Sequence[tuple[int, int]]
) -> dict[int, int]:
    """Return a mapping from each discarded version to the rollback that discarded it."""
    taken: dict[int, int] = {}
    for turned in turns(rollbacks):
        for first, last in turned.gone:
            for version in _between(versions, first, last):
                taken[version] = turned.version
        for first, last in turned.back:
            for version in _between(versions, first, last):
                taken.pop(version, None)
    return taken


def _between(versions: Sequence[int], first: int, last: int) -> Sequence[int]:
    return versions[bisect_left(versions, first) : bisect_right(versions, last)]


def is_in_force(version: int, rollbacks: Sequence[tuple[int, int]], *, until: int) -> bool:
    """Return whether a version is effective as of the version `until`."""
    last = until
    for at, to in reversed(rollbacks):
        if to < at <= last:
            if at <= version:
                break
            last = to
    return version <= last
