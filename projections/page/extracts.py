"""Extracts of the page: single charts as SVG, and the Markdown summary of a job."""

import re
from collections.abc import Callable

from sprintlog.facts import SprintFacts

from . import timeline
from .layout import Timeline
from .markup import Markup, asset, tag
from .quality import HEIGHT, Levels, plotted, scored
from .timeline import WAITS, laid_out

BYTES_MAX = 1024 * 1024
"""A job's summary may not be longer."""
MERMAID_BYTES_MAX = 40_000
"""Mermaid draws no longer text than 50,000 characters by itself."""
_TAGS = {"good": "done, ", "bad": "crit, ", "open": "active, "}
_NAME_CHARS_MAX = 60
_LEFT_OUT = "\n\nThe rest is left out: `sprintlog report` has all of it.\n"


def job_summary(report: str, found: Timeline) -> str:
    """Return a report with its timeline behind it, as long as a summary may be."""
    drawn = "\n".join(mermaid(found)) + "\n" if found.rows else ""
    whole = f"{report}{drawn}"
    if len(whole.encode()) <= BYTES_MAX:
        return whole
    room = BYTES_MAX - len(_LEFT_OUT.encode())
    head = whole.encode()[:room].decode(errors="ignore")
    return f"{head[: head.rfind(chr(10)) + 1].rstrip()}{_LEFT_OUT}"


def mermaid(found: Timeline) -> list[str]:
    """Return the timeline as a Gantt diagram of Mermaid; of many bars the last ones."""
    rows: dict[str, list[str]] = {name: [] for name in found.rows}
    size = 0
    for bar in reversed(found.bars):
        work = bar.work
        tag = _TAGS.get(work.tone.partition(" ")[0], "")
        label = _plain(work.labels[0] if work.labels else "") or "work"
        end = max(work.end, work.begin + 1)
        line = f"    {label} :{tag}{work.begin}, {end}"
        size += len(line) + 1
        if size > MERMAID_BYTES_MAX:
            break
        rows[found.rows[bar.row]].insert(0, line)
    for gap in reversed(found.gaps):
        wait = gap.wait
        line = f"    {_plain(wait.who)} :{wait.begin}, {max(wait.end, wait.begin + 1)}"
        size += len(line) + 1
        if size <= MERMAID_BYTES_MAX:
            rows.setdefault(WAITS, []).insert(0, line)
    lines = ["", "### Timeline", "", "```mermaid", "gantt", "    dateFormat x"]
    lines.append("    axisFormat %H:%M")
    for name, bars in rows.items():
        if bars:
            lines += [f"    section {_plain(name) or 'work'}", *bars]
    return [*lines, "```"]


def _plain(said: str) -> str:
    """Return a name in which nothing means anything to Mermaid or Markdown."""
    return re.sub(r"[^\w $./-]+", " ", said, flags=re.ASCII).strip()[:_NAME_CHARS_MAX]


WIDTH, NAMES = 1000, 190
"""In pixels: of all of it, and of the names of rows."""
TITLE = 34


def timeline_drawing(facts: SprintFacts) -> str:
    """Return the timeline with the names of its rows."""
    found = laid_out(facts)
    begin = timeline.top(found)
    names = [
        tag("text", name, x=NAMES - 10, y=TITLE + begin + n * timeline.ROW + 17,
            text_anchor="end")
        for n, name in enumerate(timeline.names(found))
    ]  # fmt: skip
    plot = tag(
        "svg", timeline.drawn(found), x=NAMES, y=TITLE, width=WIDTH - NAMES - 10,
        height=timeline.height(found), overflow="visible",
    )  # fmt: skip
    title = f"{facts.sprint.id}: {facts.status.status}, version {facts.version}, UTC"
    return _file(title, timeline.height(found) + TITLE, *names, plot)


def quality_drawing(facts: SprintFacts) -> str:
    """Return the quality of all iterations."""
    found, levels = scored(facts)
    plot = tag(
        "svg", plotted(found, levels), x=10, y=TITLE, width=WIDTH - 20, height=HEIGHT
    )
    return _file(f"{facts.sprint.id}: quality{_levels(levels)}", HEIGHT + TITLE, plot)


DRAWINGS: dict[str, Callable[[SprintFacts], str]] = {
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
