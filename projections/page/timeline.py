"""The timeline of phases, iterations, waits and rollbacks, as SVG."""

from collections.abc import Iterator
from itertools import chain, count
from typing import Any

from sprintlog.facts import Delay, SprintFacts, Work
from sprintlog.formatting import counted

from . import layout, limits, markup
from .markup import Markup, command, drawing, joined, scrolling, section, tag, without

ROW, BAR, AXIS, ARC = 26, 18, 22, 14
"""Heights in pixels: of a row, a bar, the axis, and one level of arrows."""
WAITS = "waits"
NAME_CHARS_MAX = 26
"""The maximum length of a row's name next to the drawing; on a phone it has two lines."""
SIGNS = {
    "gate passed": ("\N{CHECK MARK}", "good"),
    "gate failed": ("\N{BALLOT X}", "bad"),
    "failed": ("\N{BALLOT X}", "bad"),
    "retry": ("\N{CLOCKWISE OPEN CIRCLE ARROW}", "steady"),
    "skipped": ("\N{RIGHTWARDS ARROW}", "steady"),
}
"""The drawing of each kind of sign: a character and a colour."""
TONES = {
    "good": ("\N{BLACK UP-POINTING TRIANGLE}", "went forward, completed"),
    "steady": ("=", "plateau, skipped"),
    "plain": ("\N{WHITE CIRCLE}", "ended, not measured"),
    "bad": ("\N{BLACK DOWN-POINTING TRIANGLE}", "regression, failed"),
    "stuck": ("\N{BLACK SMALL SQUARE}", "blocked, or a person is needed"),
    "open": ("\N{HORIZONTAL ELLIPSIS}", "not ended"),
}
"""The character that duplicates the meaning of a bar's colour, and the meaning."""
_PLACES = {layout.INSIDE: (0, 4, None), layout.OVER: (1, None, "middle")}
"""The position of each label: number of half bar widths, offset in pixels, anchor."""


def names(found: layout.Timeline) -> list[str]:
    """Return the unique row names, from top to bottom."""
    shown: dict[str, None] = {}
    for name in found.rows:
        short = shortened(name)
        same = (f"{short} ({number})" for number in count(2))
        shown[next(x for x in chain([short], same) if x not in shown)] = None
    return [*shown, *([WAITS] if found.gaps else [])]


def shortened(name: str) -> str:
    """Return the name, with its middle omitted if it is long."""
    if len(name) <= NAME_CHARS_MAX:
        return name
    kept = (NAME_CHARS_MAX - 1) // 2
    return f"{name[:kept]}…{name[-kept:]}"


def top(found: layout.Timeline) -> int:
    """Return the vertical position of the first row, in pixels."""
    levels = max((arrow.level + 1 for arrow in found.arrows), default=0)
    return AXIS + ARC * levels + (6 if levels else 0)


def height(found: layout.Timeline) -> int:
    """Return the drawing's height in pixels."""
    return top(found) + ROW * len(names(found)) + 4


def drawn(found: layout.Timeline) -> Markup:
    """Return the contents of the timeline's SVG element."""
    begin = top(found)
    end = height(found)
    parts = [markup.asset("hatch.svg"), *(_band(gap, begin, end) for gap in found.gaps)]
    for index in range(len(names(found)) + 1):
        y = begin + index * ROW
        parts.append(tag("line", x1="0", x2="100%", y1=y, y2=y, class_="rule"))
    for tick in found.ticks:
        x = layout.percent(tick.x)
        parts.append(tag("line", x1=x, x2=x, y1=AXIS - 4, y2=end, class_="tick"))
        kind = f"axis{' day' * tick.is_day}{' more' * (not tick.is_sparse)}"
        anchor = "end" if tick.x > 8800 else "start" if tick.x < 1200 else "middle"
        parts.append(tag("text", tick.label, x=x, y=12, class_=kind, text_anchor=anchor))
    parts += [_arrow(arrow, begin) for arrow in found.arrows]
    parts += [_bar(bar, begin) for bar in found.bars]
    parts += [_wait(gap, begin + ROW * len(found.rows)) for gap in found.gaps]
    parts += [_mark(mark, begin) for mark in found.marks]
    return joined(*parts)


def _bar(bar: layout.Bar[Work], begin: int) -> Markup:
    work = bar.of
    y = begin + bar.row * ROW + (ROW - BAR) // 2
    sign, _ = TONES.get(work.tone.partition(" ")[0], ("", ""))
    inside = [tag("title", work.about), _rect(bar, y), *_labels(bar, y, sign)]
    group = tag("g", *inside, class_=f"bar {work.tone}")
    return tag("a", group, href=f"#i{work.number}") if work.number else group


def _rect(bar: layout.Bar[Any], y: int, fill: str | None = None) -> Markup:
    x, width = layout.percent(bar.x), layout.percent(bar.width)
    return tag("rect", x=x, y=y, width=width, height=BAR, rx=3, fill=fill)


def _labels(bar: layout.Bar[Any], y: int, sign: str = "") -> Iterator[Markup]:
    """Yield a bar's label for a screen, and its label for a phone if that differs."""
    wide, thin = (
        (_written(label, sign, bar.width * pixels // layout.WHOLE), label.place)
        for label, pixels in ((bar.wide, layout.WIDE), (bar.thin, layout.THIN))
    )
    sizes = {wide: ""} if wide == thin else {wide: "wide", thin: "thin"}
    for (said, place), size in sizes.items():
        if said:
            share, dx, anchor = _PLACES[place]
            x = layout.percent(bar.x + bar.width * share // 2)
            given = {"x": x, "dx": dx, "y": y + 13, "text_anchor": anchor}
            yield tag("text", said, **given, class_=size or None)


def _written(label: layout.Label, sign: str, pixels: int) -> str:
    """Return a label's text; inside a bar, it is preceded by its sign if there is room."""
    if label.place != layout.INSIDE or not sign or pixels < layout.SIGN:
        return label.text
    return f"{sign} {label.text}".rstrip()


def _band(gap: layout.Bar[Delay], begin: int, end: int) -> Markup:
    x, width = layout.percent(gap.x), layout.percent(gap.width)
    height = max(end - begin - 4, 0)
    return tag("rect", x=x, width=width, y=begin, height=height, class_="band")


def _wait(gap: layout.Bar[Delay], y: int) -> Markup:
    wait, y = gap.of, y + (ROW - BAR) // 2
    about = f"waits for {wait.who}" + (f": {wait.about}" if wait.about else "")
    inside = [tag("title", about), _rect(gap, y, "url(#hatch)"), *_labels(gap, y)]
    return tag("g", *inside, class_="bar wait")


def _mark(mark: layout.Stamp, begin: int) -> Markup:
    sign, tone = SIGNS.get(mark.sign.kind, ("\N{BULLET}", "steady"))
    y = begin + mark.row * ROW + ROW // 2
    about = f"{mark.sign.kind}" + (f": {mark.sign.about}" if mark.sign.about else "")
    inside = [tag("title", about), tag("circle", r=7), tag("text", sign, y=4)]
    group = tag("svg", *inside, x=layout.percent(mark.x), y=y, overflow="visible")
    return tag("g", group, class_=f"mark {tone}")


def _arrow(arrow: layout.Arrow, begin: int) -> Markup:
    """Return a rollback as an arrow: up from its time, across, and down to its target."""
    low, high = min(arrow.x, arrow.to), max(arrow.x, arrow.to, arrow.x + 60)
    depth = ARC * (arrow.level + 1)
    x, width = layout.percent(low), layout.percent(max(high - low, 1))
    path = tag("path", d=f"M100 {depth}V4H0V{depth}", vector_effect="non-scaling-stroke")
    place = {"x": x, "y": begin - depth, "width": width, "height": depth}
    box = {"viewbox": f"0 0 100 {depth}", "preserveaspectratio": "none"}
    tip = tag("path", d="M-4 -7L4 -7L0 0z", class_="head")
    head = tag("svg", tip, x=x, y=begin, overflow="visible")
    title = tag("title", arrow.back.about)
    return tag("g", title, tag("svg", path, **place, **box), head, class_="arrow")


def laid_out(facts: SprintFacts) -> layout.Timeline:
    """Return the laid-out timeline."""
    most = {"bars_max": limits.BARS, "signs_max": limits.SIGNS}
    found = facts.course(loops_max=limits.ITERATIONS, **most)
    drawn = layout.place_timeline(found.work, found.waits, found.signs, found.returns)
    return drawn._replace(earlier=found.earlier)


def timeline(facts: SprintFacts) -> Markup:
    """Return the drawing with its legend."""
    found = laid_out(facts)
    if not found.rows:
        return without("timeline", "Timeline", "Nothing was worked on yet.")
    label = f"Timeline with {len(found.rows)} rows, {len(found.bars)} bars"
    labels = [tag("li", tag("span", _breaking(name))) for name in names(found)]
    side = tag("ol", *labels, class_=f"names pad{top(found)}", aria_hidden="true")
    picture = drawing("gantt", height(found), label, drawn(found), role="group")
    scrolled = scrolling(picture, label="timeline, scrolls", class_="scroll drawing")
    notes: list[object] = ["times are UTC"]
    if found.left_out:
        notes.append(f"; {found.left_out:,} more rows are not shown")
    if found.earlier:
        more = counted(found.earlier, "earlier bar")
        notes += [f"; {more} not shown: ", command(f"sprintlog log{facts.named}")]
    box = tag("div", side, scrolled, class_="gantt-box")
    return section("timeline", "Timeline", box, _legend(found), note=notes)


def _breaking(name: str) -> Markup:
    """Return an address that can wrap between its parts."""
    parts = name.split("/")
    return joined(*(joined(part, "/", tag("wbr")) for part in parts[:-1]), parts[-1])


def _legend(found: layout.Timeline) -> Markup:
    tones = {bar.of.tone.partition(" ")[0] for bar in found.bars}
    items = [
        tag("li", tag("span", sign, class_=f"key {tone}"), word)
        for tone, (sign, word) in TONES.items()
        if tone in tones
    ]
    if any("off" in bar.of.tone for bar in found.bars):
        key = tag("span", "", class_="key pale")
        items.append(tag("li", key, "pale: discarded by a rollback"))
    kinds = {mark.sign.kind for mark in found.marks}
    items += [
        tag("li", tag("span", sign, class_=f"key mark {tone}"), kind)
        for kind, (sign, tone) in SIGNS.items()
        if kind in kinds
    ]
    if found.gaps:
        whom = ", ".join(dict.fromkeys(gap.of.who for gap in found.gaps))
        items.append(tag("li", tag("span", "", class_="key wait"), f"waits for {whom}"))
    if found.arrows:
        sign = "\N{LEFTWARDS ARROW WITH HOOK}"
        items.append(tag("li", tag("span", sign, class_="key back"), "rollback"))
    return tag("ul", *items, class_="legend")
