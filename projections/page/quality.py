"""The iterations' quality: a plot of the scores, and a small plot for each figure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sprintlog.facts import JudgedIteration, SprintFacts

from . import limits
from .layout import WHOLE, Dot, Plot, height, percent, plot, step_place
from .markup import NOTHING, Markup, drawing, joined, section, tag, text, without
from .numbers import cost, iteration_link, known, score

HEIGHT, PAD_TOP, PAD_BOTTOM, TESTS, COST = 176, 18, 22, 42, 22
"""In pixels: the height of the scores, the padding above and below the lines, and the
heights of the tests and of the cost."""
LEFT = 26
"""The left end of the grid lines, in pixels, to the right of their labels."""
DIGITS_MAX = 48
"""If the numbers of the iterations have more digits, only some numbers are drawn."""
POINTS_MAX = 80
"""With more points, they are smaller."""


class Scored(NamedTuple):
    """An iteration in the plot."""

    number: int
    score: float | None
    tone: str
    about: str
    is_off: bool = False
    is_best: bool = False
    alerts: Sequence[str] = ()
    tests: tuple[int, int] | None = None
    """The numbers of passed tests and of all tests."""
    is_unfit: bool = False
    """Whether the iteration changed its measure."""
    cost: float | None = None


class Levels(NamedTuple):
    """The horizontal reference lines of a plot."""

    baseline: float | None
    threshold: float | None

    def lines(self) -> list[tuple[str, float]]:
        """Return the names and values of the lines that have a value."""
        return [(name, x) for name, x in self._asdict().items() if x is not None]


def plotted(found: Sequence[Scored], levels: Levels) -> Markup:
    """Return the contents of the plot's SVG element; each iteration links to its view."""
    low, high = score_range([one.score for one in found] + [*levels])
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
    # Added after all lines, so that no line crosses a number.
    parts += [
        tag("text", f"{value:.1f}", x=2, y=at + 4, class_="axis") for value, at in across
    ]
    most = max((one.tests[1] for one in found if one.tests), default=0)
    dear = max((one.cost for one in found if one.cost), default=0)
    points = {point.nth: point for point in placed.points}
    numbers = DIGITS_MAX // max(len(str(found[-1].number)), 2)
    every, half = -(-len(found) // numbers), WHOLE // (2 * numbers)
    radius = 5 if len(found) <= POINTS_MAX else 3
    for index, one in enumerate(found):
        place, at = points.get(index), step_place(index, len(found))
        inside = [*_tests(one, at, len(found), most), *_cost(one, at, len(found), dear)]
        if place is not None:
            inside.append(_point(place, one, y(place.y), radius))
        else:
            sign = {"x": percent(at), "y": HEIGHT - PAD_BOTTOM - 4, "class_": "missing"}
            inside.append(tag("text", "?", **sign, text_anchor="middle"))
        if index % every == 0:
            anchor = "start" if at < half else "end" if at > WHOLE - half else "middle"
            number = {"x": percent(at), "y": HEIGHT - 6, "text_anchor": anchor}
            inside.append(tag("text", one.number, **number, class_="axis"))
        parts.append(_column(one, at, len(found), inside))
    return joined(*parts)


def chart_height(found: Sequence[Scored]) -> int:
    """Return the plot's height in pixels; tests and cost are drawn below the scores."""
    strips = (any(one.tests for one in found), any(one.cost for one in found))
    return HEIGHT + TESTS * strips[0] + COST * strips[1]


def _column(one: Scored, at: int, count: int, inside: Sequence[Markup]) -> Markup:
    """Return an iteration's part of the plot as a link."""
    half = WHOLE // (2 * count)
    place = {"x": percent(max(at - half, 0)), "width": percent(2 * half)}
    hit = tag("rect", **place, y=0, height="100%", class_="hit")
    whole = tag("g", tag("title", one.about), hit, *inside, class_="column")
    return tag("a", whole, href=f"#i{one.number}", aria_label=text(one.about))


def _tests(one: Scored, at: int, count: int, most: int) -> Iterator[Markup]:
    """Yield bars for the tests that pass and, above them, for those that do not."""
    if one.tests and most:
        passed, total = (x * (TESTS - 6) / most for x in one.tests)
        floor = HEIGHT + TESTS - 2
        yield from _bar("tests good", at, count, (floor - passed, floor))
        yield from _bar("tests bad", at, count, (floor - total, floor - passed))


def _cost(one: Scored, at: int, count: int, most: float) -> Iterator[Markup]:
    """Yield a bar for an iteration's cost, which hangs below its tests."""
    if one.cost and most:
        begin = HEIGHT + (TESTS if one.tests else 0) + 2
        yield from _bar("tests cost", at, count, (begin, begin + one.cost * 18 / most))


def _bar(kind: str, at: int, count: int, ends: tuple[float, float]) -> Iterator[Markup]:
    width = min(WHOLE * 7 // (10 * count), 400)
    if (size := round(ends[1] - ends[0], 1)) > 0:
        place = {"x": percent(at - width // 2), "width": percent(width)}
        yield tag("rect", **place, y=round(ends[0], 1), height=size, class_=kind)


def score_range(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the range of the plot in whole tenths, which includes all scores."""
    known = [value for value in values if value is not None]
    if not known:
        return 0.0, 1.0
    low = max(int((min(known) - 0.04) * 10) / 10, 0.0)
    high = min(int((max(known) + 0.14) * 10) / 10, max(1.0, max(known)))
    return (low, high) if high - low >= 0.2 else (max(low - 0.1, 0.0), low + 0.2)


def grid(low: float, high: float) -> list[float]:
    """Return the values of the horizontal grid lines."""
    step = 1 if high - low <= 0.5 else 2
    return [tenth / 10 for tenth in range(round(low * 10), round(high * 10) + 1, step)]


def _line(placed: Plot, top: int, inner: int) -> list[Markup]:
    """Return the line through the points of a plot, if there is one."""
    if not placed.line:
        return []
    points = " ".join(f"{point.x},{point.y}" for point in placed.line)
    line = tag("polyline", points=points, vector_effect="non-scaling-stroke", class_="path")
    place = {"y": top, "width": "100%", "height": inner}
    box = {"viewbox": f"0 0 {WHOLE} {WHOLE}", "preserveaspectratio": "none"}
    return [tag("svg", line, **place, **box, overflow="visible")]


def _point(point: Dot, one: Scored, y: float, radius: int) -> Markup:
    x = percent(point.x)
    parts = []
    if one.is_best:
        parts.append(tag("circle", cx=x, cy=y, r=10, class_="ring"))
        label = f"best: {one.number}"
        anchor = "end" if point.x > 8500 else "start" if point.x < 1500 else "middle"
        # Near the top, there is no space above the point.
        at = y - 15 if y > 40 else y + 24
        parts.append(tag("text", label, x=x, y=at, class_="best", text_anchor=anchor))
    parts.append(tag("circle", cx=x, cy=y, r=radius))
    if one.alerts or one.is_unfit:
        parts.append(tag("text", "!", x=x, y=y + 19, text_anchor="middle", class_="alert"))
    return tag("g", *parts, class_=f"point {one.tone}{' off' * one.is_off}")


_LEVELS = {"baseline": "before iteration 1", "threshold": "minimum to accept a result"}
"""The meanings of the lines."""
WORSE_MAX = 3
"""The maximum number of regressions listed; the table of iterations has all."""
TONES = {"forward": "good", "regression": "bad", "plateau": "steady", "stalled": "steady"}


def scored(facts: SprintFacts) -> tuple[list[Scored], Levels]:
    """Return the points of the plot, without the baseline, and the reference lines.

    In a long sprint, a point stands for several successive iterations.
    """
    rows = facts.numbered
    size = -(-len(rows) // limits.ITERATIONS) or 1
    found = [
        shown_for([_scored(facts, one) for one in rows[at : at + size]])
        for at in range(0, len(rows), size)
    ]
    base, acceptance = facts.baseline, facts.judged.rules.thresholds.acceptance
    return found, Levels(None if base is None else base.score, acceptance)


def shown_for(several: Sequence[Scored]) -> Scored:
    """Return the iteration plotted for several: the best, the worst, or the last."""
    if len(several) == 1:
        return several[0]
    measured = [one for one in several if one.score is not None] or several
    worse = [one for one in measured if one.tone == "bad"] or measured[-1:]
    best = [one for one in several if one.is_best]
    one = min(best or worse, key=lambda one: one.score or 0)
    about = f"iterations {several[0].number} to {several[-1].number}; shown: {one.about}"
    return one._replace(about=about)


def quality(facts: SprintFacts) -> Markup:
    """Return the section with the plots."""
    found, levels = scored(facts)
    if not any(one.score is not None for one in found):
        return without("quality", "Score", "No iteration was measured.")
    label = "Scores: " + ", ".join(
        f"iteration {one.number}: {score(one.score)}" for one in found[-20:]
    )
    legend = tag("ul", *_legend(found), *_lines(levels), class_="legend")
    drawn = plotted(found, levels)
    plot = drawing("quality", chart_height(found), label, drawn, role="group")
    parts = [tag("div", plot, class_="drawing"), legend]
    size = -(-len(facts.numbered) // limits.ITERATIONS)
    note = [f"Each point opens one of {size} iterations: the best, the worst or the last"]
    title = "Score, tests and cost by iteration"
    return section("quality", title, *parts, note=note if size > 1 else ())


def _scored(facts: SprintFacts, one: JudgedIteration) -> Scored:
    is_best = facts.iterations.best_iteration == one.iteration
    alerts = [x.type for x in one.alerts or ()]
    is_off = one.is_on_path is False
    said = [f"iteration {one.iteration}", one.classification or "", score(one.score)]
    said += ["the best"] if is_best else []
    said += ["discarded"] if is_off else []
    said += alerts
    if not known(one.metrics):
        said.append("not measured")
    tone = TONES.get(one.classification or "", "steady")
    count, passed = ((one.figures or {}).get(x) for x in ("test_count", "tests_passed"))
    tests = None
    if isinstance(count, int) and isinstance(passed, int):
        tests = (passed, count)
        said.append(f"{passed} of {count} tests pass")
    if known(one.unfit):
        said.append(str(one.unfit))
    about = ", ".join(filter(None, said))
    spent = one.spent or None
    marks = (is_off, is_best, alerts, tests, known(one.unfit), cost(spent))
    return Scored(one.iteration, one.score, tone, about, *marks)


def _legend(found: Sequence[Scored]) -> Iterator[Markup]:
    kinds = {"good": "forward", "steady": "plateau or first", "bad": "regression"}
    tones = {one.tone for one in found if one.score is not None}
    for tone, word in kinds.items():
        if tone in tones:
            yield _key("\N{BLACK CIRCLE}", tone, word)
    has_tests, is_off = any(x.tests for x in found), any(x.is_off for x in found)
    square, circle = "\N{BLACK SQUARE}", "\N{WHITE CIRCLE}"
    others = (
        (is_off, circle, "off", "discarded by a rollback"),
        (any(one.alerts for one in found), "!", "bad", "something got worse"),
        (any(one.score is None for one in found), "?", "", "not measured"),
        (has_tests, square, "good", "tests pass"),
        (has_tests, square, "bad", "fail"),
        (any(one.cost for one in found), square, "steady", "cost"),
    )
    yield from (_key(*key) for is_there, *key in others if is_there)


def _key(sign: str, tone: str, word: str) -> Markup:
    return tag("li", tag("span", sign, class_=f"key dot {tone}".rstrip()), word)


def _lines(levels: Levels) -> Iterator[Markup]:
    for name, level in levels.lines():
        line = tag("line", x1=0, x2="100%", y1=5, y2=5, class_=name)
        key = tag("svg", line, width=26, height=10, class_="key-line")
        yield tag("li", key, f"{name} {level:.2f} ", tag("small", f"({_LEVELS[name]})"))


def worse(facts: SprintFacts) -> Markup:
    """Return the regressions and the iterations in which they occurred, newest first."""
    found = [
        (one.iteration, alert.severity, alert.message, one.is_on_path is False)
        for one in reversed(facts.iterations.iterations)
        for alert in one.alerts or ()
    ]
    if not found:
        return NOTHING
    items = [
        tag("li", iteration_link(number, f"iteration {number}"), " ",
            tag("b", severity, class_="bad"), " ",
            text(message), " (rolled back)" if is_off else "")
        for number, severity, message, is_off in found[:WORSE_MAX]
    ]  # fmt: skip
    if (more := len(found) - WORSE_MAX) > 0:
        items.append(tag("li", tag("a", f"{more:,} more", href="#iterations")))
    title = tag("h2", "What got worse, the newest first")
    return joined(title, tag("ul", *items, class_="worse"))
