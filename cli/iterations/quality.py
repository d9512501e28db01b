"""What `status` says of the iterations: quality, alerts, and advice nobody answered yet."""

from sprintlog.engine.iterations.evaluation import Judgement
from sprintlog.engine.iterations.exact import shown
from sprintlog.engine.iterations.loop_rules import ROLLBACK
from sprintlog.engine.iterations.recommend import Recommendation
from sprintlog.engine.iterations.select import unknown_parts
from sprintlog.engine.service.streams.judged import Judged
from sprintlog.engine.sprint.iterations.stretches import lies_on, path
from sprintlog.projections.iterations.quality import standing

from ..output import coloured, counted, visible, wrapped
from ..screen.terminal import ATTENTION, BAD

BACK_SHOWN_MAX = 10


def standing_lines(judged: Judged) -> list[str]:
    """Return for people how good the iterations are, with the command for what waits."""
    found = standing(judged)
    known = [
        f"{name} iteration {one.number} ({shown(one.score.value, 2)}{_class(one, name)})"
        for name, one in (("best", found.best), ("last", found.last))
        if one is not None and one.score.value is not None
    ]
    said = f"quality: {', '.join(known)}  (`sprintlog report`)"
    lines = wrapped(said, indent="  ") if known else []
    one = found.best or found.last
    if known and one is not None and (unknown := unknown_parts(one.score)):
        lines += wrapped(f"  of each score: {unknown}", indent="  ")
    lines += _turns(judged)
    if found.last is not None and (alerts := found.last.alerts):
        worst = alerts[0]
        many = counted(len(alerts), "alert")
        said = f"alerts: {many} in iteration {found.last.number}, "
        said += f"{worst.severity}: {worst.message}"
        lines += _toned(f"{said}  (`sprintlog alerts`)", BAD)
    if found.advice is not None:
        is_measured = judged.tracker.entry(found.advice.number) is not None
        more = (
            f"sprintlog report {found.advice.number}" if is_measured else "sprintlog report"
        )
        lines += _toned(f"advice: {_advice(found.advice, more)}", ATTENTION)
    return lines


def _turns(judged: Judged) -> list[str]:
    """Return what was taken back because it was worse, and what was selected."""
    sprint, tracker = judged.sprint, judged.tracker
    lines, on = [], path(sprint.knowledge.rollbacks, sprint.version)
    back = [number for at, number in sprint.knowledge.gone_back if lies_on(on, at)]
    if back:
        named = ", ".join(map(str, back[-BACK_SHOWN_MAX:]))
        more = f"{len(back) - BACK_SHOWN_MAX} more, " if len(back) > BACK_SHOWN_MAX else ""
        what = f"iteration{'s' if len(back) > 1 else ''} {more}{named}"
        lines.append(f"taken back: {what}  (`sprintlog log --type rolled-back`)")
    if tracker.selected is not None:
        said = f"selected: iteration {tracker.selected.number}"
        if tracker.applied:
            said += f", its files are in {visible(tracker.applied[-1].destination)}"
        lines.append(said)
    return [part for line in lines for part in wrapped(line, indent="  ")]


def _advice(given: Recommendation, more: str) -> str:
    """Return an advice with its first reason, and what to type; `more` tells all of it."""
    why = f": {given.reasons[0].text}" if given.reasons else ""
    if given.action == ROLLBACK and given.target is not None:
        typed = f"sprintlog rollback iter:{given.target}"
        both = f"`{typed}`; its files alone: `{typed} --files`"
        # The best is the first of those that are as good; the last has the most work in it.
        is_later = given.best is not None and given.target > given.best
        which = ", as good as the best and later" if is_later else ""
        return f"roll back to iteration {given.target}{which}{why}  ({both})"
    said = {"stop": "stop", "escalate": "a person should look"}.get(given.action)
    return f"{said or given.action}{why}  (`{more}`)"


def _class(one: Judgement, name: str) -> str:
    return f", {one.classification}" if name == "last" and one.classification else ""


def _toned(text: str, tone: str) -> list[str]:
    return [coloured(line, tone) for line in wrapped(text, indent="  ")]
