"""What to type now, in order: what a stop needs first, then what starts the loop again."""

import re
from collections.abc import Iterator

from sprintlog.engine.sprint.agent.actions import PERSON
from sprintlog.engine.sprint.iterations.snapshots import has_snapshot
from sprintlog.engine.sprint.runs.again import run_again
from sprintlog.engine.sprint.runs.budgets import ITERATIONS, OF_RUN

from ...views.work import STOPPED
from ...words.phrases import duration
from ..facts import Facts
from ..markup import Markup, said, tag
from ..numbers import known, money, number

_STARTS = "sprintlog run "
_NEXT = re.compile(r"; then |, then |, and (?=`)")
"""Between the steps of a hint."""
_RESOLVE = "resolve it"


def ways(facts: Facts, target: int | None, hints: list[str]) -> Iterator[Markup]:
    """Yield what to type; where going back is advised, that way first."""
    steps = [step for hint in hints for step in _NEXT.split(hint)]
    steps = _steps(facts, steps) if steps else []
    if target is not None:
        yield _typed("type now, as advised", [*_advised(facts, target)])
    if steps:
        name = "type now" if target is None else "or, to keep what is there"
        yield _typed(name + (", in this order" if len(steps) > 1 else ""), steps)
    if steps or target is not None:
        yield from _budgets(facts)


def files_said(facts: Facts, iteration: int) -> str:
    """Return where the files of an iteration are that no snapshot holds."""
    row = next((x for x in facts.iterations.iterations if x.iteration == iteration), None)
    git = None if row is None or not known(row.git) else row.git
    head = getattr(git, "head", None)
    there = f"; git stood at commit {head[:12]} then" if head else ""
    if facts.keeps_files:
        return f"No snapshot of its files is there{there}"
    return f"Its files were not kept, since the loop ran without `--snapshot`{there}"


def amount(budget: str, spent: float) -> str:
    """Return an amount of a budget with its unit."""
    if budget == "time":
        return duration(1000 * spent)
    return money(spent) if budget == "cost" else number(spent)


def _advised(facts: Facts, target: int) -> Iterator[str]:
    """Yield the steps of going back and on: with what stops it there all the same."""
    if facts.action.because == PERSON and (need := _need(facts)):
        yield f"resolve what it needs: {need}"
    goes = "plan and files go back"
    if not has_snapshot(facts.sprint, target):
        goes = "the plan goes back, files stay as they are"
    yield f"`sprintlog rollback iter:{target}{facts.named}` takes the advice: {goes}"
    after = facts.after_rollback(target)
    hint = (after.hint or after.why or "") if after.do in STOPPED else ""
    yield from _steps(facts, [x for x in _NEXT.split(hint) if x])


def _steps(facts: Facts, steps: list[str]) -> list[str]:
    """Return the steps of a way with what starts the loop again at its end."""
    need = _need(facts)
    found = [
        f"resolve what it needs: {need}" if need and step == _RESOLVE else step
        for step in steps
    ]
    started = facts.sprint.knowledge.loops.started
    if started is None or any(_STARTS in step for step in found):
        return found
    own, dashes, other = run_again(started).partition(" -- ")
    return [*found, f"`{own}{facts.named}{dashes}{other}` starts the loop again"]


def _need(facts: Facts) -> str:
    """Return what a person is asked for, in the words of who asks."""
    return facts.action.details or ""


def _budgets(facts: Facts) -> Iterator[Markup]:
    """Yield what is left to spend: each run has a budget of its own, a sprint has one."""
    found = facts.status.budgets
    if not known(found) or not isinstance(found, list):
        return
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
        yield tag("p", tag("b", "budget "), " ".join(parts), class_="told")


def _typed(name: str, steps: list[str]) -> Markup:
    """Return what to type: one line, or several in order."""
    if len(steps) == 1:
        return tag("p", tag("b", f"{name} "), said(steps[0]), class_="type")
    items = tag("ol", *(tag("li", said(step)) for step in steps))
    return tag("div", tag("b", name), items, class_="type")
