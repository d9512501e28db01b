"""`sprintlog` without arguments: the current state, and the next command to type."""

from collections.abc import Iterator, Mapping

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.iterations.goal import goal_standing
from sprintlog.engine.sprint.phases.gate import gate_of
from sprintlog.engine.sprint.state.document_fields import goal_said, mapping_of
from sprintlog.engine.sprint.state.node import Node
from sprintlog.engine.sprint.state.queue import counts
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.tree import gate_status
from sprintlog.engine.sprint.state.words import (
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    PASSED,
    PENDING,
    RETRYING,
)
from sprintlog.projections.text.stops import at_iteration, standing
from sprintlog.projections.views.iteration_quality import brought_back, files_said
from sprintlog.projections.views.runs import what_is_next
from sprintlog.projections.views.work import STOPPED, status
from sprintlog.projections.workspace import Workspace

from ..context import environment, find_log, open_workspace
from ..iterations.status_lines import is_rollback_due, way_back
from ..output import counted, wrapped
from ..screen import times

NO_LOG = """\
sprintlog is an append-only event log for coding-agent loops. It rebuilds state
files from the log. No log exists here yet. Three ways to get started:

  record a loop       sprintlog wrap -- COMMAND     (for example `claude -p`)
  import state files  sprintlog init
                      sprintlog import progress PROGRESS.yaml
  start a plan        sprintlog init
                      sprintlog sprint create ID --plan FILE
                      (`sprintlog help plan` shows a FILE)

`sprintlog init` suggests what to import. `sprintlog demo` plays a short sprint,
`sprintlog help record` explains the basics, `sprintlog -h` lists commands."""

SPRINTS_SHOWN_MAX = 4
INDENT = " " * 8
"""The indentation of continuation lines."""

_FAILED_GATE = (RETRYING, FAILED)
TYPED = {
    actions.START: "`sprintlog sprint start`",
    actions.WORK: "`sprintlog run -- AGENT`",
    actions.ITERATE: "`sprintlog run -- AGENT`",
    actions.HOOKS: "`sprintlog run -- AGENT`",
    actions.MEASURE: "`sprintlog iteration measure --by-rules`",
    actions.DECIDE: "`sprintlog iteration decide`",
    actions.RESTORE: "`sprintlog rollback best`",
    actions.GATE: "`sprintlog gate run`",
    actions.END: "`sprintlog phase complete`",
    actions.RETRY: "`sprintlog phase retry`",
    actions.RESUME: "`sprintlog sprint resume`",
    actions.COMPLETE: "`sprintlog sprint complete`",
    actions.DONE: "`sprintlog log`",
}
"""The next command to type, by action."""

OR_TYPED = {
    actions.WORK: "by hand `sprintlog phase start`",
    actions.ITERATE: "by hand `sprintlog iteration start`",
    actions.DONE: "`sprintlog sprint create ID --plan FILE`",
}
"""Alternative commands: without an agent, or to start something new."""

WAS_BEGUN = {
    actions.WORK: "`sprintlog phase complete`",
    actions.ITERATE: "`sprintlog iteration end`",
}
"""The next command if the phase or iteration was already started."""


def where_lines() -> list[str]:
    """Return the current state and the next command, each item on a line."""
    try:
        find_log()
    except NotFoundError:
        return NO_LOG.split("\n")
    with open_workspace() as workspace:
        lines = [*_log(workspace), *_sprint(workspace)]
    return [part for line in lines for part in wrapped(line, indent=INDENT)]


def _log(workspace: Workspace) -> Iterator[str]:
    events = counted(workspace.log.head().position, "event")
    place = workspace.location
    where = workspace.log.described()["why"] if place.is_served else place.folder
    yield f"log     {where}, {events}"


def _sprint(workspace: Workspace) -> Iterator[str]:
    """Yield the lines of the selected sprint, or of the candidates."""
    sprints = workspace.sprints()
    if not sprints:
        yield "sprint  none yet"
        yield _next(
            "`sprintlog sprint create ID --plan FILE` (`sprintlog help plan` shows one)",
            "the same with `--goal TEXT`",
        )
        return
    named = environment().get("SPRINTLOG_SPRINT") or None
    try:
        chosen = workspace.choose(named)
    except RefusedError:
        if named:
            raise
        yield from _several(workspace, sprints)
        return
    sprint = workspace.sprint(chosen)
    action = what_is_next(workspace, sprint)
    told = dict(standing(sprint, status(workspace, sprint, action), action, times.when))
    yield f"sprint  {sprint.id}, {_state(sprint, told)}"
    yield from _goal(sprint)
    pointed = sprint.plan.pointed()
    if pointed is not None and sprint.plan.status != COMPLETED:
        yield f"at      {_at(pointed)}"
    if failed := sprint.knowledge.loops.failures:
        which = "the last one" if failed == 1 else f"the last {failed}"
        yield f"runs    {which} did not complete: `sprintlog list`"
    files, back = _files(workspace, sprint, action)
    if files is not None:
        yield f"files   {files}"
    if undecided := counts(sprint.queue).get(PENDING):
        asked = counted(undecided, "request")
        yield f"queue   {asked} for you to decide: `sprintlog queue list`"
    if action.do not in STOPPED and "stopped" in told:
        yield f"why     {told['stopped']}"
        yield _next(back, told["hint"])
    elif action.do == actions.ITERATE and not sprint.document.get("dynamic-steps"):
        # Without steps, any loop can continue. If earlier runs had snapshots or
        # measurements, the next one should have them as well.
        keeping = "--snapshot " if sprint.knowledge.snapshots else ""
        measuring = "--measure CMD " if sprint.knowledge.tracker.measured else ""
        wrap = f"`sprintlog wrap {keeping}{measuring}-- COMMAND`"
        yield _next(back, wrap, TYPED[action.do])
    else:
        yield from _after(action, back)


def _files(
    workspace: Workspace, sprint: Sprint, action: Action
) -> tuple[str | None, str | None]:
    """Return the origin of unusual files, and the command that restores the best ones."""
    tracker = sprint.knowledge.tracker
    is_measured = bool(tracker.highest)
    if sprint.plan.status == COMPLETED or not (is_measured or sprint.knowledge.restored):
        return None, None
    if not is_measured:
        return brought_back(sprint), None

    judged = evaluate(workspace.log, sprint)
    # While the loop continues, a slightly worse iteration does not justify a rollback.
    is_due = action.do == actions.STOP or is_rollback_due(judged)
    return files_said(judged), way_back(judged) if is_due else None


def _at(leaf: Node) -> str:
    """Return the address and status of a leaf, and the attempts of its gate."""
    said = [leaf.address]
    if leaf.status != PENDING:
        said.append(leaf.status)
    nodes = (leaf, *leaf.above())
    gate = next((one for one in nodes if gate_status(one.data) in _FAILED_GATE), None)
    if any(gate_status(one.data) == PASSED for one in nodes) and leaf.status != COMPLETED:
        said.append("its gate passed")
    if gate is not None:
        tracking = mapping_of(gate.data, "gate-tracking")
        attempt, most = tracking.get("attempts"), gate_of(gate).attempts_max
        said.append(f"its gate failed (attempt {attempt} of at most {most})")
    return ", ".join(said)


def _goal(sprint: Sprint) -> Iterator[str]:
    """Yield the goal, if one is set, and its status."""
    if sprint.plan.is_ralph and (goal := goal_said(sprint.document)) is not None:
        yield f"goal    {goal_standing(sprint.plan)}: {goal}"


def _state(sprint: Sprint, told: Mapping[str, str]) -> str:
    """Return the status and the counts that the document contains."""
    stats = sprint.document.get("stats") or {}
    done, total = stats.get("completed-phases"), stats.get("total-phases")
    words = [str(sprint.plan.status)]
    if "stopped" in told and sprint.plan.status == IN_PROGRESS:
        words.append("stopped")
    if total:
        words.append(f"{done} of {counted(total, 'phase')} completed")
    if (iteration := stats.get("current-iteration")) is not None:
        words.append(at_iteration(sprint, iteration))
    return ", ".join(words)


def _after(action: Action, back: str | None = None) -> Iterator[str]:
    """Yield the reason of a stop and the next commands, a due rollback first."""
    if action.why:
        yield f"why     {action.why}"
    if action.details:
        yield f"        {action.details}"
    if action.do == actions.WAIT:
        yield f"next    wait until {times.when(action.until)}"
    elif action.do == actions.STOP:
        yield _next(back, action.hint or (None if back else "`sprintlog status`"))
    else:
        by_hand = WAS_BEGUN if action.resumed else OR_TYPED
        if action.do == actions.WORK and action.resumed and action.gated:
            by_hand = {actions.WORK: "`sprintlog gate run` when it is done"}
        yield _next(back, TYPED[action.do], by_hand.get(action.do))


def _several(workspace: Workspace, sprints: dict[str, int]) -> Iterator[str]:
    """Yield the sprints to choose from, unfinished ones first."""
    found = [(workspace.status_of(*one), one[0]) for one in sprints.items()]
    found.sort(key=lambda row: row[0] == COMPLETED)
    shown = [f"{name} ({status})" for status, name in found[:SPRINTS_SHOWN_MAX]]
    more = len(found) - len(shown)
    yield f"sprint  one of {len(found)}: {', '.join(shown)}" + (" …" if more > 0 else "")
    yield _next("`sprintlog status --sprint ID`", "`sprintlog sprint list`")


def _next(*commands: str | None) -> str:
    """Return the line with the next commands."""
    return f"next    {', or '.join(filter(None, commands))}"
