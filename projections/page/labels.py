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
EDGE = 3
"""How far a label may stand over an edge of the drawing."""
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
        if beside:
            found[at], end = _beside(box.labels[-1], x, width, (free, until))
        else:
            found[at], end = _on(box.labels, x, width, (free or -EDGE, pixels + EDGE))
        rows[box.row] = max(end, free)
    return found


def _on(
    labels: Sequence[str], x: float, width: float, free: tuple[float, float]
) -> tuple[Label, float]:
    """Return the label on a bar, and where what is written ends."""
    for said in labels:
        if SIGN + len(said) * CHAR + PAD <= width and x + PAD / 2 >= free[0]:
            return Label(said, INSIDE), x + width
    name = labels[-1] if labels else ""
    needs = len(name) * CHAR
    begin = x + (width - needs) / 2
    is_short = len(name) <= SHORT_CHARS or needs + 2 <= width
    if name and is_short and free[0] <= begin and begin + needs <= free[1]:
        return Label(name, OVER), begin + needs
    return NO_LABEL, 0.0


def _beside(
    name: str, x: float, width: float, free: tuple[float, float]
) -> tuple[Label, float]:
    """Return the label in a bar or beside it, and where both end."""
    needs = len(name) * CHAR
    end = x + width
    if needs + PAD <= width:
        return Label(name, INSIDE), end
    if free[0] <= x - needs - PAD:
        return Label(name, BEFORE), end
    if end + PAD + needs <= free[1]:
        return Label(name, AFTER), end + PAD + needs
    return NO_LABEL, end
