"""Commands and events given as JSON data: validated, handled and recorded."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Unpack

from msgspec import Struct, to_builtins

from sprintlog.engine.command import Command, arguments_of, digest_of
from sprintlog.engine.errors import InvalidInputError, NotFoundError, RefusedError
from sprintlog.engine.log.event import Event, converted, is_extension
from sprintlog.engine.masking import mask_all
from sprintlog.engine.service.streams.catalogue import CODEC, sprint_of, sprint_stream
from sprintlog.engine.service.workspace import JOURNAL
from sprintlog.engine.sprint import commands
from sprintlog.engine.sprint import events as f
from sprintlog.projections.views.events import Answered, answer_of, stream_of
from sprintlog.projections.workspace import Envelope, Handled, Outcome, Workspace

Data = Mapping[str, Any]
_DOCUMENTS = {"create-sprint": "plan", "take-plan": "plan", "import-document": "document"}
"""The commands that create a sprint from a document, with the field that contains it."""
_NODES = {"inject-phases": "phases", "inject-steps": "steps", "approve-request": "phases"}
"""The commands that add nodes, with the kind of their nodes."""


class RecordedData(NamedTuple):
    """The answer for recorded data, and the stream whose state file must be updated."""

    answer: Answered
    stream: str


def record_command(
    workspace: Workspace,
    data: dict[str, Any],
    *,
    sprint_id: str | None = None,
    **envelope: Unpack[Envelope],
) -> RecordedData:
    """Handle a command given by its `type` and fields, and append its events.

    The state file is not written: `workspace.refresh` does that. Raise `InvalidInputError`
    naming the first invalid field.
    """
    command = command_of(data)
    command = mask_all(command) if envelope.get("masks", True) else command
    if envelope.get("key") is not None:
        envelope["key_digest"] = digest_of(command.name(), arguments_of(command))
    if command.stream == JOURNAL:
        return _answered(workspace.handle_on_journal(command, **envelope))
    sprint_id = _new_sprint(command, sprint_id) or workspace.choose(sprint_id)
    return _answered(workspace.handle(command, sprint_id=sprint_id, **envelope))


def append_event(
    workspace: Workspace,
    line: Data,
    *,
    sprint_id: str | None = None,
    **envelope: Unpack[Envelope],
) -> RecordedData:
    """Handle the command that corresponds to an event, and append the resulting events.

    `line` has the event's `type` and optionally `data`, `stream` and `observed`.
    """
    return _answered(handle_event(workspace, line, sprint_id=sprint_id, **envelope))


def handle_event(
    workspace: Workspace, line: Data, *, sprint_id: str | None, **envelope: Unpack[Envelope]
) -> Outcome | Handled[Any]:
    """Do the work of `append_event`, and return the outcome and the state."""
    if not isinstance(line.get("type"), str):
        raise RefusedError("type: is missing or not a string", field="type")
    observed = line.get("observed", False)
    if not isinstance(observed, bool):
        raise RefusedError("observed: must be true or false", field="observed")
    envelope["observed"] = observed
    if is_extension(line["type"]):
        return _append_of_extension(workspace, line, sprint_id, envelope)
    # Checked only for events of other streams than sprints; the journal's events are
    # imported.
    if line["type"] not in commands.BY_TAG and line["type"] in CODEC.events:
        return _append_to_journal(workspace, line, envelope)
    if line["type"] not in CODEC.events:
        raise NotFoundError(
            f"there is no event type {line['type'][:60]!r}",
            hint="use `sprintlog schema events` to list all types",
            unknown=(line["type"], CODEC.events),
            field="type",
        )
    event = commands.to_event(line["type"], line.get("data", {}))
    if isinstance(event, f.SprintCompiled | f.SprintImported):
        kind = "plan" if isinstance(event, f.SprintCompiled) else "document"
        _check(event.document or {}, kind, file="data.document")
    elif isinstance(event, f.Injection):
        kind = "phases" if isinstance(event, f.PhaseInjected) else "steps"
        _check(event.nodes, kind, file="data.nodes")
    event = mask_all(event) if envelope.get("masks", True) else event
    sprint_id = _sprint_of(workspace, line.get("stream"), event, sprint_id)
    _add_digest(envelope, event.type, to_builtins(event), to=sprint_id)
    command = commands.command_for(event, is_observed=observed)
    try:
        outcome = workspace.handle_with(sprint_id, command, **envelope)
    except NotFoundError as error:
        if error.fields.get("sprint") == sprint_id and not error.unknown:
            error.unknown = sprint_id, workspace.sprints()
        raise
    phase = getattr(event, "phase", None)
    # An empty phase means the sprint itself, which exists.
    if phase and outcome.sprint.plan.tree.find(phase) is None:
        workspace.tell(
            f"{phase} is not in the plan of {sprint_id}: recorded, but without effect"
        )
    return outcome


def _append_of_extension(
    workspace: Workspace, line: Data, sprint_id: str | None, envelope: Envelope
) -> Outcome:
    # Imported here: only extension events require the list of installed extensions.
    from sprintlog.engine.service.streams.extension_events import extension_event

    observed = envelope["observed"]
    event = extension_event(line["type"], line.get("data", {}), is_observed=observed)
    sprint_id = _sprint_of(workspace, line.get("stream"), event, sprint_id)
    _add_digest(envelope, event.type, event.data, to=sprint_id)
    command = commands.RecordExtensionEvent(event)
    command = mask_all(command) if envelope.get("masks", True) else command
    return workspace.handle_with(sprint_id, command, **envelope)


def _append_to_journal(
    workspace: Workspace, line: Data, envelope: Envelope
) -> Handled[Any]:
    from sprintlog.engine.journal import rules

    if line.get("stream") not in (None, JOURNAL):
        raise RefusedError(f"stream: {line['type']} belongs to the journal", field="stream")
    event = rules.to_event(line["type"], line.get("data", {}))
    event = mask_all(event) if envelope.get("masks", True) else event
    _add_digest(envelope, event.type, to_builtins(event), to=JOURNAL)
    return workspace.handle_on_journal(rules.command_of(event), **envelope)


def _add_digest(envelope: Envelope, type_: str, data: object, *, to: str) -> None:
    """Add a digest of the request that the idempotency key identifies."""
    if envelope.get("key") is not None:
        stands_for = {"type": type_, "data": data, "to": to}
        envelope["key_digest"] = digest_of("append", stands_for)


def _sprint_of(
    workspace: Workspace, stream: object, event: Event, sprint_id: str | None
) -> str:
    if stream is None:
        if isinstance(event, f.SprintCompiled | f.SprintImported) and event.document:
            return str(event.document.get("sprint-id"))
        return workspace.choose(sprint_id)
    found = sprint_of(stream) if isinstance(stream, str) else None
    if not found:
        raise RefusedError(
            f"stream {str(stream)[:60]!r} is not in this log; specify sprint/ID",
            unknown=(str(stream), [*map(sprint_stream, workspace.sprints()), JOURNAL]),
            field="stream",
        )
    return found


def command_of(data: dict[str, Any]) -> Command:
    """Return a command from its data; raise `RefusedError` naming the invalid field."""
    # Imported here: this imports all topics, which few processes need before the first
    # command.
    from sprintlog.engine.commands import registered

    every = registered()
    tag = data.get("type")
    if not isinstance(tag, str) or tag not in every:
        raise InvalidInputError(
            f"there is no command {str(tag)[:60]!r}",
            field="command.type",
            hint="use `sprintlog schema commands` to list all commands",
            unknown=(str(tag), every),
        )
    command = converted(data, every[tag], field="command")
    assert isinstance(command, Command)
    if unknown := next(_unknown(data, command, "command"), None):
        raise InvalidInputError("there is no such field", field=unknown[:200])
    if kind := (_DOCUMENTS | _NODES).get(tag):
        field = "nodes" if tag in _NODES else kind
        if (content := getattr(command, field)) is not None:
            _check(content, kind, file=f"command.{field}")
    return command


def _unknown(given: object, made: object, path: str) -> Iterator[str]:
    """Yield the paths of fields that exist in the data but not in the struct."""
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


def _check(content: Any, kind: str, *, file: str) -> None:
    """Raise `InvalidInputError` for content that is invalid or not expressible as YAML."""
    # Imported here: most commands and events contain no document.
    from sprintlog.projections.state_files.yaml.writer import dump

    from .progress import check_nodes, check_plan, check_progress

    if kind in ("phases", "steps"):
        check_nodes(content, file=file, key=kind)
        content = {kind: [*content]}
    else:
        (check_plan if kind == "plan" else check_progress)(content, file=file)
    dump(content)


def _new_sprint(command: Command, named: str | None) -> str | None:
    """Return the id of the sprint that a command creates, or None for any other command."""
    if (field := _DOCUMENTS.get(command.name())) is None:
        return None
    found = named or getattr(command, field).get("sprint-id")
    if not isinstance(found, str) or not found:
        raise InvalidInputError("is required", field="params.sprint")
    return found


def _answered(outcome: Outcome | Handled[Any]) -> RecordedData:
    # Converted now, because the next command modifies the state.
    return RecordedData(answer_of(outcome), stream_of(outcome.state))
