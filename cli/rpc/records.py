"""Commands and events from a request: checked, decided on, recorded; files follow."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import Struct

from sprintlog.engine.command import Command
from sprintlog.engine.errors import InvalidInputError
from sprintlog.engine.log.event import converted
from sprintlog.engine.sprint.plan.create import CreateSprint, ImportDocument
from sprintlog.engine.sprint.plan.injection import InjectPhases, InjectSteps
from sprintlog.engine.sprint.plan.recompile import TakePlan
from sprintlog.engine.sprint.queue.decisions import ApproveRequest
from sprintlog.projections.views.events import Answered
from sprintlog.projections.workspace import Handled, Outcome, Workspace

from ..context import parse_expected
from ..output import hint, warn
from ..record import Options, Recording, answer_of, arguments_of, refresh_stream, stream_of
from ..resident_log import ResidentLog
from ..work.append import append_event, check_shown_document, check_shown_nodes
from .params import AboutEvents, Append, Record


class Asking(Struct):
    """Who asks: what holds where a request does not say it."""

    actor: str
    sprint: str | None
    has_processes: bool = True
    """Whether a request may start a process."""


class DecidedRequest(NamedTuple):
    """What was appended, and the stream whose state file is to follow."""

    answer: Answered
    stream: str


def record(log: ResidentLog, given: Record, asking: Asking) -> DecidedRequest:
    """Let a command be decided on, and append what follows."""
    workspace = log.to_record()
    command = command_of(given.command)
    options = _options(given, asking.actor, given.sprint or asking.sprint)
    command = options.masked_command(command)
    run = Recording(command.name(), options, workspace)
    if command.stream == "journal":
        return _decided(run.handle_on_journal(command, arguments_of(command)))
    new = _new_sprint(command, options.sprint_id)
    return _decided(run.handle_with(command, arguments_of(command), sprint_id=new))


def append(log: ResidentLog, given: Append, asking: Asking) -> DecidedRequest:
    """Let the command decide that causes an event, and append what follows."""
    workspace = log.to_record()
    options = _options(given, asking.actor, asking.sprint)
    line = {x: getattr(given, x) for x in ("type", "data", "stream", "observed")}
    return _decided(append_event(workspace, line, options))


def command_of(given: dict[str, Any]) -> Command:
    """Return a command from its data; raise `RefusedError` naming what is wrong with it."""
    # Imported here: all topics are, which few requests need before the first command.
    from sprintlog.engine.commands import registered

    every = registered()
    tag = given.get("type")
    if not isinstance(tag, str) or tag not in every:
        raise InvalidInputError(
            f"there is no command {str(tag)[:60]!r}",
            field="command.type",
            hint="`sprintlog schema commands` describes all",
            unknown=(str(tag), every),
        )
    struct = every[tag].struct
    command = converted(given, struct, field="command")
    assert isinstance(command, Command)
    if unknown := next(_unknown(given, command, "command"), None):
        raise InvalidInputError("there is no such field", field=unknown[:200])
    _check(command)
    return command


def _unknown(given: object, made: object, path: str) -> Iterator[str]:
    """Yield the fields that were given and that what was made of them does not have."""
    if isinstance(made, Struct) and isinstance(given, dict):
        names = dict(
            zip(made.__struct_encode_fields__, made.__struct_fields__, strict=True)
        )
        tag = made.__struct_config__.tag_field
        for name, value in given.items():
            if name in names:
                yield from _unknown(value, getattr(made, names[name]), f"{path}.{name}")
            elif name != tag:
                yield f"{path}.{name}"
    elif isinstance(made, list | tuple) and isinstance(given, list):
        for number, (one, other) in enumerate(zip(given, made, strict=False)):
            yield from _unknown(one, other, f"{path}[{number}]")


def _check(command: Command) -> None:
    """Raise `InvalidInputError` for what could not be shown in a state file."""
    match command:
        case CreateSprint() | TakePlan():
            check_shown_document(command.plan, is_plan=True, file="command.plan")
        case ImportDocument():
            check_shown_document(command.document, is_plan=False, file="command.document")
        case InjectPhases():
            check_shown_nodes(command.nodes, key="phases", file="command.nodes")
        case InjectSteps():
            check_shown_nodes(command.nodes, key="steps", file="command.nodes")
        case ApproveRequest() if command.nodes:
            check_shown_nodes(command.nodes, key="phases", file="command.nodes")
        case _:
            pass


def _new_sprint(command: Command, named: str | None) -> str | None:
    """Return the sprint that a command may make; None for one that needs a sprint."""
    match command:
        case CreateSprint() | TakePlan():
            said = command.plan.get("sprint-id")
        case ImportDocument():
            said = command.document.get("sprint-id")
        case _:
            return None
    found = named or said
    if not isinstance(found, str) or not found:
        raise InvalidInputError("has to be given", field="params.sprint")
    return found


def _options(given: AboutEvents, actor: str, sprint: str | None) -> Options:
    """Return the options of a command line."""
    expect = None if given.expect is None else str(given.expect)
    return Options(
        {
            "sprint_id": sprint,
            "actor": given.actor or actor,
            "at": given.at,
            "key": given.key,
            "expect": parse_expected(expect),
            "correlation_id": given.correlation_id,
            "causation_id": given.causation_id,
            "no_mask": not given.mask,
        }
    )


def _decided(outcome: Outcome | Handled[Any]) -> DecidedRequest:
    # At once: the next command carries on the same state.
    return DecidedRequest(answer_of(outcome), stream_of(outcome.state))


def follow(workspace: Workspace, stream: str) -> None:
    """Let the state file say what is recorded; come what may there.

    A client that heard of a failure would record the same once more.
    """
    try:
        refresh_stream(workspace, stream)
    except Exception as error:  # noqa: BLE001 - what is recorded is answered
        warn(f"{stream} is recorded, its state file is behind: {error}")
        hint("`sprintlog rebuild` writes it")
