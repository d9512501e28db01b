"""Which label of a bar there is room for, on a screen and on a phone. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

WHOLE = 10_000
"""The width of a drawing, in hundredths of a percent."""
WIDE, THIN = 800, 148
"""How many pixels wide a drawing is at least on a screen, and on a phone."""
CHAR, SIGN, PAD = 7, 14, 8
"""In pixels: a character of a label, the sign before it, and the room around both."""
SHORT_CHARS = 4
"""A name that is no longer may stand over the edges of a narrow bar."""
INSIDE, OVER, BEFORE, AFTER = "inside", "over", "before", "after"


class Label(NamedTuple):
    """What is written at a bar, and where."""

    text: str = ""
    place: str = INSIDE
    """`inside` it behind its sign, `over` its middle without, `before` or `after` it."""


NO_LABEL = Label()


class Box(NamedTuple):
    """A bar as far as its label is concerned."""

    row: int
    x: int
    width: int
    labels: tuple[str, ...]
    """What it may be called, the longest first."""


def labels_of(boxes: Sequence[Box], pixels: int, *, beside: bool = False) -> list[Label]:
    """Return the label of each bar in a drawing so wide: none is cut or meets another.

    With `beside` one without room inside may stand before or behind its bar.
    """
    found = [NO_LABEL] * len(boxes)
    order = sorted(range(len(boxes)), key=lambda at: (boxes[at].row, boxes[at].x))
    rows: dict[int, float] = {}
    for nth, at in enumerate(order):
        box = boxes[at]
        x, width = (value * pixels / WHOLE for value in (box.x, box.width))
        follows = boxes[order[nth + 1]] if nth + 1 < len(order) else None
        is_last = follows is None or follows.row != box.row
        until = pixels if is_last or follows is None else follows.x * pixels / WHOLE
        free = rows.get(box.row, 0.0)
        found[at], end = _label(box.labels, x, width, (free, until), beside=beside)
        rows[box.row] = max(end, x + width if beside else free)
    return found


def _label(
    labels: Sequence[str],
    x: float,
    width: float,
    free: tuple[float, float],
    *,
    beside: bool,
) -> tuple[Label, float]:
    """Return the label of a bar, and where what is written ends."""
    sign = 0 if beside else SIGN
    for said in labels:
        if len(said) * CHAR + sign + PAD <= width and x + PAD / 2 >= free[0]:
            return Label(said, INSIDE), x + width
    name = labels[-1] if labels else ""
    needs = len(name) * CHAR
    if beside:
        for place, begin in ((BEFORE, x - needs - PAD), (AFTER, x + width + PAD)):
            until = x if place == BEFORE else free[1]
            if name and free[0] <= begin and begin + needs <= until:
                return Label(name, place), begin + needs
        return NO_LABEL, x + width
    begin = x + (width - needs) / 2
    is_short = len(name) <= SHORT_CHARS or needs + 2 <= width
    # At the edge of the drawing there is room beside it.
    if name and is_short and begin >= (free[0] or -3):
        return Label(name, OVER), begin + needs
    return NO_LABEL, free[0]
