"""When what was done: rows of phases and iterations by the clock, waits, ways back."""

from sprintlog.facts import SprintFacts
from sprintlog.formatting import counted

from .. import gantt
from ..layout import Timeline
from ..layout import timeline as placed
from ..limits import limits_of
from ..markup import (
    Markup,
    command,
    joined,
    row,
    scrolling,
    section,
    table,
    tag,
    text,
    without,
)
from ..numbers import version_link

SEPARATE_MAX = 30
"""So many iterations have a row each, where nothing else has one."""


def laid_out(facts: SprintFacts) -> Timeline:
    """Return where everything of the timeline is."""
    limits = limits_of(facts)
    found = facts.course(
        loops_max=limits.iterations, bars_max=limits.bars, signs_max=limits.signs
    )
    rows = {work.row for work in found.work}
    if len(rows) == 1 and len(found.work) <= SEPARATE_MAX:
        # Iterations alone: a row each can be read better.
        names = [f"{work.row} {index}" for index, work in enumerate(found.work)]
        if found.has_only_iterations:
            names = [work.about.partition(",")[0] for work in found.work]
        pairs = zip(found.work, names, strict=True)
        work = [one._replace(row=name) for one, name in pairs]
        first = {one.row: one for one in work}
        signs = [
            sign._replace(row=next(
                (n for n, w in first.items() if w.begin <= sign.at <= w.end), sign.row
            ))
            for sign in found.signs
        ]  # fmt: skip
        found = found._replace(work=work, signs=signs)
    drawn = placed(found.work, found.waits, found.signs, found.returns)
    return drawn._replace(earlier=found.earlier)


def timeline(facts: SprintFacts) -> Markup:
    """Return the drawing, and the same as a table for who cannot see it."""
    found = laid_out(facts)
    if not found.rows:
        return without("timeline", "Timeline", "Nothing was worked on yet.")
    label = f"Timeline with {len(found.rows)} rows, {len(found.bars)} bars"
    labels = [tag("li", tag("span", _breaking(name))) for name in gantt.names(found)]
    side = tag("ol", *labels, class_=f"names pad{gantt.top(found)}", aria_hidden="true")
    drawn = gantt.inline(found, label)
    drawing = scrolling(drawn, label="timeline, scrolls", class_="scroll drawing")
    notes: list[object] = ["times are UTC"]
    if found.left_out:
        notes.append(f"; {found.left_out:,} more rows are not shown")
    if found.earlier:
        more = counted(found.earlier, "earlier bar")
        notes += [f"; {more} not shown: ", command(f"sprintlog log{facts.named}")]
    parts = [
        tag("div", side, drawing, class_="gantt-box"),
        _legend(found),
        _as_table(found, limits_of(facts).listed),
    ]
    return section("timeline", "Timeline", *parts, note=notes)


def _breaking(name: str) -> Markup:
    """Return an address that is broken between its parts, where it is too long."""
    parts = name.split("/")
    return joined(*(joined(part, "/", tag("wbr")) for part in parts[:-1]), parts[-1])


def _legend(found: Timeline) -> Markup:
    tones = {bar.work.tone.partition(" ")[0] for bar in found.bars}
    words = {
        "good": "went forward, completed",
        "steady": "plateau, skipped",
        "plain": "ended, not measured",
        "bad": "regression, failed",
        "stuck": "blocked, or a person is needed",
        "open": "not ended",
    }
    items = [
        tag("li", tag("span", gantt.TONES[tone], class_=f"key {tone}"), word)
        for tone, word in words.items()
        if tone in tones
    ]
    if any("off" in bar.work.tone for bar in found.bars):
        key = tag("span", "", class_="key pale")
        items.append(tag("li", key, "pale: taken back by a rollback"))
    kinds = {mark.sign.kind for mark in found.marks}
    items += [
        tag("li", tag("span", sign, class_=f"key mark {tone}"), kind)
        for kind, (sign, tone) in gantt.SIGNS.items()
        if kind in kinds
    ]
    if found.gaps:
        whom = ", ".join(dict.fromkeys(gap.wait.who for gap in found.gaps))
        items.append(tag("li", tag("span", "", class_="key wait"), f"waits for {whom}"))
    if found.arrows:
        sign = "\N{LEFTWARDS ARROW WITH HOOK}"
        items.append(tag("li", tag("span", sign, class_="key back"), "rollback"))
    return tag("ul", *items, class_="legend")


def _as_table(found: Timeline, listed: int) -> Markup:
    """Return the waits and ways back in words, and each piece of work."""
    told = [(bar.work.begin, bar.work.version, bar.work.about) for bar in found.bars]
    told += [(gap.wait.begin, 0, f"waits for {gap.wait.who}: {gap.wait.about}")
             for gap in found.gaps]  # fmt: skip
    told += [(a.back.at, a.back.version, a.back.about) for a in found.arrows]
    told.sort()
    rows = [
        row([tag("td", version_link(version) if version else ""), tag("td", text(about))])
        for _, version, about in told[-listed:]
    ]
    inside = table(("version", "what"), rows, label="the timeline in words")
    more = len(told) - listed
    shown = f"The last {listed} of {len(told):,} in words" if more > 0 else "In words"
    return tag("details", tag("summary", shown), inside)
