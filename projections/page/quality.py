"""The quality plot, and small plots of any figure, as SVG."""

from collections.abc import Sequence
from typing import NamedTuple

from .labels import WHOLE
from .layout import Dot, Plot, height, percent, plot, step_place
from .markup import Markup, drawing, joined, tag

HEIGHT, PAD_TOP, PAD_BOTTOM = 230, 18, 26
"""In pixels: of all of it, and above and below the lines."""
LEFT = 26
"""Where lines across begin: behind what they are called."""
SMALL = 54
NUMBERS_MAX = 24
"""With more iterations only some of their numbers are written."""


class Scored(NamedTuple):
    """An iteration in the plot."""

    number: int
    score: float | None
    tone: str
    about: str
    is_off: bool = False
    is_best: bool = False
    alerts: Sequence[str] = ()
    version: int = 0


class Levels(NamedTuple):
    """The lines to compare with."""

    baseline: float | None
    threshold: float | None

    def lines(self) -> list[tuple[str, float]]:
        """Return those that are there, by name."""
        return [(name, x) for name, x in self._asdict().items() if x is not None]


def quality(found: Sequence[Scored], levels: Levels) -> Markup:
    """Return what is inside of the SVG."""
    low, high = limits([one.score for one in found] + [*levels])
    inner = HEIGHT - PAD_TOP - PAD_BOTTOM
    on = [not one.is_off for one in found]
    placed = plot([one.score for one in found], low=low, high=high, is_on=on)

    def y(place: int) -> float:
        return round(PAD_TOP + place * inner / WHOLE, 1)

    across = [(value, y(height(value, low, high))) for value in grid(low, high)]
    parts = [
        tag("line", x1=LEFT, x2="100%", y1=at, y2=at, class_="tick") for _, at in across
    ]
    for name, level in levels.lines():
        at = y(height(level, low, high))
        parts.append(tag("line", x1=LEFT, x2="100%", y1=at, y2=at, class_=name))
    parts += _line(placed, PAD_TOP, inner)
    # After all lines: no line goes through a figure.
    parts += [
        tag("text", f"{value:.1f}", x=2, y=at + 4, class_="axis") for value, at in across
    ]
    parts += [_point(point, found[point.nth], y(point.y)) for point in placed.points]
    every = -(-len(found) // NUMBERS_MAX) or 1
    for index, one in enumerate(found):
        x = percent(step_place(index, len(found)))
        if index % every == 0:
            place = {"x": x, "y": HEIGHT - 8}
            number = tag("text", one.number, **place, class_="axis", text_anchor="middle")
            parts.append(number)
        if one.score is None:
            gap = tag("text", "?", x=x, y=HEIGHT - PAD_BOTTOM - 4, text_anchor="middle")
            parts.append(tag("g", tag("title", one.about), gap, class_="missing"))
    return joined(*parts)


def limits(values: Sequence[float | None]) -> tuple[float, float]:
    """Return from where to where scores are drawn: whole tenths around all of them."""
    known = [value for value in values if value is not None]
    if not known:
        return 0.0, 1.0
    low = max(int((min(known) - 0.04) * 10) / 10, 0.0)
    high = min(int((max(known) + 0.14) * 10) / 10, max(1.0, max(known)))
    return (low, high) if high - low >= 0.2 else (max(low - 0.1, 0.0), low + 0.2)


def grid(low: float, high: float) -> list[float]:
    """Return the values of the lines across."""
    step = 1 if high - low <= 0.5 else 2
    first = round(low * 10)
    return [tenth / 10 for tenth in range(first, round(high * 10) + 1, step)]


def _line(placed: Plot, top: int, inner: int) -> list[Markup]:
    """Return the line through a plot's points, if it has one."""
    if not placed.line:
        return []
    points = " ".join(f"{point.x},{point.y}" for point in placed.line)
    line = tag("polyline", points=points, vector_effect="non-scaling-stroke", class_="path")
    place = {"y": top, "width": "100%", "height": inner}
    box = {"viewbox": f"0 0 {WHOLE} {WHOLE}", "preserveaspectratio": "none"}
    return [tag("svg", line, **place, **box, overflow="visible")]


def _point(point: Dot, one: Scored, y: float) -> Markup:
    x = percent(point.x)
    parts = [tag("title", one.about)]
    if one.is_best:
        parts.append(tag("circle", cx=x, cy=y, r=10, class_="ring"))
        label = f"best: {one.number}"
        anchor = "end" if point.x > 8500 else "start" if point.x < 1500 else "middle"
        # Near the top there is no room above it.
        at = y - 15 if y > 40 else y + 24
        parts.append(tag("text", label, x=x, y=at, class_="best", text_anchor=anchor))
    parts.append(tag("circle", cx=x, cy=y, r=5))
    if one.alerts:
        sign = tag("text", "!", x=x, y=y + 19, text_anchor="middle", class_="alert")
        parts.append(sign)
    kind = f"point {one.tone}" + (" off" if one.is_off else "")
    return tag("g", *parts, class_=kind, data_v=one.version or None)


def quality_svg(found: Sequence[Scored], levels: Levels, label: str) -> Markup:
    """Return the plot for a page, as wide as its place."""
    return drawing("quality", HEIGHT, label, quality(found, levels))


def small(values: Sequence[float | None], label: str) -> Markup:
    """Return a small plot of a figure over the iterations."""
    placed = plot(values)
    parts = _line(placed, 5, SMALL - 10)
    if placed.line:
        last = placed.line[-1]
        y = round(5 + last.y * (SMALL - 10) / WHOLE, 1)
        parts.append(tag("circle", cx=percent(last.x), cy=y, r=3.5, class_="last"))
    return drawing("small", SMALL, label, *parts)
