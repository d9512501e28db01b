"""The page header: the current activity or reason for the stop, and commands to type."""

import re
from collections.abc import Iterator
from typing import Any

from sprintlog.facts import BudgetStanding, SprintFacts
from sprintlog.formatting import UNKNOWN, counted, duration

from .layout import WHOLE, percent
from .markup import NOTHING, Markup, command, joined, said, tag, text
from .numbers import clock_of, cost, money, number, score, time, tokens, took

_TONES = {
    "completed": "good",
    "blocked": "bad",
    "failed": "bad",
    "needs-human": "bad",
    "interrupted": "bad",
    "paused": "steady",
    "paused-at-breakpoint": "steady",
    "in-progress": "open",
}
ITERATIONS, OF_RUN, OF_SPRINT, TIME = "iterations", "run", "sprint", "time"
"""The names and the scopes of budgets."""
_WORDS = {"running": "Running", "why": "Stopped", "stopped": "Stopped", "done": "Done"}
FULL_PERCENT, WARNED_PERCENT = 100, 80


_NAMES = {"details": "it needs"}
_WITHOUT_REASON = {"completed": "Done", "in-progress": "In progress"}


def head(facts: SprintFacts) -> Markup:
    """Return the page header with the most important facts."""
    standing = facts.standing(_clock)
    is_stopped = any(word == "stopped" for word, _ in standing)
    stands = [" ", chip("stopped")] if is_stopped else []
    title = tag("h1", facts.sprint.id, " ", chip(str(facts.status.status)), *stands)
    where = facts.status.work_tree
    when = joined(
        f"work tree {where}, " if where else "",
        "as of version ", str(facts.version), ", ", time(facts.last.at), " UTC, position ",
        f"{facts.last.position:,} of the log",
    )  # fmt: skip
    note, story = (
        tag("p", when, class_="note"),
        tag("div", *_story(facts, standing), class_="now"),
    )
    figures = tag("dl", *_figures(facts), class_="figures")
    return tag("header", title, note, story, figures, _budgets(facts), id="head")


def chip(status: str) -> Markup:
    """Return a label with a sprint's status in a matching colour."""
    return tag("span", status, class_=f"chip {_TONES.get(status, 'steady')}")


def _clock(at: object, *, is_relative: bool = False) -> str:
    return clock_of(str(at))


def _story(facts: SprintFacts, standing: list[tuple[str, str]]) -> Iterator[Markup]:
    """Yield why the sprint stopped, when it stopped, what it needs, and how to continue."""
    hints = []
    if not standing:
        word = _WITHOUT_REASON.get(str(facts.status.status), "Ready")
        ended = _stats(facts).get("completed-at") if word == "Done" else None
        since = time(ended or facts.status.last_activity)
        yield tag("p", tag("strong", word), " since ", since, class_="why")
    for word, line in standing:
        if word == "hint":
            hints.append(line)
        elif word in _WORDS:
            yield tag("p", tag("strong", f"{_WORDS[word]}: "), said(line), class_="why")
        else:
            yield _told(_NAMES.get(word, word), said(line), kind=f"told {word}")
    told = "; ".join(line for _, line in standing)
    for need in facts.status.human_needed:
        if str(need.reason) in told:
            continue
        where = f" at {need.phase}" if need.phase else ""
        details = [": ", text(need.details)] if need.details else []
        who = f"needs a person{where}"
        yield _told(who, text(need.reason), *details, kind="told need")
    if (advice := facts.advice) is not None:
        yield _told("advice", f"{advice.message} ({advice.reason})")
    yield from ways(facts, facts.advised_target, hints)
    yield from _best(facts)
    if facts.files_origin is not None:
        yield _told("files", text(facts.files_origin))
    if facts.goal is not None:
        yield _told("goal", text(facts.goal))


def _told(name: str, *parts: object, kind: str = "told") -> Markup:
    """Return a line of the page header with its label."""
    return tag("p", tag("b", f"{name} "), *parts, class_=kind)


def _best(facts: SprintFacts) -> Iterator[Markup]:
    best, target = facts.iterations.best_iteration, facts.rollback_target
    if best is None:
        return
    row = facts.iteration(best)
    value = score(row.score) if row is not None else UNKNOWN
    shown: list[object] = [f"iteration {best}, quality {value}. "]
    is_there = target is not None and target == facts.judged.last
    if is_there and target == best:
        shown.append("The sprint is at this iteration.")
    elif is_there:
        shown.append(f"The sprint is at iteration {target}, as good and later.")
    elif target is not None:
        line = f"sprintlog rollback iter:{target}{facts.named}"
        as_good = f" (iteration {target} is as good, and later)" if target != best else ""
        shown += [command(line), f" goes back to it{as_good}"]
        if facts.has_snapshot(target):
            shown += ["; ", command(f"{line} --files"), " brings its files alone"]
        else:
            shown += [". ", said(files_said(facts, target))]
    if equals := facts.equals:
        shown += [" ", said(equals[:1].upper() + equals[1:])]
    yield _told("best", *shown, kind="best")


def _stats(facts: SprintFacts) -> dict[str, Any]:
    return facts.status.stats if isinstance(facts.status.stats, dict) else {}


def _figures(facts: SprintFacts) -> Iterator[Markup]:
    """Yield each figure with its name; unknown figures are dashes."""
    stats, tree = _stats(facts), facts.sprint.plan.tree
    spent = facts.status.spent
    runs = getattr(spent, "runs", None)
    for name, nodes in (("phases", tree.phases), ("steps", tree.steps)):
        if total := sum(nodes.values()):
            done = f"{number(nodes['completed'])} of {number(total)}"
            yield _figure(f"{name} completed", done)
    rows = facts.numbered
    taken_back = sum(one.is_on_path is False for one in rows)
    more = f"{taken_back} discarded" if taken_back else None
    # Imported sprints may have more iterations than recorded events.
    said_to_be = stats.get("current-iteration")
    is_more = isinstance(said_to_be, int) and said_to_be > len(rows)
    yield _figure("iterations", number(said_to_be if is_more else len(rows)), more)
    if took_in_all := facts.worked:
        yield _figure("from begin to end", _by_clock(took_in_all), "waits included")
    more = None if runs is None else f"{counted(runs, 'run')} added up"
    if more is not None and (cut := getattr(spent, "runs_cut_short", 0)):
        more += f", {cut} more killed"
    yield _figure("agents at work", took(spent), more)
    yield _figure("tokens", tokens(spent))
    unknown = getattr(spent, "runs_without_cost", 0) + getattr(spent, "runs_cut_short", 0)
    runs_without = counted(unknown, "run")
    more = f"not reported by {runs_without}" if unknown else None
    if unknown and cost(spent) is not None:
        more = f"at least: {runs_without} did not report it"
    yield _figure("cost", money(cost(spent)), more)


def _by_clock(elapsed: object) -> str:
    """Return an elapsed time formatted as a duration; any other text is unchanged."""
    parts = str(elapsed).split(":")
    if len(parts) != 3 or not all(x.isascii() and x.isdigit() for x in parts):
        return str(elapsed)
    hours, minutes, seconds = (int(x[:9]) for x in parts)
    return duration(1000 * (3600 * hours + 60 * minutes + seconds))


def _figure(name: str, value: str, more: str | None = None) -> Markup:
    small = tag("small", more) if more else NOTHING
    return tag("div", tag("dt", name), tag("dd", value, small))


def _budgets(facts: SprintFacts) -> Markup:
    """Return the used part of each budget, as bars with figures."""
    found = facts.status.budgets or ()
    shown = [one for one in found if (one.of, one.budget) != (OF_SPRINT, ITERATIONS)]
    rows = map(_budget, shown)
    return tag("ul", *rows, class_="budgets", aria_label="budgets") if shown else NOTHING


def _budget(one: BudgetStanding) -> Markup:
    share = min(max(one.percent, 0), FULL_PERCENT) * WHOLE // FULL_PERCENT
    is_near, is_spent = one.percent >= WARNED_PERCENT, one.percent >= FULL_PERCENT
    tone = "bad" if is_spent else "open" if is_near else "good"
    size = {"height": 8, "rx": 4}
    ground = tag("rect", width="100%", **size, class_="ground")
    part = tag("rect", width=percent(share), **size, class_=tone)
    bar = tag("svg", ground, part, width="100%", height=8, aria_hidden="true")
    spent, limit = (amount(one.budget, x) for x in (one.spent, one.limit))
    line = f"{spent} of {limit}"
    unknown = f", {counted(one.unknown_runs, 'run')} unknown" if one.unknown_runs else ""
    more = ", waits included" if one.budget == TIME else unknown
    of = "last run" if one.of == OF_RUN else one.of
    label = tag("span", f"{one.budget} of the {of}: {line} ({one.percent} %){more}")
    return tag("li", label, bar)


_STARTS = "sprintlog run "
_NEXT = re.compile(r"; then |, then |, and (?=`)")
"""Separates the steps of a hint."""
_RESOLVE = "resolve the problem"


def ways(facts: SprintFacts, target: int | None, hints: list[str]) -> Iterator[Markup]:
    """Yield the commands to type; if a rollback is advised, its commands come first."""
    steps = [step for hint in hints for step in _NEXT.split(hint)]
    steps = _steps(facts, steps) if steps else []
    if target is not None:
        yield _typed("type now, as advised", [*_advised(facts, target)])
    if steps:
        name = "type now" if target is None else "or, to keep the current work"
        yield _typed(name + (", in this order" if len(steps) > 1 else ""), steps)
    if steps or target is not None:
        yield from _budget_ways(facts)


def files_said(facts: SprintFacts, iteration: int) -> str:
    """Return where to find the files of an iteration that has no snapshot."""
    head = getattr(getattr(facts.iteration(iteration), "git", None), "head", None)
    there = f"; git was at commit {head[:12]} then" if head else ""
    if facts.keeps_files:
        return f"No snapshot of its files exists{there}"
    return f"Its files were not saved because the loop ran without `--snapshot`{there}"


def amount(budget: str, spent: float) -> str:
    """Return an amount of a budget, with its unit."""
    if budget == "time":
        return duration(1000 * spent)
    return money(spent) if budget == "cost" else number(spent)


def _advised(facts: SprintFacts, target: int) -> Iterator[str]:
    """Yield the steps of a rollback, and the reasons to stop that will remain after it."""
    if facts.need:
        yield f"resolve what it needs: {facts.need}"
    goes = "restores the plan and the files"
    if not facts.has_snapshot(target):
        goes = "restores the plan; the files do not change"
    yield f"`sprintlog rollback iter:{target}{facts.named}` takes the advice: {goes}"
    hint = facts.hint_after_rollback(target)
    yield from _steps(facts, [x for x in _NEXT.split(hint) if x])


def _steps(facts: SprintFacts, steps: list[str]) -> list[str]:
    """Return the steps, followed by the command that restarts the loop."""
    need = facts.action.details
    found = [
        f"resolve what it needs: {need}" if need and step == _RESOLVE else step
        for step in steps
    ]
    started = facts.run_command
    if started is None or any(_STARTS in step for step in found):
        return found
    own, dashes, other = started.partition(" -- ")
    return [*found, f"`{own}{facts.named}{dashes}{other}` starts the loop again"]


def _budget_ways(facts: SprintFacts) -> Iterator[Markup]:
    """Yield a line about the remaining budgets for each run and for the sprint."""
    found = facts.status.budgets or ()
    own = [x for x in found if x.of == OF_RUN]
    shared = [x for x in found if x.of != OF_RUN and x.budget != ITERATIONS]
    parts = []
    if own:
        limits = ", ".join(f"{x.budget} {amount(x.budget, x.limit)}" for x in own)
        parts.append(f"A new run begins with its whole budget again: {limits}.")
    for one in shared:
        left = amount(one.budget, one.left) if one.left > 0 else "nothing"
        limit = f"{one.budget} {amount(one.budget, one.limit)}"
        parts.append(f"Of the budget of the whole sprint, {limit}, {left} is left.")
    if shared:
        parts.append("Neither a new run nor a rollback gives any of it back.")
    if parts:
        yield _told("budget", " ".join(parts))


def _typed(name: str, steps: list[str]) -> Markup:
    """Return the commands to type: a single line, or an ordered list."""
    if len(steps) == 1:
        return _told(name, said(steps[0]), kind="type")
    items = tag("ol", *(tag("li", said(step)) for step in steps))
    return tag("div", tag("b", name), items, class_="type")
