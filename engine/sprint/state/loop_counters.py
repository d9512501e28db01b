"""How far a loop is between two events: what no field of its document says."""

import msgspec

from ...errors import InvalidInputError
from .times import parse

CLOCK_STEP_SECONDS = 60
"""A clock that is further behind the beginning of a wait was set back meanwhile."""


class Turns(msgspec.Struct, array_like=True):
    """Counts over the events on the path; an iteration here is one towards the goal."""

    number: int = 0
    """The iteration that is under way; 0 between two of them."""
    ended: int = 0
    """The last one that ended."""
    idle: int = 0
    """How many ended since a step was completed or added."""
    moved: bool = False
    """Whether one was, in the iteration under way."""
    reflects: bool = False
    """Whether reflection has started since then."""
    failures: int = 0
    """How often the run of the iteration under way failed."""
    due: str | None = None
    """Not before this time may it be run again."""
    error: str | None = None
    """How its last run failed."""
    claimed: int = 0
    """The last iteration in which the goal was claimed and that did not count."""
    forgiven: int = 0
    """How many of these failures came before a person stepped in."""

    @property
    def idle_next(self) -> int:
        """Return the idle count when the next iteration begins: that ends this one."""
        return self.idle + (self.number > 0 and not self.moved)

    def begin(self, number: int) -> None:
        """Begin an iteration; one that was left open ends."""
        self.end()
        self.number = number

    def end(self) -> None:
        """End the iteration that is under way, if there is one."""
        self.idle, self.moved = self.idle_next, False
        self.ended, self.number = self.number or self.ended, 0
        self.failures, self.forgiven, self.due, self.error = 0, 0, None, None

    def move(self) -> None:
        """Take notice that a step was completed or added."""
        self.idle, self.reflects = 0, False
        self.moved = self.number > 0

    def fail(self, error: str, due: str | None) -> None:
        """Take notice that the run of the iteration under way failed."""
        self.failures, self.error, self.due = self.failures + 1, error, due


class LimitWait(msgspec.Struct, array_like=True):
    """The latest wait for a limit: of a leaf, of a gate's repair, or of an iteration."""

    since: str
    until: str
    phase: str = ""
    """The address of the leaf, or of the phase whose gate is repaired."""
    iteration: int | None = None
    """That of the goal; None in a plan."""
    waits: int = 1
    """Which one in a row."""
    why: str | None = None
    waits_for: str | None = None
    said_by: str | None = None
    is_fallback: bool = False
    """Whether the fallback of the loop waits as well."""

    def is_of(self, phase: str, iteration: int | None) -> bool:
        """Tell whether this, or nothing else, is waited for."""
        return self.phase == phase and self.iteration == iteration

    def holds(self, now: str) -> bool:
        """Tell whether it is to be waited on.

        After a clock was set back nobody knows how long that is: the agent says it again.
        """
        try:
            until, since, at = parse(self.until), parse(self.since), parse(now)
        except InvalidInputError:
            return False
        return at < until and (since - at).total_seconds() <= CLOCK_STEP_SECONDS
