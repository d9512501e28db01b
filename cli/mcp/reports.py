"""Tools that record: what became of the work, what was learned, what a person decides."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from msgspec.structs import asdict

from sprintlog.engine.errors import InvalidInputError, RefusedError
from sprintlog.engine.journal.parts import LEARNING_TYPES, Pattern
from sprintlog.engine.journal.rules import DiscoverPattern
from sprintlog.engine.journal.state import JOURNAL
from sprintlog.engine.service.learnings import journal_is_open, keep_learnings
from sprintlog.engine.sprint.agent.reported import ReportWork, TakeSaid, waits_to_begin
from sprintlog.engine.sprint.answers.items import SaidItems, SaidLearning, SaidRequest
from sprintlog.engine.sprint.phases.leaves import check_word
from sprintlog.engine.sprint.state.transitions import check_exists
from sprintlog.engine.sprint.state.words import PRIORITIES, REQUEST_TYPES
from sprintlog.projections.views import runs
from sprintlog.projections.workspace import Outcome, Workspace

from ..record import Recording, refresh_stream
from .answers import brief
from .arguments import PATTERNS, Learn, Request, WorkReport
from .caller import Caller
from .pages import AnswerPage, encoded, fitted

NAME_CHARS_MAX = 80
"""A pattern is called by so much of its first line."""


def report(workspace: Workspace, given: WorkReport, caller: Caller) -> str:
    """Record how the current work ended; answer what that was, and what is next.

    Work of which nobody said that it had begun begins with it.
    """
    run = _recording(workspace, "report", given.sprint, given.key, caller)
    arguments = _arguments(given)
    try:
        outcomes = _reported(run, given, arguments)
    finally:
        run.refresh()
    sprint = workspace.sprint(run.sprint_id)
    action = runs.what_is_next(workspace, sprint)
    said = {**_recorded(*outcomes), "status": sprint.plan.status, "next": brief(action)}
    return _answer(said)


def _reported(
    run: Recording, given: WorkReport, arguments: Mapping[str, Any]
) -> list[Outcome]:
    ends = ReportWork(given.outcome, given.summary, given.phase, given.details)
    try:
        return [run.handle_with(ends, arguments)]
    except RefusedError:
        sprint = run.workspace.sprint(run.sprint_id)
        is_known = given.outcome in ("done", "failed")
        if not (is_known and waits_to_begin(sprint, given.phase)):
            raise
    # A key is of the end: repeated, the first try finds it.
    begins = ReportWork("started", phase=given.phase)
    begun = run.following().handle_with(begins)
    return [begun, run.handle_with(ends, arguments)]


def learn(workspace: Workspace, given: Learn, caller: Caller) -> str:
    """Keep what was learned where a journal is open, else as a note of the sprint."""
    check_word("kind", given.kind, (*LEARNING_TYPES, *PATTERNS))
    _check_said(text=given.text)
    if given.kind in PATTERNS and journal_is_open(workspace):
        return _pattern(workspace, given, caller)
    run = _recording(workspace, "learn", given.sprint, given.key, caller)
    where = ", ".join(given.files)
    said = SaidItems(learnings=(SaidLearning(given.text, given.kind, where),))
    envelope = run.envelope(_arguments(given))
    check_exists(workspace.sprint(run.sprint_id))
    left = said
    if given.kind in LEARNING_TYPES:
        left = keep_learnings(workspace, run.sprint_id, said, **envelope) or SaidItems()
    if not left.learnings:
        refresh_stream(workspace, JOURNAL)
        known = workspace.documents.current(JOURNAL).learnings
        return _answer({"learning": _id_of(known, "content", given.text)})
    # The journal knows what it holds; notes are told apart by a key alone.
    key = given.key or _default_key("learn", given, caller)
    run = _recording(workspace, "learn", given.sprint, key, caller)
    return _answer(_recorded(_take(run, left, given)))


def _pattern(workspace: Workspace, given: Learn, caller: Caller) -> str:
    run = _recording(workspace, "learn", given.sprint, given.key, caller)

    def known() -> str | None:
        there = workspace.documents.current(JOURNAL).patterns
        return _id_of(there, "description", given.text)

    if known() is None:
        pattern = Pattern(
            name=given.text.strip().partition("\n")[0][:NAME_CHARS_MAX],
            type=given.kind,
            description=given.text,
            examples=tuple(given.files),
            source_prd_id=run.sprint_id,
        )
        run.handle_on_journal(DiscoverPattern(pattern), _arguments(given))
    refresh_stream(workspace, JOURNAL)
    return _answer({"pattern": known()})


def _id_of(entries: Iterable[Any], field: str, text: str) -> str | None:
    """Return the id of the first entry of the journal whose field has this text."""
    return next((one.id for one in entries if getattr(one, field) == text), None)


def request(workspace: Workspace, given: Request, caller: Caller) -> str:
    """Put a request into the queue; the same one said again is the one that is there."""
    check_word("priority", given.priority, PRIORITIES)
    check_word("kind", given.kind, REQUEST_TYPES)
    _check_said(title=given.title, why=given.why)
    run = _recording(workspace, "request", given.sprint, given.key, caller)
    asked = SaidRequest(given.title, given.priority, given.kind, description=given.why)
    outcome = _take(run, SaidItems(requests=(asked,)), given)
    same = {"title": given.title, "description": given.why, "type": given.kind}
    found = [entry for entry in outcome.state.queue if same.items() <= entry.items()]
    last = found[-1] if found else {}
    known = {"request": last.get("id"), "status": last.get("status")}
    return _answer({**known, **_recorded(outcome)})


def _take(run: Recording, said: SaidItems, given: Any) -> Outcome:
    try:
        return run.handle_with(TakeSaid(said), _arguments(given))
    finally:
        run.refresh()


def _recording(
    workspace: Workspace, name: str, sprint: str | None, key: str | None, caller: Caller
) -> Recording:
    return Recording(f"mcp {name}", caller.options(sprint, key), workspace)


def _recorded(*outcomes: Outcome) -> dict[str, Any]:
    """Return what was recorded, by versions: an agent has no use for an envelope."""
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
    """Return what a key stands for."""
    return {name: value for name, value in asdict(given).items() if name != "key"}


def _default_key(tool: str, given: Any, caller: Caller) -> str:
    said = encoded([tool, _arguments(given), caller.served.session])
    return f"mcp-{sha256(said).hexdigest()[:32]}"


def _check_said(**texts: str) -> None:
    for name, text in texts.items():
        if not text.strip():
            raise InvalidInputError("is empty", field=name)
