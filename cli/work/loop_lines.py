"""Lines of `status` and `run` about the loop: its rules, lost runs, the goal."""

from collections.abc import Iterator

from sprintlog.engine.judging.loop_rules import CONTINUE, ROLLBACK, STOP, LoopRules
from sprintlog.engine.service.streams.evaluation import Judged, StreamEvents
from sprintlog.engine.sprint.events import RunEnded
from sprintlog.engine.sprint.iterations.follow_up import loop_rules
from sprintlog.engine.sprint.iterations.goal import goal_standing
from sprintlog.engine.sprint.iterations.measurement import measured_on_path
from sprintlog.engine.sprint.iterations.outcomes import is_lost, runs_seen
from sprintlog.engine.sprint.runs.record import LOST
from sprintlog.engine.sprint.state.document_fields import goal_said
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED
from sprintlog.projections.workspace import Workspace

NAMED_MAX = 3
"""So many iterations are named in which a run was cut short."""
LOOKED_AT_MAX = 100
"""So many iterations are asked since when all tests pass."""


def goal_hint(judged: Judged) -> str | None:
    """Return that all tests pass, and who says that the goal is reached by that."""
    sprint = judged.sprint
    is_open = sprint.plan.status != COMPLETED and goal_standing(sprint.plan) != "reached"
    if not (sprint.plan.is_ralph and is_open and goal_said(sprint.document)):
        return None
    since, count = None, 0
    for number in reversed(measured_on_path(sprint)[-LOOKED_AT_MAX:]):
        figures = judged.one(number).figures
        if not figures.test_count or figures.tests_passed != figures.test_count:
            break
        since, count = number, count or figures.test_count
    if since is None:
        return None
    tests = "the test passes" if count == 1 else f"all {count} tests pass"
    if (leaf := sprint.plan.tree.open_leaf()) is not None:
        return (
            f"{tests} since iteration {since}; phase {leaf.address} comes before the goal"
        )
    return (
        f"{tests} since iteration {since}; if that is the goal: `sprintlog goal complete` "
        "(else the agent says when it is reached)"
    )


def cut_short_lines(workspace: Workspace, sprint: Sprint) -> Iterator[str]:
    """Yield in which iterations runs of agents were cut short, by what, and what came."""
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
    """Return what a loop does by the sprint's rules, whatever it is started with."""
    loop = loop_rules(sprint)
    if loop == LoopRules():
        return None
    words = []
    if loop.measure is not None:
        by = [f"`{line}`" for line in loop.measure.runs] or [*loop.measure.reports]
        words.append(f"measured by {', '.join(by)}" if by else "measured")
    words += ["files kept"] if loop.keeps_files else []
    words += [_ON_REGRESSION[loop.on_regression]] if loop.measure is not None else []
    words += ["selects the best at its end"] if loop.selects else []
    return f"{', '.join(words)}: kept for every run  (`sprintlog rules show`)"
