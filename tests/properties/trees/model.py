"""The expected knowledge about some work trees, derived from the actions in them.

A tree has files, a file has lines, and no line's text is ever written twice. Snapshots
determine the author of a line: a new line in a snapshot was written since the previous one,
by one of those who worked between the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .world import LEFT_OUT, Files

SPRINT = 1_000
"""More than a sprint has iterations."""
OUTSIDE = 0
"""Stands among iterations for whoever works outside of any."""
Writers = frozenset[int]
"""The iterations that a line was written by one of; none for a line from outside."""
Line = tuple[str, str]
"""The path of a file and the text of a line; the same text again is the same line."""
Authors = dict[Line, Writers]


class Point(NamedTuple):
    """The required content of a snapshot."""

    files: Files
    authors: Authors
    left_out: Files
    """Paths that it does not contain, and their recognition."""

    def differences(self, found: Files) -> set[str]:
        """Return the differences from that time, except those no restore can change."""
        now = left_out(found)
        both = now | self.left_out
        return {path for path in both if now.get(path) != self.left_out.get(path)}


class Change(NamedTuple):
    """A restore that can be undone, or an undo that can be redone."""

    before: Point
    after: Point


@dataclass
class Tree:
    """A work tree as sprintlog must know it."""

    nested: tuple[str, ...] = ()
    """The repositories in it, whose files no snapshot of this tree holds."""
    sprint: str | None = None
    finished: list[str] = field(default_factory=list)
    """Its earlier sprints, in order."""
    number: int = 0
    """The latest iteration; the first one of a later sprint follows a multiple of 1,000."""
    points: dict[int, Point] = field(default_factory=dict)
    """The snapshots by the iteration that they are of."""
    open: set[int] = field(default_factory=set)
    """The iterations that are at work."""
    lost: set[int] = field(default_factory=set)
    """The iterations whose end nobody recorded, until the next one begins."""
    ended: set[int] = field(default_factory=set)
    known: Authors | None = None
    """The authors in the snapshot that the files at hand follow, if there is one."""
    is_unsure: bool = False
    """Whether a recorder was killed before the first iteration: it may have kept files."""
    undoable: list[Change] = field(default_factory=list)
    redoable: list[Change] = field(default_factory=list)

    def author(self, line: Line) -> Writers | None:
        """Return who wrote a line in a snapshot; None for any other line."""
        return (self.known or {}).get(line)

    def at_work(self) -> Writers:
        """Return the author of changes since the latest snapshot."""
        return frozenset(self.open | self.lost)

    def is_right(self, writers: Writers, told: Writers) -> bool:
        """Return whether a set of authors may be reported for a line.

        The log does not know the end of an unfinished iteration: somebody outside may also
        have written.
        """
        is_watched = bool(writers) and writers <= self.ended
        return told == (writers if is_watched else writers | {OUTSIDE})

    def record(self, found: Files, number: int | None = None) -> Point:
        """Record a snapshot, which belongs to an iteration if it has a number."""
        known, new = self.known or {}, self.at_work()
        authors = {line: known.get(line, new) for line in lines(found)}
        point = Point(held(found), authors, left_out(found))
        self.known = point.authors
        if number is not None:
            self.points[number] = point
        return point

    def begin(self, found: Files) -> int:
        """Record the start of an iteration, and a snapshot unless nothing has changed."""
        point = self.record(found)
        self.points.setdefault(self.number - self.number % SPRINT, point)
        self.number += 1
        self.lost.clear()
        self.open.add(self.number)
        self.forget()
        return self.number

    def end(self, number: int, found: Files) -> None:
        """Record the end of an iteration."""
        self.record(found, number)
        self.open.discard(number)
        self.ended.add(number)
        self.forget()

    def lose(self, number: int) -> None:
        """Record nothing for an iteration whose recorder was killed."""
        self.open.discard(number)
        self.lost.add(number)

    def finish(self) -> None:
        """Record the end of the sprint; the next iteration starts another one."""
        if self.sprint is not None:
            self.finished.append(self.sprint)
            self.number = len(self.finished) * SPRINT
            self.sprint, self.is_unsure = None, False
            self.points.clear()
            self.forget()

    def forget(self) -> None:
        """Disable the undo: more was recorded since."""
        self.undoable.clear()
        self.redoable.clear()


def held(found: Files) -> Files:
    """Return the files in a snapshot."""
    return {p: content for p, content in found.items() if content[:1] != LEFT_OUT}


def left_out(found: Files) -> Files:
    """Return the paths that a snapshot does not contain."""
    return {p: content for p, content in found.items() if content[:1] == LEFT_OUT}


def lines(found: Files) -> Iterator[Line]:
    """Yield the lines of some files in a snapshot."""
    for path, content in held(found).items():
        for text in content.decode().splitlines():
            yield path, text
