"""Repeated signatures: a loop that goes in circles, and one that never will end."""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .events import OwnMetric
from .metrics import Figures
from .own_metrics import weighed

WINDOW = 5
"""How many iterations are looked at."""
MESSAGE = "Infinite loop detected: metrics cycling"


class Loop(NamedTuple):
    """What repeats."""

    is_infinite: bool
    """False for a pattern that is seen before it is certain."""
    why: str


class Signature(NamedTuple):
    """What makes two iterations alike."""

    parts: tuple[int | Fraction | None, ...]
    """Tests, pass rate, coverage and errors, as far as they are known."""
    tree: str | None = None
    """The digest of the work tree that was measured, where it is known."""
    own: tuple[tuple[str, Fraction | None], ...] = ()
    """Metrics of one's own that weigh something."""

    def is_like(self, other: "Signature | None", *, surely: bool) -> bool:
        """Tell whether another iteration is like it, surely or as far as can be told.

        Where a part is unknown the files must be the same, too; where they are not known
        it is not sure.
        """
        if other is None or (self.parts, self.own) != (other.parts, other.own):
            return False
        if None not in self.parts:
            return True
        if self.tree is None or other.tree is None:
            return not surely
        return self.tree == other.tree


def signature(
    now: Figures, tree: str | None = None, own: Sequence[OwnMetric] = ()
) -> Signature | None:
    """Return what makes an iteration like others; None when nothing of it is known."""
    parts = (now.test_count, now.pass_rate, now.coverage, now.error_count)
    values = tuple((one.name, now.own.get(one.name)) for one in weighed(own))
    found = (*parts, tree, *(value for _, value in values))
    is_known = any(part is not None for part in found)
    return Signature(parts, tree, values) if is_known else None


def find_loop(
    number: int, signatures: Sequence[Signature | None], *, after: int
) -> Loop | None:
    """Return what repeats in the last five iterations, the newest one last.

    Later than iteration `after` any repeat with another signature in between is an
    infinite loop; before, only A-B-A-B and five alike are a pattern. What is not sure is
    never more than a pattern.
    """
    window = list(signatures[-WINDOW:])
    is_late = number > after
    for surely in (True, False):
        if why := _repeat(window, is_late=is_late, surely=surely):
            unsure = "" if surely else ", as far as was measured"
            return Loop(is_late and surely, f"{why}{unsure}")
    return None


def _repeat(
    window: Sequence[Signature | None], *, is_late: bool, surely: bool
) -> str | None:
    """Return in which way the newest signature comes again."""
    newest = window[-1] if window else None
    if newest is None:
        return None
    alike = [newest.is_like(one, surely=surely) for one in window]
    if len(window) == WINDOW and all(alike):
        return f"the last {WINDOW} iterations are the same"
    if is_late and True in alike[:-1]:
        back = len(window) - 1 - alike.index(True)
        left = [one for one in window[-back:] if not newest.is_like(one, surely=False)]
        if any(one is not None for one in left):
            return f"the last one is like the one {back} before it"
    if not is_late and len(window) >= 4:
        a, b, c, d = window[-4:]
        if a is None or b is None or a.is_like(b, surely=False):
            return None
        if a.is_like(c, surely=surely) and b.is_like(d, surely=surely):
            return "the last 4 iterations go to and fro"
    return None
