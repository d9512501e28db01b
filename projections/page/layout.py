"""A timeline's layout: positions, and the labels that fit.

Times are in milliseconds; positions are in hundredths of a percent of the width.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from sprintlog.facts import Delay, Instant, Return, Work
from sprintlog.formatting import MONTHS

WHOLE = 10_000
"""The width of a drawing, in hundredths of a percent."""
WIDE, THIN = 800, 148
"""The minimum width of a drawing in pixels, on a screen and on a phone."""
CHAR, SIGN, PAD = 7, 14, 8
"""In pixels: the width of a label's character, of its sign, and the padding."""
SHORT_CHARS = 4
"""A name of at most this length may extend beyond the edges of a narrow bar."""
EDGE = 3
"""The distance in pixels by which a label may extend beyond the drawing."""
INSIDE, OVER = "inside", "over"
Item = TypeVar("Item", Work, Delay)


class Label(NamedTuple):
    """A bar's label and its position."""

    text: str = ""
    place: str = INSIDE
    """`inside` the bar after its sign, or `over` its middle without a sign."""


NO_LABEL = Label()


class Box(NamedTuple):
    """A bar's position and size, and its possible labels."""

    row: int
    x: int
    width: int
    labels: tuple[str, ...]
    """The possible labels, longest first."""


def labels_of(boxes: Sequence[Box], pixels: int) -> list[Label]:
    """Return each bar's complete label in a drawing of a given width, without overlaps."""
    found = [NO_LABEL] * len(boxes)
    order = sorted(range(len(boxes)), key=lambda at: (boxes[at].row, boxes[at].x))
    rows: dict[int, float] = {}
    for at in order:
        box = boxes[at]
        x, width = (value * pixels / WHOLE for value in (box.x, box.width))
        free = rows.get(box.row, -EDGE)
        found[at], end = _on(box.labels, x, width, (free, pixels + EDGE))
        rows[box.row] = max(end, free)
    return found


def _on(
    labels: Sequence[str], x: float, width: float, free: tuple[float, float]
) -> tuple[Label, float]:
    """Return the label on a bar, and the position where its text ends."""
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


BAR_MIN = 35
"""The minimum width of a bar."""
ROWS_MAX = 60
"""The maximum number of rows; rows that start later are only counted."""
TICKS_MAX, SPARSE = 8, 3
_SECOND = 1000
_DAY = 86_400 * _SECOND
_EPOCH = datetime.fromtimestamp(0, UTC)
_STEPS = tuple(
    count * _SECOND
    for count in (
        *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800),
        *(21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 7_776_000, 31_536_000),
    )
)


class Bar(NamedTuple, Generic[Item]):
    """A bar with its position: work, or a wait, whose row is 0."""

    row: int
    x: int
    width: int
    of: Item
    wide: Label = NO_LABEL
    thin: Label = NO_LABEL


class Stamp(NamedTuple):
    """An event at a single point in time, with its position."""

    row: int
    x: int
    sign: Instant


class Arrow(NamedTuple):
    """A rollback with its position; overlapping rollbacks have different levels."""

    x: int
    to: int
    level: int
    back: Return


class Tick(NamedTuple):
    """A tick on the time axis."""

    x: int
    label: str
    is_day: bool
    is_sparse: bool = True
    """Whether the tick is labelled on a narrow screen."""


class Timeline(NamedTuple):
    """A complete timeline with all positions."""

    rows: list[str]
    bars: list[Bar[Work]]
    gaps: list[Bar[Delay]]
    marks: list[Stamp]
    arrows: list[Arrow]
    ticks: list[Tick]
    left_out: int
    """The number of omitted rows."""
    earlier: int = 0
    """The number of omitted earlier bars."""


ARROW_LEVELS = 3


def place_timeline(
    work: Sequence[Work],
    waits: Sequence[Delay] = (),
    signs: Sequence[Instant] = (),
    returns: Sequence[Return] = (),
) -> Timeline:
    """Return the laid-out timeline; rows are ordered by their first work."""
    names = list(dict.fromkeys([one.row for one in work] + [one.row for one in signs]))
    rows = {name: index for index, name in enumerate(names[:ROWS_MAX])}
    times = [t for one in work for t in (one.begin, one.end)]
    times += [t for wait in waits for t in (wait.begin, wait.end)]
    times += [*(one.at for one in signs), *(one.at for one in returns)]
    begin, end = (min(times), max(times)) if times else (0, 0)
    scale, shown = Scale(begin, end), [x for x in work if x.row in rows]
    return Timeline(
        names[:ROWS_MAX],
        _bars(shown, [(rows[x.row], x.labels) for x in shown], scale),
        _bars(waits, [(0, (x.who,)) for x in waits], scale),
        [Stamp(rows[x.row], scale.place(x.at), x) for x in signs if x.row in rows],
        _arrows(returns, scale),
        ticks(begin, end),
        max(len(names) - ROWS_MAX, 0),
    )


class Scale:
    """Converts times to positions."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin = begin
        self._length = max(end - begin, 1)

    def place(self, at: int) -> int:
        """Return the position of a time; times outside the scale are moved to its edge."""
        return min(max((at - self.begin) * WHOLE // self._length, 0), WHOLE)

    def stretch(self, begin: int, end: int, *, least: int = BAR_MIN) -> tuple[int, int]:
        """Return the position and width of a period; the width is always positive."""
        x = self.place(begin)
        width = max(self.place(max(end, begin)) - x, least)
        return min(x, WHOLE - width), width


def ticks(begin: int, end: int, most: int = TICKS_MAX) -> list[Tick]:
    """Return the axis ticks, at whole seconds, minutes, hours or days in UTC."""
    length = max(end - begin, 1)
    fitting = (step for step in _STEPS if length / step <= most)
    step = next(fitting, -(-length // most // _DAY) * _DAY or _DAY)
    scale = Scale(begin, end)
    first = -(-begin // step) * step
    found: list[Tick] = []
    for at in range(first, end + 1, step):
        is_day, is_sparse = at % _DAY == 0, len(found) % SPARSE == 0
        label = _label(at, step, is_day=is_day)
        found.append(Tick(scale.place(at), label, is_day, is_sparse))
    return found


def _label(at: int, step: int, *, is_day: bool) -> str:
    there = _EPOCH + timedelta(milliseconds=at)
    if is_day or step >= _DAY:
        return f"{MONTHS[there.month - 1]} {there.day}"
    return there.strftime("%H:%M:%S" if step < 60 * _SECOND else "%H:%M")


def _bars(
    items: Sequence[Item], named: Iterable[tuple[int, tuple[str, ...]]], scale: Scale
) -> list[Bar[Item]]:
    """Return bars with positions, and with labels for a wide screen and for a phone."""
    boxes = [
        Box(row, *scale.stretch(x.begin, x.end), labels)
        for x, (row, labels) in zip(items, named, strict=True)
    ]
    placed = zip(items, boxes, *(labels_of(boxes, n) for n in (WIDE, THIN)), strict=True)
    return [Bar(box.row, box.x, box.width, one, *both) for one, box, *both in placed]


def _arrows(returns: Sequence[Return], scale: Scale) -> list[Arrow]:
    """Return the rollbacks as arrows; overlapping arrows are on different levels."""
    found: list[Arrow] = []
    for one in returns:
        x, to = scale.place(one.at), scale.place(one.to)
        low, high = min(x, to), max(x, to)
        taken = {
            other.level
            for other in found[-ARROW_LEVELS:]
            if min(other.x, other.to) < high and max(other.x, other.to) > low
        }
        level = next((n for n in range(ARROW_LEVELS) if n not in taken), 0)
        found.append(Arrow(x, to, level, one))
    return found


class Dot(NamedTuple):
    """A value in a plot, with its position."""

    x: int
    y: int
    nth: int
    """The index of the value, from 0."""


class Plot(NamedTuple):
    """A series of values with positions; missing values leave a gap."""

    points: list[Dot]
    line: list[Dot]
    """The points on the path, if there are at least two."""


def plot(
    values: Sequence[float | None], *, low: float, high: float, is_on: Sequence[bool]
) -> Plot:
    """Return the positions of values, from left to right; y increases downwards."""
    points = [
        Dot(step_place(index, len(values)), height(value, low, high), index)
        for index, value in enumerate(values)
        if value is not None
    ]
    on = [p for p in points if is_on[p.nth]]
    return Plot(points, on if len(on) > 1 else [])


def step_place(index: int, count: int) -> int:
    """Return the horizontal position of a value in a series, with space at both ends."""
    return (2 * index + 1) * WHOLE // (2 * max(count, 1))


def height(value: float, low: float, high: float) -> int:
    """Return a value's distance from the top, in hundredths of a percent."""
    if high <= low:
        return WHOLE // 2
    return round((high - min(max(value, low), high)) / (high - low) * WHOLE)


def percent(place: int) -> str:
    """Return a position as an SVG percentage."""
    whole, rest = divmod(place, 100)
    return f"{whole}.{rest:02d}%".replace(".00%", "%")
