"""A drawing of the page in a file of its own: SVG with its style."""

from collections.abc import Callable

from . import gantt
from .assets import asset
from .facts import Facts
from .markup import Markup, tag
from .quality import HEIGHT, Levels, quality
from .sections.quality import scored
from .sections.timeline import laid_out

WIDTH, NAMES = 1000, 190
"""In pixels: of all of it, and of the names of rows."""
TITLE = 34


def timeline_drawing(facts: Facts) -> str:
    """Return the timeline with the names of its rows."""
    found = laid_out(facts)
    begin = gantt.top(found)
    names = [
        tag("text", name, x=NAMES - 10, y=TITLE + begin + n * gantt.ROW + 17,
            text_anchor="end")
        for n, name in enumerate(gantt.names(found))
    ]  # fmt: skip
    plot = tag(
        "svg", gantt.drawn(found), x=NAMES, y=TITLE, width=WIDTH - NAMES - 10,
        height=gantt.height(found), overflow="visible",
    )  # fmt: skip
    title = f"{facts.sprint.id}: {facts.status.status}, version {facts.version}, UTC"
    return _file(title, gantt.height(found) + TITLE, *names, plot)


def quality_drawing(facts: Facts) -> str:
    """Return the quality of all iterations."""
    found, levels = scored(facts)
    plot = tag(
        "svg", quality(found, levels), x=10, y=TITLE, width=WIDTH - 20, height=HEIGHT
    )
    return _file(f"{facts.sprint.id}: quality{_levels(levels)}", HEIGHT + TITLE, plot)


DRAWINGS: dict[str, Callable[[Facts], str]] = {
    "quality": quality_drawing,
    "gantt": timeline_drawing,
}
"""What can be drawn by itself, by the word for it."""


def _levels(levels: Levels) -> str:
    how = {"baseline": "dotted", "threshold": "dashed"}
    words = [f"{name} {value:.2f} ({how[name]})" for name, value in levels.lines()]
    return f"; {', '.join(words)}" if words else ""


def _file(title: str, height: int, *inside: Markup) -> str:
    ground = tag("rect", width="100%", height="100%", class_="paper")
    head = tag("text", title, x=10, y=22, class_="title")
    style = tag("style", asset("drawing.css"))
    size = {"xmlns": "http://www.w3.org/2000/svg", "width": WIDTH, "height": height + 10}
    whole = tag(
        "svg", tag("title", title), style, ground, head, *inside, **size, role="img"
    )
    return f"{whole}\n"
