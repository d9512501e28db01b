"""The page header: the current activity or reason for the stop, and commands to type."""

import re
from collections.abc import Iterator
from typing import Any

from sprintlog.facts import BudgetStanding, SprintFacts
from sprintlog.formatting import UNKNOWN, counted, duration

from .layout import WHOLE, percent
from .markup import NOTHING, Markup, joined, said, tag, text, typed
from .numbers import dollars_of, iteration_link, money, number, score, time, tokens, took
from .quality import worse

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
    status, words = str(facts.status.status), {word for word, _ in standing}
    is_stopped = status == "in-progress" and "stopped" in words
    title = tag("h1", facts.sprint.id, " ", chip("stopped" if is_stopped else status))
    where = facts.status.work_tree
    when = joined(
        "plan in progress, " if is_stopped else "", f"in {where}, " if where else "",
        "as of version ", str(facts.version), ", ", time(facts.last.at),
        tag("span", " UTC", class_="utc"), ", position ",
        f"{facts.last.position:,} of the log",
    )  # fmt: skip
    note, story = (
        tag("p", when, class_="note"),
        tag("div", *_story(facts, standing), class_="now"),
    )
    figures = tag("dl", *_figures(facts), class_="figures")
    side = tag("div", _budgets(facts), worse(facts), class_="side")
    top = tag("div", title, note, class_="top")
    return tag("header", top, story, figures, side, id="head")


def chip(status: str) -> Markup:
    """Return a label with a sprint's status in a matching colour."""
    return tag("span", status, class_=f"chip {_TONES.get(status, 'steady')}")


def _clock(at: object, *, is_relative: bool = False) -> str:
    """Return a recorded time, which `said` makes an element."""
    return str(at)


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
        elif word == "since" or (word == "details" and line == facts.need):
            pass  # Shown with the details, or as the first command.
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
    for note in facts.status.notes or ():
        yield _told("note to the agent", text(f"{note.id} {note.state}: {note.text}"))
    yield from ways(facts, facts.advised_target, hints)
    for nth, why in facts.tampered[-1:]:
        view = iteration_link(nth, f"iteration {nth}")
        yield _told("measure changed", view, ": ", text(why), kind="tampered")
    yield from _best(facts)


def _told(name: str, *parts: object, kind: str = "told") -> Markup:
    """Return a line of the page header with its label."""
    return tag("p", tag("b", f"{name} "), *parts, class_=kind)


def _best(facts: SprintFacts) -> Iterator[Markup]:
    best, target = facts.iterations.best_iteration, facts.rollback_target
    if best is None:
        return
    row = facts.iteration(best)
    value = score(row.score) if row is not None else UNKNOWN
    shown: list[object] = [iteration_link(best, f"iteration {best}"), f", score {value}. "]
    is_there = target is not None and target == facts.judged.last
    if is_there and target == best:
        shown.append("The sprint is at this iteration.")
    elif is_there:
        shown.append(f"The sprint is at iteration {target}, as good and later.")
    elif target is not None and target != facts.advised_target:
        line = f"sprintlog rollback iter:{target}{facts.named}"
        as_good = f" (iteration {target} is as good, and later)" if target != best else ""
        shown += [typed(line), f" goes back to it{as_good}. "]
        if not facts.has_snapshot(target):
            shown.append(said(f"{files_said(facts, target)}."))
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
    more = None if runs is None else f"{counted(runs, 'agent run')} added up"
    if more is not None and (cut := getattr(spent, "runs_cut_short", 0)):
        more += f", {cut} more killed"
    yield _figure("agents at work", took(spent), more)
    yield _figure("tokens of the sprint", tokens(spent))
    unknown = getattr(spent, "runs_without_cost", 0) + getattr(spent, "runs_cut_short", 0)
    runs_without = counted(unknown, "run")
    more = f"not reported by {runs_without}" if unknown else None
    yield _figure("cost of the sprint", dollars_of(spent), more)


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
    of = "last loop run" if one.of == OF_RUN else one.of
    label = tag("span", f"{one.budget} budget of the {of}: {line} ({one.percent} %){more}")
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
    order = ", in this order" if len(steps) > 1 else ""
    if steps and target is None:
        yield _typed(f"type now{order}", steps)
    name, more = "more about it", list[Markup]()
    if steps and target is not None:
        name = f"or, to keep the current work{order}"
        more.append(_typed("", steps))
    if more := [*more, *_about(facts)]:
        yield tag("details", tag("summary", name), *more)


def _about(facts: SprintFacts) -> Iterator[Markup]:
    """Yield when and how the work ended, the advice, and the origin of the files."""
    for word, line in facts.standing(_clock):
        if word == "since":
            yield _told(word, said(line))
    if (target := facts.advised_target) is not None and not facts.has_snapshot(target):
        yield _told("files", said(f"{files_said(facts, target)}."))
    if (advice := facts.advice) is not None:
        yield _told("advice", f"{advice.message} ({advice.reason})")
    if facts.files_origin is not None:
        yield _told("files", text(facts.files_origin))


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
        goes = f"restores only the plan (the files of iteration {target} were not saved)"
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


def _typed(name: str, steps: list[str]) -> Markup:
    """Return the commands to type: a single line, or an ordered list."""
    if len(steps) == 1 and name:
        return _told(name, said(steps[0]), kind="type")
    items = tag("ol", *(tag("li", said(step)) for step in steps))
    return tag("div", tag("b", name) if name else NOTHING, items, class_="type")
