"""How good each iteration is: the score, and every figure over the iterations."""

from collections.abc import Iterator, Sequence

from sprintlog.facts import JudgedIteration, SprintFacts
from sprintlog.usage import lower_bounds, tokens_of

from ..limits import limits_of
from ..markup import NOTHING, Markup, command, joined, section, tag, text, without
from ..numbers import cost, known, money, number, score
from ..quality import Levels, Scored, quality_svg, small

PLOTS_MAX, WORSE_MAX = 14, 12
"""More figures have no plot; the table has all."""
TONES = {"forward": "good", "regression": "bad", "plateau": "steady", "stalled": "steady"}


def scored(facts: SprintFacts) -> tuple[list[Scored], Levels]:
    """Return what is plotted: all iterations but the baseline, and the lines across."""
    found = [_scored(facts, one) for one in facts.numbered[-limits_of(facts).iterations :]]
    base, acceptance = facts.baseline, facts.judged.rules.thresholds.acceptance
    levels = Levels(None if base is None else base.score, acceptance)
    return found, levels


def quality(facts: SprintFacts) -> Markup:
    """Return the plots."""
    found, levels = scored(facts)
    if not any(one.score is not None for one in found):
        return without("quality", "Quality", "No iteration was measured.")
    label = "Quality of " + ", ".join(
        f"iteration {one.number}: {score(one.score)}" for one in found[-20:]
    )
    legend = tag("ul", *_legend(found), *_lines(levels), class_="legend")
    plots = tag("div", *_small_plots(facts), class_="plots")
    drawing = tag("div", quality_svg(found, levels, label), class_="drawing")
    parts = [drawing, legend, _worse(facts), plots]
    return section("quality", "Quality", *parts)


def _scored(facts: SprintFacts, one: JudgedIteration) -> Scored:
    is_best = facts.iterations.best_iteration == one.iteration
    alerts = [x.type for x in one.alerts or ()]
    is_off = one.is_on_path is False
    said = [f"iteration {one.iteration}", one.classification or "", score(one.score)]
    said += ["the best"] if is_best else []
    said += ["off the path"] if is_off else []
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
        yield _key("\N{WHITE CIRCLE}", "off", "off the path: a rollback left it behind")
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
    """Return what got worse and when, the newest first."""
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
        line = command(f"sprintlog alerts --all{facts.named}")
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
            # What a rollback took back is not where the work stands.
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
        # What never changes tells nothing.
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
