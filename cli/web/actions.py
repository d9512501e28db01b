"""What the live page records: the same commands, middlewares and events as the terminal's.

First it is shown what would be recorded, as of a version; agreed to, it is recorded only
where the sprint is still there.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sprintlog.engine.command import Command
from sprintlog.engine.errors import InvalidInputError, NotFoundError
from sprintlog.engine.masking import mask_all
from sprintlog.engine.sprint.events import InjectionPosition
from sprintlog.engine.sprint.phases.lifecycle import PauseSprint, ResumeSprint
from sprintlog.engine.sprint.plan.insertion_points import AFTER_CURRENT
from sprintlog.engine.sprint.queue.decisions import (
    ApproveRequest,
    BacklogRequest,
    DeferRequest,
    RejectRequest,
)
from sprintlog.engine.sprint.state.words import DEFERRALS
from sprintlog.projections.views.events import said_of
from sprintlog.projections.workspace import Workspace

from ..back.rollback import step_back
from ..back.way_back import Step, file_lines, perform, plan_line, planned
from ..record import Options, Recording, arguments_of, check_is_on

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
    make: Callable[[Given, str], Command] | None = None
    """Makes the command from a form and the actor; without it, it is a step back."""


class Shown(NamedTuple):
    """What would be recorded."""

    version: int
    """Where the sprint is; it is recorded only as long as that is so."""
    lines: list[str]


class WantedAction(NamedTuple):
    """An action with the fields of a form, the sprint that is meant, and the actor."""

    action: PageAction
    sprint_id: str
    given: Given
    actor: str

    def show(self, workspace: Workspace) -> Shown:
        """Return what this would record; nothing is recorded."""
        run = self._run(workspace)
        version = workspace.sprint(run.sprint_id).version
        made = self._made(run)
        if isinstance(made, Command):
            events = workspace.preview(made, sprint_id=run.sprint_id)
            return Shown(version, [said_of(event) for event in events])
        answer, turn = planned(run, made)
        lines = [] if turn is None else [plan_line(turn)]
        return Shown(version, [*lines, *file_lines(answer.files)])

    def record(self, workspace: Workspace, version: int) -> None:
        """Record it if the sprint is still at a version; then refresh its state files."""
        check_is_on()
        run = self._run(workspace, expect=version)
        try:
            made = self._made(run)
            if isinstance(made, Command):
                run.handle_with(made, arguments_of(made))
            else:
                perform(run, made)
        finally:
            run.refresh()

    def _run(self, workspace: Workspace, expect: int | None = None) -> Recording:
        given = {"sprint_id": self.sprint_id, "actor": self.actor, "expect": expect}
        options = Options({**given, "as_json": True})
        return Recording(self.action.command, options, workspace)

    def _made(self, run: Recording) -> Command | Step:
        given, options = self.given, run.options
        if self.action.make is not None:
            return self.action.make(given, options.actor)
        reason, of_plan = given.get("reason"), given.get("files") != "yes"
        return step_back(run, given["to"], (), reason, of_plan=of_plan, of_files=False)


def wanted(command: str, sprint_id: str, given: Given, *, actor: str) -> WantedAction:
    """Return the action that a form asks for, masked; what was left empty was not given.

    Raise `NotFoundError` for an unknown one, `InvalidInputError` naming a wrong field.
    """
    if (action := ACTIONS.get(command)) is None:
        raise NotFoundError(f"there is no action {command[:60]!r}")
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
    return WantedAction(action, sprint_id, mask_all(found), actor)


def _resume(given: Given, actor: str) -> Command:
    by = given.get("by") or actor.removeprefix("operator:")
    return ResumeSprint(
        by, given.get("why"), given.get("done"), given.get("retry") == "yes"
    )


_REQUEST = Field("request", "Request", is_needed=True)
_REASONING = Field("reasoning", "Why it is decided so", is_needed=True)
_REASON = Field("reason", "Why")
_DECISION = (_REQUEST, _REASONING)
_BEHIND = InjectionPosition(AFTER_CURRENT)
ACTIONS = {
    action.command: action
    for action in (
        PageAction("sprint pause", "Pause", (_REASON,), lambda x, _: PauseSprint(**x)),
        PageAction(
            "sprint resume",
            "Answer, and go on",
            (
                Field("by", "Who resolved it"),
                Field("why", "Why it can go on"),
                Field("done", "What was done about it"),
                Field("retry", "What failed is done again", is_flag=True),
            ),
            _resume,
        ),
        PageAction(
            "rollback",
            "Go back",
            (
                Field("to", "To (iter:3, best, version:41)", is_needed=True),
                _REASON,
                Field("files", "The files that were kept then, too", is_flag=True),
            ),
        ),
        PageAction(
            "queue approve",
            "Approve",
            _DECISION,
            lambda x, _: ApproveRequest(x["request"], x["reasoning"], _BEHIND),
        ),
        PageAction("queue reject", "Reject", _DECISION, lambda x, _: RejectRequest(**x)),
        PageAction(
            "queue defer",
            "Defer",
            (*_DECISION, Field("until", "Until", True, DEFERRALS)),
            lambda x, _: DeferRequest(**x),
        ),
        PageAction(
            "queue backlog",
            "Put into the backlog",
            _DECISION,
            lambda x, _: BacklogRequest(**x),
        ),
    )
}
"""What can be recorded, by the words of the command that does the same."""
