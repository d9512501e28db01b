"""`sprintlog next`: what is to be done now, for loops in any language."""

from sprintlog.engine.sprint.agent.actions import ACTIONS, STOP, WORK, Action
from sprintlog.engine.sprint.agent.next import next_action
from sprintlog.projections.views.work import next_answer

from .. import typed
from ..context import ReadOptions, open_workspace, with_reading
from ..named_sprint import told
from ..output import print_json, print_text, wrapped
from ..screen import phrases
from ..stops import reason_lines

BEGUN = "it was started: hand the prompt to an agent, record how it ended"
"""What is to be done where the phase is under way already."""


@typed.command(epilog="Example: sprintlog next --json | jq -r .do")
@typed.option("--prompt", "only_prompt", is_flag=True, help="Print the prompt alone.")
@with_reading
def command(only_prompt: bool, reading: ReadOptions) -> None:
    """Say what is to be done now, or what was to be done then.

    The first word is one of start, work, iterate, hooks, gate, end, retry, wait, resume,
    complete, stop and done; docs/reference/next.md says what a loop does with each.
    Nothing is recorded.
    """
    with open_workspace() as workspace:
        sprint = reading.sprint(workspace)
        action = told(next_action(sprint, now=workspace.moment(sprint, reading.at)))
    if reading.as_json:
        print_json(next_answer(sprint.id, action))
    elif only_prompt:
        print_text(*(action.prompt or "").split("\n"))
    else:
        print_text(*_lines(action))


def _lines(action: Action) -> list[str]:
    iteration = f"iteration {action.iteration}" if action.iteration else None
    until = phrases.when(action.until) if action.until else None
    first = " ".join(filter(None, (action.do, action.phase, iteration, until)))
    lines = [first]
    # A stop says itself what it is for.
    if action.do != STOP:
        is_begun = action.do == WORK and action.resumed
        lines += wrapped(f"  {BEGUN if is_begun else ACTIONS[action.do]}")
    for line in reason_lines(action):
        lines += wrapped(f"  {line}", indent="  ")
    lines += [f"  {hook.id} → {hook.transcript}" for hook in action.hooks]
    if action.prompt:
        lines += ["", *action.prompt.split("\n")]
    return lines
