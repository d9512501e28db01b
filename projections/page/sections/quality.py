"""How good each iteration is: the score, and every figure over the iterations."""

from collections.abc import Iterator, Sequence

from sprintlog.engine.iterations.tracker import BASELINE_NUMBER

from ...views.iterations import JudgedIteration
from ..charts.quality import Levels, Scored, quality_svg, small
from ..facts import Facts
from ..markup import Markup, classes, section, tag, text
from ..numbers import cost, known, money, number, score, tokens

PLOTS_MAX = 14
"""More figures have no plot; the table has all."""
TONES = {"forward": "good", "regression": "bad", "plateau": "steady", "stalled": "steady"}


def scored(facts: Facts) -> tuple[list[Scored], Levels]:
    """Return what is plotted: all iterations but the baseline, and the lines across."""
    rows = facts.iterations.iterations
    base = next((x for x in rows if x.iteration == BASELINE_NUMBER), None)
    rules = facts.judged.rules
    found = [_scored(facts, one) for one in rows if one.iteration != BASELINE_NUMBER]
    levels = Levels(None if base is None else base.score, rules.thresholds.acceptance)
    return found, levels


def quality(facts: Facts) -> Markup:
    """Return the plots."""
    found, levels = scored(facts)
    if not any(one.score is not None for one in found):
        nothing = tag("p", "No iteration was measured.", class_="empty")
        return section("quality", "Quality", nothing)
    label = "Quality of " + ", ".join(
        f"iteration {one.number}: {score(one.score)}" for one in found[-20:]
    )
    legend = tag("ul", *_legend(found), class_="legend")
    plots = tag("div", *_small_plots(facts), class_="plots")
    parts = [tag("div", quality_svg(found, levels, label), class_="drawing"), legend, plots]
    return section("quality", "Quality", *parts)


def _scored(facts: Facts, one: JudgedIteration) -> Scored:
    is_best = facts.iterations.best_iteration == one.iteration
    alerts = [x.type for x in one.alerts] if isinstance(one.alerts, tuple) else []
    is_off = one.is_on_path is False
    said = [f"iteration {one.iteration}", one.classification or "", score(one.score)]
    said += ["the best"] if is_best else []
    said += ["off the path"] if is_off else []
    said += alerts
    if known(one.failed) or known(one.status) or known(one.retracted):
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
            yield tag(
                "li",
                tag("span", "\N{BLACK CIRCLE}", class_=classes("key", "dot", tone)),
                word,
            )
    if any(one.is_off for one in found):
        sign = tag("span", "\N{WHITE CIRCLE}", class_=classes("key", "dot", "off"))
        yield tag("li", sign, "off the path: a rollback left it behind")
    if any(one.alerts for one in found):
        yield tag(
            "li",
            tag("span", "!", class_=classes("key", "dot", "bad")),
            "something got worse",
        )
    if any(one.score is None for one in found):
        yield tag("li", tag("span", "?", class_="key dot"), "not measured")


def _small_plots(facts: Facts) -> Iterator[Markup]:
    rows = [x for x in facts.iterations.iterations if x.iteration != BASELINE_NUMBER]
    series: dict[str, list[float | None]] = {}
    figures = [x.figures if isinstance(x.figures, dict) else {} for x in rows]
    for name in dict.fromkeys(name for known_ones in figures for name in known_ones):
        values = [known_ones.get(name) for known_ones in figures]
        if not any(isinstance(value, str) for value in values):
            series[name] = [
                float(x) if isinstance(x, int | float) else None for x in values
            ]
    spent = [x.spent for x in rows]
    all_tokens = [tokens(x) for x in spent]
    series["tokens"] = [None if x is None else float(x) for x in all_tokens]
    series["cost"] = [cost(x) for x in spent]
    shown = 0
    for name, points in series.items():
        there = [value for value in points if value is not None]
        # What never changes tells nothing.
        if len(there) < 2 or (len({*there}) == 1 and name not in ("tokens", "cost")):
            continue
        shown += 1
        if shown > PLOTS_MAX:
            return
        yield _figure(name, points, there)


def _figure(name: str, points: list[float | None], there: list[float]) -> Markup:
    say = money if name == "cost" else number
    first, last = say(there[0]), say(there[-1])
    span = f"{say(min(there))} to {say(max(there))}"
    label = f"{name}: from {first} to {last}, between {span}"
    caption = tag(
        "figcaption",
        tag("b", text(name.replace("_", " "))),
        tag("span", f"{first} \N{RIGHTWARDS ARROW} {last}"),
    )
    return tag("figure", caption, small(points, label), tag("small", span))
