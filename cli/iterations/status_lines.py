"""Lines of `status` about the loop: quality, alerts, advice, lost runs, rules and goal."""

from collections.abc import Iterator

from sprintlog.engine.judging import evaluation, exact, recommend, score
from sprintlog.engine.judging.loop_rules import CONTINUE, ROLLBACK, STOP, LoopRules
from sprintlog.engine.service.streams.evaluation import Judged, StreamEvents
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.events import RunEnded
from sprintlog.engine.sprint.iterations import follow_up, measurement, snapshots
from sprintlog.engine.sprint.iterations.outcomes import is_lost, runs_seen
from sprintlog.engine.sprint.iterations.run_record import LOST
from sprintlog.engine.sprint.state.effective_history import effective_ranges, is_effective
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.views import iteration_quality
from sprintlog.projections.workspace import Workspace

from ..output import coloured, counted, visible, wrapped
from ..screen.terminal import ATTENTION, BAD

NAMED_MAX = 3
"""The maximum number of iterations with interrupted runs that are named."""


def cut_short_lines(workspace: Workspace, sprint: Sprint) -> Iterator[str]:
    """Yield lines about iterations whose runs were interrupted, including the cause."""
    events = StreamEvents(workspace.log, sprint.id, sprint.version)
    begun = sorted((at, number) for number, at in sprint.knowledge.iterations)
    ends = [*events.all(RunEnded)]
    found = runs_seen((), ends, begun)
    for lost, how in ((True, "its process was killed"), (False, "its loop was ended")):
        named = [n for n, seen in found.items() if any(is_lost(x) is lost for x in seen)]
        if not named:
            continue
        last = max(v for v, _, e in ends if e.cut_short and (e.because == LOST) is lost)
        again = "" if last > sprint.knowledge.loops.version else "; it was started again"
        where = ", ".join(map(str, named[-NAMED_MAX:]))
        if (more := len(named) - NAMED_MAX) > 0:
            where = f"{more} more, {where}"
        word = "iteration" if len(named) == 1 else "iterations"
        yield f"  cut short in {word} {where}: {how}{again}"


_ON_REGRESSION = {
    ROLLBACK: "goes back on a regression",
    STOP: "stops at a regression",
    CONTINUE: "goes on after a regression",
}


def rules_said(sprint: Sprint) -> str | None:
    """Return a description of the rules that apply to every run of the sprint's loop."""
    loop = follow_up.loop_rules(sprint)
    if loop == LoopRules():
        return None
    words = []
    if loop.measure is not None:
        by = [f"`{line}`" for line in loop.measure.runs] or [*loop.measure.reports]
        words.append(f"measured by {', '.join(by)}" if by else "measured")
    words += ["files kept"] if loop.keeps_files else []
    words += [_ON_REGRESSION[loop.on_regression]] if loop.measure is not None else []
    words += ["selects the best at its end"] if loop.selects else []
    words += [f"until {loop.until}"] if loop.until is not None else []
    return f"{', '.join(words)}: applied to every run  (`sprintlog iteration rules show`)"


BACK_SHOWN_MAX = 10
RECENT_MAX = 20
"""The number of newest iterations whose alerts are counted; older ones are not read."""


def standing_lines(judged: Judged, action: Action) -> list[str]:
    """Return lines about the iterations' quality, with commands for pending actions.

    If the loop has stopped, the first lines of `status` repeat advice to stop.
    """
    found = iteration_quality.standing(judged)
    known = [
        f"{name} iteration {one.number} "
        f"({exact.shown(one.score.value, 2)}{_class(one, name) or _later(judged, name)})"
        for name, one in (("best", found.best), ("last", found.last))
        if one is not None and one.score.value is not None
    ]
    said = f"quality: {', '.join(known)}  (`sprintlog report`)"
    lines = wrapped(said, indent="  ") if known else []
    one = found.best or found.last
    if known and one is not None and (unknown := score.unknown_parts(one.score)):
        lines += wrapped(f"  of each score: {unknown}", indent="  ")
    lines += _turns(judged)
    changed = judged.tracker.changed.get(judged.last or 0)
    if changed is not None and changed.words not in (action.why or ""):
        lines += _toned(changed.advice, BAD)
    if alerts := _alerts(judged):
        lines += _toned(f"alerts: {alerts}", BAD)
    is_repeated = found.advice is not None and found.advice.action == action.do == STOP
    if found.advice is not None and not is_repeated:
        is_measured = judged.tracker.entry(found.advice.number) is not None
        more = (
            f"sprintlog report {found.advice.number}" if is_measured else "sprintlog report"
        )
        said = _advice(judged, found.advice, more)
        lines += _toned(f"advice: {said}", ATTENTION)
    if (files := iteration_quality.files_said(judged)) is not None:
        lines += wrapped(f"files: {files}", indent="  ")
    return lines


def _turns(judged: Judged) -> list[str]:
    """Return lines about rolled-back iterations and the selected iteration."""
    sprint, tracker = judged.sprint, judged.tracker
    lines, on = [], effective_ranges(sprint.knowledge.rollbacks, sprint.version)
    back = [number for at, number in sprint.knowledge.gone_back if is_effective(on, at)]
    if back:
        named = ", ".join(map(str, back[-BACK_SHOWN_MAX:]))
        more = f"{len(back) - BACK_SHOWN_MAX} more, " if len(back) > BACK_SHOWN_MAX else ""
        what = f"iteration{'s' if len(back) > 1 else ''} {more}{named}"
        lines.append(f"discarded: {what}  (`sprintlog log --type rolled-back`)")
    if tracker.selected is not None:
        said = f"selected: iteration {tracker.selected.number}"
        if tracker.applied:
            said += f", its files are in {visible(tracker.applied[-1].destination)}"
        lines.append(said)
    return [part for line in lines for part in wrapped(line, indent="  ")]


def is_rollback_due(judged: Judged) -> bool:
    """Return whether a recommended rollback has not been performed."""
    given = iteration_quality.pending_advice(judged)
    return given is not None and given.action == ROLLBACK


def way_back(judged: Judged) -> str | None:
    """Return the command that restores the best files, or None if it is not needed."""
    now = iteration_quality.files_now(judged.sprint)
    if (
        now is None
        or now.is_brought_back
        or not iteration_quality.is_behind(judged, now.iteration)
    ):
        return None
    target = judged.target()
    if target in (None, now.iteration) or not snapshots.has_snapshot(judged.sprint, target):
        return None
    which = iteration_quality.as_the_best(judged, target)
    said = f" (those of iteration {target}, {which})" if which else ""
    return f"run `sprintlog rollback best --files` to restore the best files{said}"


def _alerts(judged: Judged) -> str:
    """Return the number of alerts and affected iterations, and the latest alert."""
    recent = measurement.measured_on_path(judged.sprint)[-RECENT_MAX:]
    found = [one for one in map(judged.one, recent) if one.alerts]
    if not found:
        return ""
    last, count = found[-1], sum(len(one.alerts) for one in found)
    many = counted(count, "alert")
    where = f"in iteration {last.number}"
    if len(found) > 1:
        of = f" of the last {RECENT_MAX}" if len(recent) == RECENT_MAX else ""
        where = f"in {len(found)}{of or ' iterations'}, last {where}"
    worst = last.alerts[0]
    is_more = len(found) > 1 or last.number != judged.last
    typed = "sprintlog iteration alerts --all" if is_more else "sprintlog iteration alerts"
    return f"{many} {where}, {worst.severity}: {worst.message}  (`{typed}`)"


def _advice(judged: Judged, given: recommend.Recommendation, more: str) -> str:
    """Return a recommendation, its first reason and a command; `more` shows all reasons."""
    why = f": {given.reasons[0].text}" if given.reasons else ""
    if given.action == ROLLBACK and given.target is not None:
        typed = f"sprintlog rollback iter:{given.target}"
        both = f"`{typed}`"
        if snapshots.has_snapshot(judged.sprint, given.target):
            both += f"; its files alone: `{typed} --files`"
        # The best iteration is the first of several equal ones; the last contains the most
        # work.
        which = iteration_quality.as_the_best(judged, given.target)
        which = f", {which} and later" if which else ""
        return f"roll back to iteration {given.target}{which}{why}  ({both})"
    said = {"stop": "stop", "escalate": "a person should look"}.get(given.action)
    return f"{said or given.action}{why}  (`{more}`)"


def _class(one: evaluation.Judgement, name: str) -> str:
    return f", {one.classification}" if name == "last" and one.classification else ""


def _later(judged: Judged, name: str) -> str:
    """Return a note on the later iteration that replaces the best one, if any."""
    target = judged.target() if name == "best" else None
    how = iteration_quality.as_the_best(judged, target).removesuffix(" as the best")
    if not how:
        return ""
    which = "has the same files" if how == "the same files" else f"is {how}"
    return f"; {target} {which} and is later"


def _toned(text: str, tone: str) -> list[str]:
    return [coloured(line, tone) for line in wrapped(text, indent="  ")]
