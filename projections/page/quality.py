"""The iterations' quality: a plot of the scores, and a small plot for each figure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sprintlog.facts import JudgedIteration, SprintFacts
from sprintlog.usage import lower_bounds, tokens_of

from .layout import WHOLE, Dot, Plot, height, percent, plot, step_place
from .limits import limits_of
from .markup import NOTHING, Markup, command, drawing, joined, section, tag, text, without
from .numbers import cost, known, money, number, score

HEIGHT, PAD_TOP, PAD_BOTTOM = 230, 18, 26
"""In pixels: the total height, and the padding above and below the lines."""
LEFT = 26
"""The left end of the grid lines, in pixels, to the right of their labels."""
SMALL = 54
NUMBERS_MAX = 24
"""With more iterations, only some iteration numbers are drawn."""


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
    """The horizontal reference lines of a plot."""

    baseline: float | None
    threshold: float | None

    def lines(self) -> list[tuple[str, float]]:
        """Return the names and values of the lines that have a value."""
        return [(name, x) for name, x in self._asdict().items() if x is not None]


def plotted(found: Sequence[Scored], levels: Levels) -> Markup:
    """Return the contents of the plot's SVG element."""
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
    # Added after all lines, so that no line crosses a number.
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
    first = round(low * 10)
    return [tenth / 10 for tenth in range(first, round(high * 10) + 1, step)]


def _line(placed: Plot, top: int, inner: int) -> list[Markup]:
    """Return the line through the points of a plot, if there is one."""
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
        # Near the top, there is no space above the point.
        at = y - 15 if y > 40 else y + 24
        parts.append(tag("text", label, x=x, y=at, class_="best", text_anchor=anchor))
    parts.append(tag("circle", cx=x, cy=y, r=5))
    if one.alerts:
        sign = tag("text", "!", x=x, y=y + 19, text_anchor="middle", class_="alert")
        parts.append(sign)
    kind = f"point {one.tone}" + (" off" if one.is_off else "")
    return tag("g", *parts, class_=kind, data_v=one.version or None)


def small(values: Sequence[float | None], label: str) -> Markup:
    """Return a small plot of a figure over the iterations."""
    placed = plot(values)
    parts = _line(placed, 5, SMALL - 10)
    if placed.line:
        last = placed.line[-1]
        y = round(5 + last.y * (SMALL - 10) / WHOLE, 1)
        parts.append(tag("circle", cx=percent(last.x), cy=y, r=3.5, class_="last"))
    return drawing("small", SMALL, label, *parts)


PLOTS_MAX, WORSE_MAX = 14, 12
"""The maximum numbers of plots and of regressions; the table has all figures."""
TONES = {"forward": "good", "regression": "bad", "plateau": "steady", "stalled": "steady"}


def scored(facts: SprintFacts) -> tuple[list[Scored], Levels]:
    """Return the plotted iterations, without the baseline, and the reference lines."""
    found = [_scored(facts, one) for one in facts.numbered[-limits_of(facts).iterations :]]
    base, acceptance = facts.baseline, facts.judged.rules.thresholds.acceptance
    levels = Levels(None if base is None else base.score, acceptance)
    return found, levels


def quality(facts: SprintFacts) -> Markup:
    """Return the section with the plots."""
    found, levels = scored(facts)
    if not any(one.score is not None for one in found):
        return without("quality", "Quality", "No iteration was measured.")
    label = "Quality of " + ", ".join(
        f"iteration {one.number}: {score(one.score)}" for one in found[-20:]
    )
    legend = tag("ul", *_legend(found), *_lines(levels), class_="legend")
    plots = tag("div", *_small_plots(facts), class_="plots")
    plot = drawing("quality", HEIGHT, label, plotted(found, levels))
    parts = [tag("div", plot, class_="drawing"), legend, _worse(facts), plots]
    return section("quality", "Quality", *parts)


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
    version = one.version if isinstance(one.version, int) else 0
    about = ", ".join(filter(None, said))
    return Scored(one.iteration, one.score, tone, about, is_off, is_best, alerts, version)


def _legend(found: Sequence[Scored]) -> Iterator[Markup]:
    kinds = {"good": "forward", "steady": "plateau or first", "bad": "regression"}
    tones = {one.tone for one in found if one.score is not None}
    for tone, word in kinds.items():
        if tone in tones:
            yield _key("\N{BLACK CIRCLE}", tone, word)
    if any(one.is_off for one in found):
        yield _key("\N{WHITE CIRCLE}", "off", "discarded by a rollback")
    if any(one.alerts for one in found):
        yield _key("!", "bad", "something got worse")
    if any(one.score is None for one in found):
        yield _key("?", "", "not measured")


def _key(sign: str, tone: str, word: str) -> Markup:
    return tag("li", tag("span", sign, class_=f"key dot {tone}".rstrip()), word)


def _lines(levels: Levels) -> Iterator[Markup]:
    for name, level in levels.lines():
        line = tag("line", x1=0, x2="100%", y1=5, y2=5, class_=name)
        key = tag("svg", line, width=26, height=10, class_="key-line")
        yield tag("li", key, f"{name} {level:.2f}")


def _worse(facts: SprintFacts) -> Markup:
    """Return the regressions and the times at which they occurred, newest first."""
    found = [
        (one.iteration, alert.severity, alert.message, one.is_on_path is False)
        for one in reversed(facts.iterations.iterations)
        for alert in one.alerts or ()
    ]
    if not found:
        return NOTHING
    items = [
        tag("li", tag("b", f"iteration {number} "), tag("b", severity, class_="bad"), " ",
            text(message), " (rolled back)" if is_off else "")
        for number, severity, message, is_off in found[:WORSE_MAX]
    ]  # fmt: skip
    more = len(found) - WORSE_MAX
    if more > 0:
        line = command(f"sprintlog iteration alerts --all{facts.named}")
        items.append(tag("li", f"{more:,} more: ", line))
    title = tag("h3", "What got worse, the newest first")
    return joined(title, tag("ul", *items, class_="worse"))


def _small_plots(facts: SprintFacts) -> Iterator[Markup]:
    rows = facts.numbered[-limits_of(facts).iterations :]
    on = [x.is_on_path is not False for x in rows]
    series: dict[str, list[float | None]] = {}
    figures = [x.figures or {} for x in rows]
    for name in dict.fromkeys(name for known_ones in figures for name in known_ones):
        values = [known_ones.get(name) for known_ones in figures]
        if not any(isinstance(value, str) for value in values):
            # Discarded iterations do not represent the current state of the work.
            series[name] = [
                float(x) if isinstance(x, int | float) and is_on else None
                for x, is_on in zip(values, on, strict=True)
            ]
    spent = [x.spent for x in rows]
    all_tokens = [tokens_of(x) for x in spent]
    series["tokens"] = [None if x is None else float(x) for x in all_tokens]
    series["cost"] = [cost(x) for x in spent]
    bounds = {name.removesuffix("_usd") for one in spent for name in lower_bounds(one)}
    shown = 0
    for name, points in series.items():
        there = [value for value in points if value is not None]
        # A constant series provides no information.
        if len(there) < 2 or (len({*there}) == 1 and name not in ("tokens", "cost")):
            continue
        shown += 1
        if shown > PLOTS_MAX:
            return
        yield _figure(name, points, there, " (at least)" * (name in bounds))


def _figure(name: str, points: list[float | None], there: list[float], of: str) -> Markup:
    say = money if name == "cost" else number
    first, last = say(there[0]), say(there[-1])
    span = f"{say(min(there))} to {say(max(there))}"
    label = f"{name}: from {first} to {last}, between {span}"
    caption = tag(
        "figcaption",
        tag("b", text(name.replace("_", " ") + of)),
        tag("span", f"{first} \N{RIGHTWARDS ARROW} {last}"),
    )
    return tag("figure", caption, small(points, label), tag("small", span))
