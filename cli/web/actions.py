"""Actions on the live page, with the same commands, middlewares and events as the CLI.

A preview first shows the events to be recorded at the sprint's current version; after the
confirmation, the action is recorded only if the version has not changed.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sprintlog import commands
from sprintlog.errors import InvalidInputError, NotFoundError
from sprintlog.events import InjectionPosition
from sprintlog.formatting import mask_all
from sprintlog.workspaces import Workspace

TEXT_CHARS_MAX = 4000
"""The maximum length of a text in a form."""

Given = Mapping[str, str]


class WebHost(NamedTuple):
    """The functions that the command line provides to the web server."""

    check_is_on: Callable[[], None]
    """Raises an error if recording is off."""
    refresh: Callable[[Workspace, str], None]
    """Writes the state file of a stream, and reports any problem."""
    metrics: Callable[[Workspace], str]
    """Returns the figures of all sprints in the OpenMetrics format."""
    said_of: Callable[[Any], str]
    """Returns a one-line description of an event."""
    plan_rollback: "Callable[[Workspace, WantedAction], list[str]]"
    """Returns lines about the effects of a rollback of the plan and files."""
    roll_back: "Callable[[Workspace, WantedAction, int], None]"
    """Rolls back the plan and files if the sprint is still at the given version."""
    correlation_id: str | None = None
    """The work that all recorded events belong to."""


class Field(NamedTuple):
    """A field in a form."""

    name: str
    label: str
    is_needed: bool = False
    choices: tuple[str, ...] = ()
    is_flag: bool = False


class PageAction(NamedTuple):
    """An action that can be recorded from the page."""

    command: str
    """The equivalent command."""
    label: str
    fields: tuple[Field, ...]
    make: Callable[[Given, str], commands.Command] | None = None
    """Creates the command from a form and the actor; None for a rollback."""


class Shown(NamedTuple):
    """A preview of the events to be recorded."""

    version: int
    """The sprint's current version; the action is refused if it has changed."""
    lines: list[str]


class WantedAction(NamedTuple):
    """An action, with the form's values, the selected sprint and the actor."""

    host: WebHost
    action: PageAction
    sprint_id: str
    given: Given
    actor: str

    def show(self, workspace: Workspace) -> Shown:
        """Return a preview of this action without recording anything."""
        sprint_id = workspace.choose(self.sprint_id)
        version = workspace.sprint(sprint_id).version
        if self.action.make is None:
            return Shown(version, self.host.plan_rollback(workspace, self))
        made = self.action.make(self.given, self.actor)
        events = workspace.preview(made, sprint_id=sprint_id)
        return Shown(version, [self.host.said_of(event) for event in events])

    def record(self, workspace: Workspace, version: int) -> None:
        """Record the action if the sprint's version is unchanged, then update the files."""
        self.host.check_is_on()
        sprint_id = workspace.choose(self.sprint_id)
        try:
            if self.action.make is None:
                self.host.roll_back(workspace, self, version)
                return
            workspace.handle(
                self.action.make(self.given, self.actor),
                sprint_id=sprint_id,
                actor=self.actor,
                expect=version,
                correlation_id=self.host.correlation_id,
            )
        finally:
            self.host.refresh(workspace, f"sprint/{sprint_id}")


def wanted(
    host: WebHost, command: str, sprint_id: str, given: Given, *, actor: str
) -> WantedAction:
    """Return the action requested by a form; secrets are masked and empty fields ignored.

    Raise `NotFoundError` for an unknown action, or `InvalidInputError` naming an invalid
    field.
    """
    if (action := ACTIONS.get(command)) is None:
        raise NotFoundError(f"there is no action {command[:60]!r}")
    known = {field.name: field for field in action.fields}
    found = {name: text.strip() for name, text in given.items() if text.strip()}
    for name, text in found.items():
        if name not in known:
            raise InvalidInputError("is not a field in this form", field=name[:40])
        if len(text) > TEXT_CHARS_MAX:
            said = f"has {len(text)} characters, more than {TEXT_CHARS_MAX}"
            raise InvalidInputError(said, field=name)
        choices = known[name].choices
        if choices and text not in choices:
            raise InvalidInputError(f"must be one of {', '.join(choices)}", field=name)
    for field in action.fields:
        if field.is_needed and field.name not in found:
            raise InvalidInputError("is required", field=field.name)
    return WantedAction(host, action, sprint_id, mask_all(found), actor)


def _resume(given: Given, actor: str) -> commands.Command:
    by = given.get("by") or actor.removeprefix("operator:")
    return commands.ResumeSprint(
        by, given.get("why"), given.get("done"), given.get("retry") == "yes"
    )


_REQUEST = Field("request", "Request", is_needed=True)
_REASONING = Field("reasoning", "Why it is decided so", is_needed=True)
_REASON = Field("reason", "Why")
_DECISION = (_REQUEST, _REASONING)
_DEFERRALS = ("end-of-phase", "end-of-sprint", "next-sprint")
_BEHIND = InjectionPosition("after-current")
ACTIONS = {
    action.command: action
    for action in (
        PageAction(
            "sprint pause", "Pause", (_REASON,), lambda x, _: commands.PauseSprint(**x)
        ),
        PageAction(
            "sprint resume",
            "Answer, and go on",
            (
                Field("by", "Who resolved it"),
                Field("why", "Why it can continue"),
                Field("done", "Resolution"),
                Field("retry", "Retry the failed work", is_flag=True),
            ),
            _resume,
        ),
        PageAction(
            "note",
            "Send a note to the agent",
            (Field("text", "Note", True), Field("now", "End its run first", is_flag=True)),
            lambda x, _: commands.AddNote(x["text"], None, True, "now" in x),
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
            lambda x, _: commands.ApproveRequest(x["request"], x["reasoning"], _BEHIND),
        ),
        PageAction(
            "queue reject", "Reject", _DECISION, lambda x, _: commands.RejectRequest(**x)
        ),
        PageAction(
            "queue defer",
            "Defer",
            (*_DECISION, Field("until", "Until", True, _DEFERRALS)),
            lambda x, _: commands.DeferRequest(**x),
        ),
        PageAction(
            "queue backlog",
            "Put into the backlog",
            _DECISION,
            lambda x, _: commands.BacklogRequest(**x),
        ),
    )
}
"""The actions that a page can record, by the equivalent command."""
