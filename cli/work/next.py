"""The `sprintlog next` command: the next action, for loops in any language."""

import os
import sys

from msgspec.structs import replace

from sprintlog.engine.service.prompts import passing_notes, with_prompt
from sprintlog.engine.sprint.agent.actions import ACTIONS, GATE, STOP, WORK, Action
from sprintlog.engine.sprint.state.notes import NEXT
from sprintlog.projections.views.runs import what_is_next
from sprintlog.projections.views.work import next_answer

from .. import named_sprint, output, stops, typed
from ..context import ReadOptions, default_actor, with_reading
from ..prompt_option import prompt_file_in, with_prompt_file
from ..record import check_actor
from ..screen import times
from ..settings import off_by

BEGUN = "the work has started: pass the prompt to an agent, then record the outcome"
"""The instruction for a phase that is already in progress."""


@typed.command()
@typed.flag("--prompt", "only_prompt", help="Print only the agent's complete prompt.")
@with_prompt_file
@with_reading
def command(only_prompt: bool, prompt_file: str | None, reading: ReadOptions) -> None:
    """Show the next action of a sprint, now or at an earlier point.

    The first word is one of start, work, iterate, hooks, gate, end, retry, wait, resume,
    complete, stop and done; docs/reference/next.md describes the action for each.
    The prompt is the one that `run` passes to the agent. Nothing is recorded, except that
    --prompt and --json deliver the notes of `note --to-agent` in it.

    Example: sprintlog next --json | jq -r .do
    """
    with reading.opened() as (workspace, sprint):
        action = named_sprint.told(what_is_next(workspace, sprint, at=reading.at))
        file, is_now = prompt_file_in(workspace, prompt_file), reading.at is None
        action = with_prompt(workspace, sprint, action, file=file, now=is_now)
        is_read = is_now and action.prompt and (reading.as_json or only_prompt)
        to = NEXT if is_read and off_by() is None else ""
        actor = to and check_actor(os.environ.get("SPRINTLOG_ACTOR") or default_actor())
        with passing_notes(workspace, sprint.id, to, actor=actor) as part:
            if part:
                action = replace(action, prompt=f"{part}\n\n{action.prompt}")
            if reading.as_json:
                output.print_json(next_answer(sprint.id, action))
            elif only_prompt:
                output.print_text(*(action.prompt or "").split("\n"))
            else:
                output.print_text(*_lines(action, _shown(action, prompt_file)))
            sys.stdout.flush()


def _shown(action: Action, prompt_file: str | None) -> str | None:
    """Return the prompt as printed for people; for a phase, return the plan's text."""
    is_plain = action.do in (WORK, GATE) and prompt_file is None
    return action.task if is_plain else action.prompt


def _lines(action: Action, prompt: str | None) -> list[str]:
    # If the loop stopped, the next iteration's number would appear next to the last one's.
    is_meant = action.iteration and action.do != STOP
    iteration = f"iteration {action.iteration}" if is_meant else None
    until = times.when(action.until) if action.until else None
    lines = [" ".join(filter(None, (action.do, action.phase, iteration, until)))]
    # The reason for a stop needs no further explanation.
    if action.do != STOP:
        is_begun = action.do == WORK and action.resumed
        lines += output.wrapped(f"  {BEGUN if is_begun else ACTIONS[action.do]}")
    for line in stops.reason_lines(action):
        lines += output.wrapped(f"  {line}", indent="  ")
    lines += [f"  {hook.id} → {hook.transcript}" for hook in action.hooks]
    if prompt:
        lines += ["", *prompt.split("\n")]
    return lines
