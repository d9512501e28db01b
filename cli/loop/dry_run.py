"""`run --dry-run`: what would be done next, and under which budgets; nothing is changed."""

from sprintlog.engine.adapters.processes.loop_lock import is_held, lock_of
from sprintlog.engine.service.driver.agent import Means
from sprintlog.engine.service.driver.runs import check_cost_is_known
from sprintlog.engine.sprint.agent.actions import ACTIONS, DONE, STOP
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.projections.views.runs import DryRun, planned
from sprintlog.projections.views.runs import told as answered
from sprintlog.projections.workspace import Workspace

from ..named_sprint import told
from ..output import print_json, print_styled, wrapped
from ..stops import reason_lines
from .budgets import budget_lines, raising_lines
from .kept_rules import rules_said

WORDS_CHARS_MAX = 200


def print_dry_run(
    workspace: Workspace, sprint_id: str, means: Means, *, as_json: bool
) -> None:
    """Print what `run` would do next with these means; raise where it would be refused."""
    sprint, now = workspace.sprint(sprint_id), workspace.now()
    check_cost_is_known(sprint, means)
    action = told(next_action(sprint, now=now))
    is_run = is_held(lock_of(workspace.location.folder, sprint_id))
    budgets = planned(sprint, means.budgets, now=now)
    if as_json:
        found = DryRun(
            sprint=sprint_id,
            next=action,
            command=tuple(means.command),
            budgets=answered(budgets),
            is_run_now=is_run,
        )
        print_json(found)
        return
    number = f"iteration {action.iteration}" if action.iteration else None
    what = " ".join(filter(None, (action.do, action.phase, number)))
    ends = action.do in (STOP, DONE)
    lines = [f"{sprint_id}: {'it would end at once' if ends else f'next: {what}'}"]
    lines += [f"  {line}" for line in reason_lines(action)]
    lines += [] if action.do == STOP else [f"  {ACTIONS[action.do]}"]
    lines.append(f"with: {' '.join(means.command)[:WORDS_CHARS_MAX]}")
    if is_run:
        lines.append("another process runs it now: this run would be refused")
    if (kept := rules_said(sprint)) is not None:
        lines.append(f"rules: {kept}")
    lines += raising_lines(sprint, means.budgets, now)
    said = [part for line in lines for part in wrapped(line, indent="  ")]
    print_styled("\n".join([*said, *budget_lines(budgets)]))
