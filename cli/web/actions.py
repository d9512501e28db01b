"""What the live page records: the same commands, middlewares and events as the terminal's.

First it is shown what would be recorded, as of a version; agreed to, it is recorded only
where the sprint is still there.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sprintlog.engine.command import Command
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.phases.lifecycle import PauseSprint, ResumeSprint
from sprintlog.engine.sprint.plan.spots import AFTER_CURRENT
from sprintlog.engine.sprint.queue.decisions import (
    ApproveRequest,
    BacklogRequest,
    DeferRequest,
    RejectRequest,
)
from sprintlog.engine.sprint.state.words import DEFERRALS
from sprintlog.projections.views.events import said_of
from sprintlog.projections.workspace import Workspace

from .. import settings
from ..back.rollback import step_back
from ..back.way_back import Step, file_lines, perform, plan_line, planned
from ..record import Options, Recording, arguments_of

TEXT_CHARS_MAX = 4000
"""How long a text of a form may be."""

Given = Mapping[str, str]


class Field(NamedTuple):
    """One field of a form."""

    name: str
    label: str
    is_needed: bool = False
    choices: tuple[str, ...] = ()
    is_flag: bool = False


class PageAction(NamedTuple):
    """Something that can be recorded from the page."""

    command: str
    """The words of the command that does the same."""
    label: str
    fields: tuple[Field, ...]
    make: Callable[[Recording, Given], Command | Step]
    """A command, or a step back that may be about files, too."""


class Shown(NamedTuple):
    """What would be recorded."""

    version: int
    """Where the sprint is; it is recorded only as long as that is so."""
    lines: list[str]


def action_of(command: str) -> PageAction:
    """Return an action by its command; raise `NotFoundError` where there is none."""
    if (found := ACTIONS.get(command)) is None:
        raise NotFoundError(f"there is no action {command[:60]!r}")
    return found


def check(action: PageAction, given: Given) -> dict[str, str]:
    """Return the fields of a form; raise `InvalidInputError` naming one that is wrong.

    What was left empty was not given.
    """
    known = {field.name: field for field in action.fields}
    found = {name: text.strip() for name, text in given.items() if text.strip()}
    for name, text in found.items():
        if name not in known:
            raise InvalidInputError("is no field of this form", field=name[:40])
        if len(text) > TEXT_CHARS_MAX:
            said = f"has {len(text)} characters, more than {TEXT_CHARS_MAX}"
            raise InvalidInputError(said, field=name)
        choices = known[name].choices
        if choices and text not in choices:
            raise InvalidInputError(f"give one of {', '.join(choices)}", field=name)
    for field in action.fields:
        if field.is_needed and field.name not in found:
            raise InvalidInputError("has to be given", field=field.name)
    return found


def show(
    workspace: Workspace, action: PageAction, sprint_id: str, given: Given, *, actor: str
) -> Shown:
    """Return what an action would record; nothing is recorded."""
    run = _recording(workspace, action, sprint_id, actor=actor)
    version = workspace.sprint(run.sprint_id).version
    made = action.make(run, given)
    if isinstance(made, Command):
        events = workspace.preview(made, sprint_id=run.sprint_id)
        return Shown(version, [said_of(event) for event in events])
    answer, turn = planned(run, made)
    lines = [] if turn is None else [plan_line(turn)]
    return Shown(version, [*lines, *file_lines(answer.files)])


def record(
    workspace: Workspace,
    action: PageAction,
    sprint_id: str,
    given: Given,
    *,
    actor: str,
    version: int,
) -> None:
    """Record it, where the sprint is still at a version; then refresh its state files."""
    if (off := settings.off_by()) is not None:
        raise RefusedError(f"nothing is recorded: {off}")
    run = _recording(workspace, action, sprint_id, actor=actor, expect=version)
    try:
        made = action.make(run, given)
        if isinstance(made, Command):
            run.handle_with(made, arguments_of(made))
        else:
            perform(run, made)
    finally:
        run.refresh()


def _recording(
    workspace: Workspace,
    action: PageAction,
    sprint_id: str,
    *,
    actor: str,
    expect: int | None = None,
) -> Recording:
    given = dict.fromkeys(("at", "key", "correlation_id", "causation_id"))
    options = Options(
        {
            **given,
            "sprint_id": sprint_id,
            "actor": actor,
            "expect": expect,
            "as_json": True,
            "no_mask": False,
        }
    )
    return Recording(action.command, options, workspace)


def _plain(
    make: Callable[[Given, str], Command],
) -> Callable[[Recording, Given], Command]:
    """Return what makes a command of a form and the actor, with secrets masked."""

    def made(run: Recording, given: Given) -> Command:
        return run.options.masked_command(make(given, run.options.actor))

    return made


def _roll_back(run: Recording, given: Given) -> Step:
    masked = run.options.masked({"reason": given.get("reason")})
    with_files = given.get("files") == "yes"
    return step_back(
        run, given["to"], (), masked["reason"], of_plan=not with_files, of_files=False
    )


def _resume(given: Given, actor: str) -> Command:
    by = given.get("by") or actor.removeprefix("operator:")
    return ResumeSprint(
        by, given.get("why"), given.get("done"), given.get("retry") == "yes"
    )


_REQUEST = Field("request", "Request", is_needed=True)
_REASONING = Field("reasoning", "Why it is decided so", is_needed=True)
_REASON = Field("reason", "Why")
ACTIONS = {
    action.command: action
    for action in (
        PageAction(
            "sprint pause",
            "Pause",
            (_REASON,),
            _plain(lambda given, actor: PauseSprint(given.get("reason"))),
        ),
        PageAction(
            "sprint resume",
            "Answer, and go on",
            (
                Field("by", "Who resolved it"),
                Field("why", "Why it can go on"),
                Field("done", "What was done about it"),
                Field("retry", "What failed is done again", is_flag=True),
            ),
            _plain(_resume),
        ),
        PageAction(
            "rollback",
            "Go back",
            (
                Field("to", "To (iter:3, best, version:41)", is_needed=True),
                _REASON,
                Field("files", "The files that were kept then, too", is_flag=True),
            ),
            _roll_back,
        ),
        PageAction(
            "queue approve",
            "Approve",
            (_REQUEST, _REASONING),
            _plain(
                lambda given, actor: ApproveRequest(
                    given["request"],
                    given["reasoning"],
                    position=InjectionPosition(AFTER_CURRENT),
                )
            ),
        ),
        PageAction(
            "queue reject",
            "Reject",
            (_REQUEST, _REASONING),
            _plain(lambda given, _: RejectRequest(given["request"], given["reasoning"])),
        ),
        PageAction(
            "queue defer",
            "Defer",
            (_REQUEST, _REASONING, Field("until", "Until", True, DEFERRALS)),
            _plain(
                lambda given, actor: DeferRequest(
                    given["request"], given["reasoning"], given["until"]
                )
            ),
        ),
        PageAction(
            "queue backlog",
            "Put into the backlog",
            (_REQUEST, _REASONING),
            _plain(lambda given, _: BacklogRequest(given["request"], given["reasoning"])),
        ),
    )
}
"""What can be recorded, by the words of the command that does the same."""
