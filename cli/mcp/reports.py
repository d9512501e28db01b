"""Tools that record: the outcome of work, learnings, and requests to a person."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from msgspec.structs import asdict

from sprintlog import commands
from sprintlog.errors import InvalidInputError, RefusedError
from sprintlog.events import Pattern
from sprintlog.questions import next_action
from sprintlog.workspaces import Workspace

from . import arguments
from .answers import brief
from .caller import Caller
from .pages import AnswerPage, encoded, fitted

_JOURNAL = "journal"
NAME_CHARS_MAX = 80
"""The maximum length of a pattern's name, which is the beginning of its first line."""


def report(workspace: Workspace, given: arguments.WorkReport, caller: Caller) -> str:
    """Record the outcome of the current work; return it with the next action.

    If no start of the work was reported, the start is recorded as well.
    """
    call = _Call(workspace, "report", given, caller)
    try:
        outcomes = _reported(call, given)
    finally:
        call.refresh()
    sprint = workspace.sprint(call.sprint_id)
    action = next_action(workspace, call.sprint_id)
    said = {**_recorded(*outcomes), "status": sprint.plan.status, "next": brief(action)}
    return _answer(said)


def _reported(call: "_Call", given: arguments.WorkReport) -> list[Any]:
    ends = commands.ReportWork(given.outcome, given.summary, given.phase, given.details)
    try:
        return [call.handle(ends)]
    except RefusedError:
        is_known = given.outcome in ("done", "failed")
        if not (is_known and _waits_to_begin(call, given.phase)):
            raise
    # The key belongs to the end, so that a repeated call finds the first one.
    begins = commands.ReportWork("started", phase=given.phase)
    return [call.handle(begins, key=None, key_digest=None), call.handle(ends)]


def _waits_to_begin(call: "_Call", phase: str | None) -> bool:
    """Return whether a phase's work has not yet been reported as started."""
    plan = call.workspace.sprint(call.sprint_id).plan
    if phase is None and plan.is_at_goal:
        return False
    node = plan.pointed() if phase is None else plan.tree.find(phase)
    return node is not None and node.status == "pending"


def learn(workspace: Workspace, given: arguments.Learn, caller: Caller) -> str:
    """Add a learning to the journal or, if it is not open, as a note to the sprint."""
    _check_said(text=given.text)
    call = _Call(workspace, "learn", given, caller)
    if given.kind == arguments.NOTE:
        return _answer(_recorded(call.handle(commands.AddNote(given.text, to_agent=True))))
    _check_word("kind", given.kind, (*arguments.LEARNING_TYPES, *arguments.PATTERNS))
    if given.kind in arguments.PATTERNS and workspace.log.version(_JOURNAL) > 0:
        return _pattern(call, given)
    learning = commands.SaidLearning(given.text, given.kind, ", ".join(given.files))
    said = commands.SaidItems(learnings=(learning,))
    # The journal must not store learnings from a sprint that does not exist.
    workspace.preview(commands.TakeSaid(commands.SaidItems()), sprint_id=call.sprint_id)
    left = said
    if given.kind in arguments.LEARNING_TYPES:
        kept = workspace.keep_learnings(call.sprint_id, said, **call.envelope)
        left = kept or commands.SaidItems()
    if not left.learnings:
        call.refresh(_JOURNAL)
        known = workspace.document().learnings
        return _answer({"learning": _id_of(known, "content", given.text)})
    # The journal detects duplicates itself; notes are distinguished only by their key.
    key = given.key or _default_key("learn", given, caller)
    call = _Call(workspace, "learn", given, caller, key=key)
    return _answer(_recorded(_take(call, left)))


def _pattern(call: "_Call", given: arguments.Learn) -> str:
    def known() -> str | None:
        return _id_of(call.workspace.document().patterns, "description", given.text)

    if known() is None:
        pattern = Pattern(
            name=given.text.strip().partition("\n")[0][:NAME_CHARS_MAX],
            type=given.kind,
            description=given.text,
            examples=tuple(given.files),
            source_prd_id=call.sprint_id,
        )
        call.workspace.handle(commands.DiscoverPattern(pattern), **call.envelope)
    call.refresh(_JOURNAL)
    return _answer({"pattern": known()})


def _id_of(entries: Iterable[Any], field: str, text: str) -> str | None:
    """Return the id of the first journal entry whose field contains the given text."""
    return next((one.id for one in entries if getattr(one, field) == text), None)


def request(workspace: Workspace, given: arguments.Request, caller: Caller) -> str:
    """Add a request to the queue; for a duplicate, return the existing request."""
    _check_word("priority", given.priority, arguments.PRIORITIES)
    _check_word("kind", given.kind, arguments.REQUEST_TYPES)
    _check_said(title=given.title, why=given.why)
    call = _Call(workspace, "request", given, caller)
    asked = commands.SaidRequest(
        given.title, given.priority, given.kind, description=given.why
    )
    outcome = _take(call, commands.SaidItems(requests=(asked,)))
    same = {"title": given.title, "description": given.why, "type": given.kind}
    found = [entry for entry in outcome.state.queue if same.items() <= entry.items()]
    last = found[-1] if found else {}
    known = {"request": last.get("id"), "status": last.get("status")}
    return _answer({**known, **_recorded(outcome)})


class _Call:
    """A call of a recording tool, with its sprint and the metadata of its events."""

    def __init__(
        self,
        workspace: Workspace,
        tool: str,
        given: Any,
        caller: Caller,
        *,
        key: str | None = None,
    ) -> None:
        self.workspace, self._served = workspace, caller.served
        self.envelope = caller.envelope(tool, _arguments(given), key or given.key)
        self.sprint_id = workspace.choose(caller.meant(given.sprint))

    def handle(self, command: commands.Command, **more: Any) -> Any:
        """Let the sprint handle a command, and append the resulting events."""
        envelope = {**self.envelope, **more}
        return self.workspace.handle(command, sprint_id=self.sprint_id, **envelope)

    def refresh(self, stream: str | None = None) -> None:
        """Write a stream's state file; the default is the sprint's stream."""
        self._served.refresh(self.workspace, stream or f"sprint/{self.sprint_id}")


def _take(call: _Call, said: commands.SaidItems) -> Any:
    try:
        return call.handle(commands.TakeSaid(said))
    finally:
        call.refresh()


def _recorded(*outcomes: Any) -> dict[str, Any]:
    """Return the types of the recorded events and the last version, without envelopes."""
    last = outcomes[-1]
    said: dict[str, Any] = {"sprint": last.state.id}
    events = [event for outcome in outcomes for event in outcome.events]
    if not events:
        return {**said, "unchanged": True, "version": last.state.version}
    said["recorded"] = [event.type for event in events]
    said["version"] = events[-1].version
    return {**said, "duplicate": True} if last.duplicate else said


def _answer(said: dict[str, Any]) -> str:
    return fitted(AnswerPage(said), None)


def _arguments(given: Any) -> dict[str, Any]:
    """Return the arguments that an idempotency key identifies."""
    return {name: value for name, value in asdict(given).items() if name != "key"}


def _default_key(tool: str, given: Any, caller: Caller) -> str:
    said = encoded([tool, _arguments(given), caller.served.session])
    return f"mcp-{sha256(said).hexdigest()[:32]}"


def _check_said(**texts: str) -> None:
    for name, text in texts.items():
        if not text.strip():
            raise InvalidInputError("is empty", field=name)


def _check_word(name: str, word: str, allowed: tuple[str, ...]) -> None:
    if word not in allowed:
        raise RefusedError(
            f"{name} {word[:40]!r} is unknown; allowed: {', '.join(allowed)}",
            allowed=list(allowed),
        )
