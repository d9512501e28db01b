"""`sprintlog` without arguments: the current state and the next command to type."""

from collections.abc import Iterator

from sprintlog.engine.errors import NotFoundError, RefusedError
from sprintlog.engine.service.streams.evaluation import evaluate
from sprintlog.engine.sprint.agent import actions
from sprintlog.engine.sprint.agent.actions import Action
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import COMPLETED
from sprintlog.projections.text.stops import TYPED
from sprintlog.projections.views.runs import what_is_next
from sprintlog.projections.workspace import Workspace

from ..context import ReadOptions, environment, find_log, open_workspace
from ..iterations.status_lines import is_rollback_due, way_back
from ..output import print_styled, print_text, wrapped
from ..screen import times
from .progress import shortened, status_blocks, warn_of_file

NO_LOG = """\
sprintlog is an append-only event log for coding-agent loops. It rebuilds state
files from the log. No log exists here yet. Four ways to get started:

  set up an agent     sprintlog setup
  record a loop       sprintlog wrap -- COMMAND     (for example `claude -p`)
  import state files  sprintlog init
                      sprintlog import progress PROGRESS.yaml
  start a plan        sprintlog init
                      sprintlog sprint create ID --plan FILE
                      (`sprintlog help plan` shows a FILE)

`sprintlog init` suggests what to import. `sprintlog demo` plays a short sprint,
`sprintlog help record` explains the basics, `sprintlog -h` lists commands."""

SPRINTS_SHOWN_MAX = 4

OR_TYPED = {
    actions.WORK: "by hand `sprintlog phase start`",
    actions.ITERATE: "by hand `sprintlog iteration start`",
    actions.DONE: "`sprintlog sprint create ID --plan FILE`",
}
"""Alternative commands for working without an agent or starting something new."""

WAS_BEGUN = {
    actions.WORK: "`sprintlog phase complete`",
    actions.ITERATE: "`sprintlog iteration end`",
}
"""The next command if the phase or iteration has already been started."""


def print_overview() -> None:
    """Print the current state and the next command to type, or how to get started."""
    try:
        find_log()
    except NotFoundError:
        print_text(*NO_LOG.split("\n"))
        return
    with open_workspace() as workspace:
        print_styled("\n".join(_lines(workspace)))


def _lines(workspace: Workspace) -> Iterator[str]:
    """Yield the selected sprint's status and next command, or a choice of sprints."""
    sprints = workspace.sprints()
    if not sprints:
        yield "no sprint yet"
        yield from _next(
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
    warn_of_file(workspace, sprint)
    head, *blocks = status_blocks(workspace, ReadOptions(chosen, None, as_json=False))
    yield from shortened([[x for x in head if not x.startswith("next: ")], *blocks])
    action = what_is_next(workspace, sprint)
    back = _way_back(workspace, sprint, action)
    if "; next: " in "".join(head) or action.do == actions.STOP:
        # The status already contains the next command.
        yield from _next(back) if back else ()
    elif action.do == actions.ITERATE and not sprint.document.get("dynamic-steps"):
        # A sprint without dynamic steps can be continued by any loop. If earlier runs had
        # snapshots or measurements, the next run should have them as well.
        keeping = "--snapshot " if sprint.knowledge.snapshots else ""
        measuring = "--measure CMD " if sprint.knowledge.tracker.measured else ""
        wrap = f"`sprintlog wrap {keeping}{measuring}-- COMMAND`"
        yield from _next(back, wrap, TYPED[action.do])
    else:
        yield from _after(action, back)


def _way_back(workspace: Workspace, sprint: Sprint, action: Action) -> str | None:
    """Return the command that restores the best files, if a rollback is due."""
    if sprint.plan.status == COMPLETED or not sprint.knowledge.tracker.highest:
        return None
    judged = evaluate(workspace.log, sprint)
    # While the loop continues, a slightly worse iteration does not justify a rollback.
    is_due = action.do == actions.STOP or is_rollback_due(judged)
    return way_back(judged) if is_due else None


def _after(action: Action, back: str | None = None) -> Iterator[str]:
    """Yield the next commands; a due rollback comes first."""
    if action.do == actions.WAIT:
        yield f"next: wait until {times.when(action.until)}"
    else:
        by_hand = WAS_BEGUN if action.resumed else OR_TYPED
        if action.do == actions.WORK and action.resumed and action.gated:
            by_hand = {actions.WORK: "`sprintlog gate run` when it is done"}
        yield from _next(back, TYPED[action.do], by_hand.get(action.do))


def _several(workspace: Workspace, sprints: dict[str, int]) -> Iterator[str]:
    """Yield the sprints to choose from, starting with unfinished sprints."""
    found = [(workspace.status_of(*one), one[0]) for one in sprints.items()]
    found.sort(key=lambda row: row[0] == COMPLETED)
    shown = [f"{name} ({status})" for status, name in found[:SPRINTS_SHOWN_MAX]]
    more = len(found) - len(shown)
    said = f"one of {len(found)}: {', '.join(shown)}" + (" …" if more > 0 else "")
    yield from wrapped(said, indent="  ")
    yield from _next("`sprintlog status --sprint ID`", "`sprintlog sprint list`")


def _next(*commands: str | None) -> list[str]:
    """Return lines with the next commands."""
    return wrapped(f"next: {', or '.join(filter(None, commands))}", indent="  ")
