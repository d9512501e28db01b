"""Individual charts, the summary for a CI job, and the page as a single HTML file.

The same log and point produce the same bytes. The content security policy of the page
permits only the page's own style and script.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import NamedTuple

from sprintlog.facts import IterationDetails, SprintFacts, sprint_facts
from sprintlog.workspaces import Workspace

from . import limits
from . import timeline as gantt
from .head import head
from .iteration import SMALL_VIEW, WHOLE_VIEW, brief, iteration
from .iterations import iterations
from .layout import Timeline
from .markup import NOTHING, Markup, asset, joined, tag, text, typed, without
from .plan import plan
from .quality import Levels, chart_height, plotted, quality, scored
from .records import decisions, events, learnings, queue
from .timeline import WAITS, laid_out, timeline

SECTIONS: dict[str, Callable[[SprintFacts], Markup]] = {
    "head": head,
    "quality": quality,
    "plan": plan,
    "iterations": iterations,
    "timeline": timeline,
    "decisions": decisions,
    "queue": queue,
    "learnings": learnings,
    "events": events,
}
"""Every section from top to bottom, by the id of its HTML element; the first three are the
overview."""
OVERVIEW = ("head", "quality", "plan")


class Served(NamedTuple):
    """The parts that a server adds to the page; the server itself sends the policy."""

    links: Markup
    """Links in the head element: the server's style sheet."""
    bar: Markup
    """The bar before the section links: the current page, and whether it is live."""
    decide: Markup
    """The forms after the head; empty on read-only pages."""
    script: Markup
    """The server's script, which precedes the page's own script."""
    body: dict[str, str]
    """Attributes that the server's script reads."""


def page(workspace: Workspace, sprint_id: str, *, at: str | None = None) -> str:
    """Return a sprint's page as of a point in the log, by default its newest version."""
    return document(sprint_facts(workspace, sprint_id, at=at))


def document(
    facts: SprintFacts, served: Served | None = None, *, is_whole: bool = True
) -> str:
    """Return the page as an HTML document; if it is not whole, only with its overview."""
    first, *others = (
        build(facts) if is_whole or name in OVERVIEW
        else without(name, name.capitalize(), "The events are being read.")
        for name, build in SECTIONS.items()
    )  # fmt: skip
    style, script = style_sheet(), asset("page.js")
    added = served or Served(_policy(), NOTHING, NOTHING, NOTHING, {})
    inside = (
        added.links,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", facts.sprint.id, ": ", str(facts.status.status)),
        tag("style", style),
    )
    body = [
        tag("a", "Skip to what matters", href="#head", class_="skip"),
        tag("nav", added.bar, *_links(), aria_label="sections"),
        tag("noscript", tag("p", "Without JavaScript: ", typed("sprintlog report N"))),
        tag("main", first, added.decide, *others, id="all"),
        *([] if served else _views(facts)),
        added.script,
        tag("script", script),
    ]
    return html(inside, tag("body", *body, **added.body))


def html(head: Iterable[Markup], body: Markup) -> str:
    """Return an HTML document; `head` is added to its head element after the encoding."""
    whole = tag("head", tag("meta", charset="utf-8"), *head)
    return f"<!DOCTYPE html>\n{tag('html', whole, body, lang='en')}\n"


def _policy() -> Markup:
    """Return a policy that permits only the file's own style and script."""
    style, script = sources()
    policy = f"default-src 'none'; style-src {style}; script-src {script}; "
    policy += "connect-src 'none'; base-uri 'none'; form-action 'none'"
    kept = tag("meta", http_equiv="Content-Security-Policy", content=policy)
    return joined(kept, tag("meta", name="referrer", content="no-referrer"))


def sources() -> tuple[str, str]:
    """Return the digests of the page's style and script, in the format used by policies."""
    return _digest(style_sheet()), _digest(asset("page.js"))


def style_sheet() -> Markup:
    """Return the page's style sheet, including the styles for its drawings."""
    return joined(asset("drawing.css"), asset("page.css"))


def _links() -> list[Markup]:
    """Return the links of the navigation bar; those of the overview share one."""
    names = {"head": "overview"} | {x: x for x in SECTIONS if x not in OVERVIEW}
    return [tag("a", text(word), href=f"#{name}") for name, word in names.items()]


def _views(facts: SprintFacts) -> list[Markup]:
    """Return the views of iterations, which the script shows.

    Those of the best and of the newest are whole, up to a total size.
    """
    details, best = IterationDetails(facts), facts.iterations.best_iteration
    numbers = [x.iteration for x in facts.iterations.iterations[: -limits.ROWS - 1 : -1]]
    whole = {best, *numbers[: limits.ITERATIONS]}
    sizes = WHOLE_VIEW if len(whole) <= limits.WHOLE_VIEWS else SMALL_VIEW
    found: dict[int, Markup] = {}
    left = limits.VIEWS_BYTES
    for number in dict.fromkeys(numbers if best is None else (best, *numbers)):
        if (one := details.of(number)) is None:
            continue
        view = iteration(one, sizes) if number in whole and left > 0 else NOTHING
        left -= len(view.encode())
        # Browsers do not parse a script's text until the page's script shows it.
        is_brief = left < 0 or not view
        kind, said = ("script", brief(one)) if is_brief else ("template", view)
        given = {"type": "text/html" if is_brief else None, "id": f"i{number}"}
        found[number] = tag(kind, said, **given)
    return [found[number] for number in sorted(found)]


def _digest(source: str) -> str:
    """Return a source's digest, in the format used by policies."""
    return f"'sha256-{b64encode(sha256(source.encode()).digest()).decode()}'"


BYTES_MAX = 1024 * 1024
"""The maximum size of a job summary."""
MERMAID_BYTES_MAX = 40_000
"""Mermaid's default limit is 50,000 characters."""
_TAGS = {"good": "done, ", "bad": "crit, ", "open": "active, "}
_NAME_CHARS_MAX = 60
_LEFT_OUT = "\n\nThe rest is omitted; run `sprintlog report` to see all of it.\n"


def job_summary(report: str, found: Timeline) -> str:
    """Return a report followed by its timeline, truncated to a job summary's size limit."""
    drawn = "\n".join(mermaid(found)) + "\n" if found.rows else ""
    whole = f"{report}{drawn}"
    if len(whole.encode()) <= BYTES_MAX:
        return whole
    head = whole.encode()[: BYTES_MAX - len(_LEFT_OUT.encode())].decode(errors="ignore")
    return f"{head[: head.rfind(chr(10)) + 1].rstrip()}{_LEFT_OUT}"


def mermaid(found: Timeline) -> list[str]:
    """Return the timeline as a Mermaid Gantt diagram; early bars may be omitted."""
    rows: dict[str, list[str]] = {name: [] for name in found.rows}
    size = 0
    for bar in reversed(found.bars):
        work = bar.of
        tag = _TAGS.get(work.tone.partition(" ")[0], "")
        label = _plain(work.labels[0] if work.labels else "") or "work"
        line = f"    {label} :{tag}{work.begin}, {max(work.end, work.begin + 1)}"
        size += len(line) + 1
        if size > MERMAID_BYTES_MAX:
            break
        rows[found.rows[bar.row]].insert(0, line)
    for gap in reversed(found.gaps):
        wait = gap.of
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
    """Return a name without characters that are special in Mermaid or Markdown."""
    return re.sub(r"[^\w $./-]+", " ", said, flags=re.ASCII).strip()[:_NAME_CHARS_MAX]


WIDTH, NAMES = 1000, 190
"""Widths in pixels: of the drawing, and of the row names."""
TITLE = 34


def timeline_drawing(facts: SprintFacts) -> str:
    """Return the timeline as an SVG file with the names of its rows."""
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


def quality_drawing(facts: SprintFacts) -> str:
    """Return a plot of the quality of all iterations as an SVG file."""
    found, levels = scored(facts)
    height = chart_height(found)
    plot = tag(
        "svg", plotted(found, levels), x=10, y=TITLE, width=WIDTH - 20, height=height
    )
    return _file(f"{facts.sprint.id}: quality{_levels(levels)}", height + TITLE, plot)


DRAWINGS: dict[str, Callable[[SprintFacts], str]] = {
    "quality": quality_drawing,
    "gantt": timeline_drawing,
}
"""The individual charts, by name."""


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
