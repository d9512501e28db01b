"""Steps shared by recording commands: handle, append, answer, update the state file."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from sprintlog.engine import command as actors
from sprintlog.engine.command import UNNAMED as UNNAMED
from sprintlog.engine.command import Command, JournalCommand, digest_of
from sprintlog.engine.command import arguments_of as arguments_of
from sprintlog.engine.errors import InvalidInputError, RefusedError, SprintlogError
from sprintlog.engine.log.port import Expected
from sprintlog.engine.masking import mask, mask_all
from sprintlog.engine.service import handle
from sprintlog.engine.service.port import Skippable
from sprintlog.engine.service.streams.catalogue import sprint_stream
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.sprint.state.words import FAILURE_CATEGORIES
from sprintlog.projections.views.events import answer_of as answer_of
from sprintlog.projections.views.events import described
from sprintlog.projections.views.events import stream_of as stream_of
from sprintlog.projections.workspace import (
    Decide,
    DecideOnJournal,
    Envelope,
    Handled,
    Outcome,
    Workspace,
)

from . import settings, typed
from .context import diagnose, open_workspace
from .output import hint, print_json, print_text, warn

if TYPE_CHECKING:
    from sprintlog.engine.journal.state import Journal
    from sprintlog.engine.sprint.phases.waits import ScheduleRetry

CommandT = TypeVar("CommandT", bound=Command)
Keep = Callable[[Decide], Decide]
"""Returns the decision on a command, with further events appended."""


class Options:
    """The options of a recording command, named as in click.

    Only the actor is required; other entry points pass the options that they have.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.sprint_id: str | None = given.get("sprint_id")
        self.actor: str = check_actor(given["actor"])
        self.at: str | None = given.get("at")
        self.key: str | None = given.get("key")
        self.expect: Expected | None = given.get("expect")
        self.correlation_id: str | None = given.get("correlation_id") or _work()
        self.causation_id: str | None = given.get("causation_id")
        self.as_json: bool = given.get("as_json", False)
        self.masks: bool = not given.get("no_mask", False)
        if self.masks and self.key:
            self.key = mask(self.key)

    def masked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return a command's arguments with secrets masked, unless masking is off."""
        return mask_all(dict(arguments)) if self.masks else dict(arguments)

    def masked_command(self, command: CommandT) -> CommandT:
        """Return a command with secrets masked, unless masking is off."""
        return mask_all(command) if self.masks else command

    def tell_masked(self, document: object, *, of: str) -> None:
        """Warn if secrets in a document will be masked."""
        if self.masks and mask_all(document) != document:
            warn(f"secrets in {of} are masked; agents, gates and hooks get only the masks")
            hint("use environment variables instead, or record with --no-mask")

    def with_values(self, **values: Any) -> Self:
        """Return the options with some values replaced."""
        changed = type(self).__new__(type(self))
        vars(changed).update({**vars(self), **values})
        return changed


def _work() -> str | None:
    """Return the id of the work that this process belongs to, if known."""
    if "SPRINTLOG_CORRELATION" not in os.environ:
        return None
    # Imported here: the work is only known within `run` and `wrap`.
    from sprintlog.engine.sessions.work import work_in

    return work_in(os.environ)


def check_actor(actor: str) -> str:
    """Return the actor; raise `click.UsageError` if it is invalid."""
    try:
        return actors.check_actor(actor)
    except InvalidInputError as error:
        raise click.UsageError(
            f"invalid actor {actor[:40]!r} (--actor, SPRINTLOG_ACTOR): "
            f"must be {actors.ACTOR_FORMS}"
        ) from error


def check_is_on() -> None:
    """Raise `RefusedError` if recording is off."""
    if (off := settings.off_by()) is not None:
        raise RefusedError(f"nothing is recorded: {off}")


with_failure = typed.several(
    typed.option("--error", required=True, help="What went wrong."),
    typed.choice_option(
        "--category",
        of=FAILURE_CATEGORIES,
        default="logic",
        help="The kind of failure; determines whether it is retried. [logic]",
    ),
    typed.option(
        "--until",
        metavar="TIME",
        help="Wait for a limit until this time (ISO 8601), without "
        "counting a failure. Requires --category rate-limit or network.",
    ),
)
"""The options that describe a failure."""

_LIMITS = {"rate-limit": "usage-limit", "network": "network"}


def wait_until(
    until: str, why: str, category: str, phase: str | None = None
) -> "ScheduleRetry":
    """Return the command for `--until`; raise `UsageError` if the category has no limit."""
    # Imported here: few failures require a wait for a limit.
    from sprintlog.engine.sprint.phases.waits import ScheduleRetry

    if category not in _LIMITS:
        raise click.UsageError(
            f"--until requires --category rate-limit or network, not {category}"
        )
    return ScheduleRetry(until, why, _LIMITS[category], "--until", phase)


class Recording:
    """A recording command in progress: its name, its options and its workspace."""

    def __init__(self, name: str, options: Options, workspace: Workspace) -> None:
        self.name, self.options, self.workspace = name, options, workspace

    @cached_property
    def sprint_id(self) -> str:
        """The id of the selected sprint."""
        return self.workspace.choose(self.options.sprint_id)

    def envelope(
        self, arguments: Mapping[str, Any] | None = None, *, observed: bool = False
    ) -> Envelope:
        """Return the envelope for the options; a key is bound to the arguments."""
        options = self.options
        return {
            "actor": options.actor,
            "at": options.at,
            "key": options.key,
            "key_digest": digest_of(self.name, arguments or {}) if options.key else None,
            "expect": options.expect,
            "correlation_id": options.correlation_id,
            "causation_id": options.causation_id,
            "observed": observed,
            "masks": options.masks,
        }

    def handle_with(
        self,
        decide: Decide,
        arguments: Mapping[str, Any] | None = None,
        *,
        sprint_id: str | None = None,
        observed: bool = False,
    ) -> Outcome:
        """Let a sprint decide, by default the selected sprint, and append the events."""
        envelope = self.envelope(arguments, observed=observed)
        meant = sprint_id or self.sprint_id
        outcome = self.workspace.handle_with(meant, decide, **envelope)
        diagnose_outcome(self.name, outcome)
        return outcome

    def handle_on_journal(
        self,
        decide: DecideOnJournal,
        arguments: Mapping[str, Any],
        *,
        observed: bool = False,
        without: Collection[Skippable] = (),
    ) -> "Handled[Journal]":
        """Let the journal decide, and append the events."""
        envelope = self.envelope(arguments, observed=observed)
        outcome = self.workspace.handle_on_journal(decide, without=without, **envelope)
        diagnose_outcome(self.name, outcome)
        return outcome

    def answer(self, outcome: "Outcome | Handled[Journal]") -> None:
        """Print the recorded events, and update the state file."""
        answer_and_refresh(self.workspace, outcome, as_json=self.options.as_json)

    def refresh(self) -> None:
        """Update the selected sprint's state file."""
        refresh(self.workspace, self.sprint_id)

    def finish_restores(self) -> None:
        """Finish interrupted restores before making any decision about files."""
        self.workspace.finish_restores(self.workspace.sprint(self.sprint_id))

    def following(self) -> "Recording":
        """Return a recording for later commands, without the key and expected version."""
        options = self.options.with_values(key=None, expect=None)
        return Recording(self.name, options, self.workspace)


@contextmanager
def recording(name: str, given: Mapping[str, Any] | Options) -> Iterator[Recording]:
    """Open the log for a recording command, after checking its options."""
    options = given if isinstance(given, Options) else Options(given)
    with open_workspace() as workspace:
        yield Recording(name, options, workspace)


def record(
    name: str,
    given: Mapping[str, Any],
    command: Command,
    *,
    typed: Collection[str] | None = None,
    keep: Keep | None = None,
) -> Sprint:
    """Run a recording command and print its answer; return the sprint.

    An idempotency key is bound to the name and the command's fields, or only to the fields
    in `typed`. `keep` can add events to the command's events.
    """
    options, arguments = Options(given), None
    if options.key or keep is not None:
        command = options.masked_command(command)
        arguments = arguments_of(command, typed)
    with recording(name, options) as run:
        if keep is None:
            sprint_id, envelope = run.sprint_id, run.envelope(arguments)
            outcome = run.workspace.handle(command, sprint_id=sprint_id, **envelope)
            diagnose_outcome(name, outcome)
        else:
            outcome = run.handle_with(keep(command), arguments)
        run.answer(outcome)
        return outcome.state


def record_in_journal(name: str, given: Mapping[str, Any], command: JournalCommand) -> None:
    """Run a recording command on the journal, like `record`."""
    options = Options(given)
    command = options.masked_command(command)
    with recording(name, options) as run:
        run.answer(run.handle_on_journal(command, arguments_of(command)))


def answer_and_refresh(
    workspace: Workspace, outcome: "Outcome | Handled[Journal]", *, as_json: bool
) -> None:
    """Print the recorded events, then update the state file even if printing fails."""
    try:
        answer(outcome, as_json=as_json)
    finally:
        refresh_stream(workspace, stream_of(outcome.state))


def diagnose_outcome(command: str, outcome: "Outcome | Handled[Journal]") -> None:
    """Report the recorded events on stderr if `--verbose` is given."""
    diagnose(
        command,
        lambda: {
            "stream": stream_of(outcome.state),
            "version": outcome.state.version,
            "recorded": [event.type for event in outcome.events],
            "duplicate": outcome.duplicate,
        },
    )


def answer(outcome: "Outcome | Handled[Journal]", *, as_json: bool) -> None:
    """Print the recorded events in a single write; the events are already durable."""
    try:
        if as_json:
            print_json(answer_of(outcome))
        else:
            print_text(summary(outcome))
    except OSError as error:
        what = "it was recorded" if outcome.events else "there was nothing to record"
        raise SprintlogError(
            f"{what}, but the answer could not be written: {error.strerror}",
            hint="repeat the command with the same --key to get the recorded events",
        ) from error


def summary(outcome: "Outcome | Handled[Journal]", unsaid: Collection[str] = ()) -> str:
    """Return the recorded events on one line, omitting the types in `unsaid`."""
    name = outcome.state.id
    if not outcome.events:
        return f"{name}: nothing to record"
    last = outcome.events[-1]
    events = [described(event) for event in outcome.events if event.type not in unsaid]
    said = ", ".join(events) or "files restored"
    before = " (already recorded with this key)" if outcome.duplicate else ""
    return f"{name}: {said}{before}  [position {last.position}, version {last.version}]"


def refresh(workspace: Workspace, sprint_id: str) -> None:
    """Update the sprint's state file, and report any edit found in it."""
    refresh_stream(workspace, sprint_stream(sprint_id))


def refresh_stream(workspace: Workspace, stream: str) -> None:
    """Update a stream's state file; a failure causes only a warning.

    The events are already recorded, and an error would lead users to repeat the command.
    """
    try:
        refreshed = handle.refresh(workspace, stream)
    except RefusedError as error:
        warn(error.message)
        hint(error.hint)
        return
    diagnose("state file", lambda: {"path": refreshed.path, "state": refreshed.state})
    if refreshed.problem:
        warn(refreshed.problem)
