"""What a session's events say in a line, and many of them in one."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.service.agent_sessions.known_sessions import event_of
from sprintlog.engine.sessions.events import (
    AboutSubagent,
    ContextCompacted,
    PromptGiven,
    SessionEvent,
    SessionStarted,
    ToolCalled,
    TouchedFile,
    TurnEnded,
)
from sprintlog.engine.sessions.names import session_of
from sprintlog.engine.sessions.summary import Summary, summary_of

from ..views.sessions import SessionAnswer
from . import phrases

ID_CHARS = 13
"""Ids made of the time differ from here on only where they began within 1 ms."""
FILES_SHOWN = 3


class Folded(NamedTuple):
    """Events of one session, consecutive or mixed with those of other sessions."""

    events: list[RecordedEvent]

    @property
    def position(self) -> str:
        """Return the first and the last position."""
        return f"{self.events[0].position}-{self.events[-1].position}"

    @property
    def said(self) -> str:
        """Return in a line what they come to."""
        last = self.events[-1]
        found = summary_of((event.at, event_of(event)) for event in self.events)
        return f"{short_name(last.stream)}  {figures(found)}"


def folded(events: Iterable[RecordedEvent]) -> Iterator["RecordedEvent | Folded"]:
    """Yield events, those of a session that stand together as one."""
    for is_session, group in groupby(events, lambda e: session_of(e.stream) is not None):
        if not is_session:
            yield from group
            continue
        streams: dict[str, list[RecordedEvent]] = {}
        for event in group:
            streams.setdefault(event.stream, []).append(event)
        for found in streams.values():
            yield found[0] if len(found) == 1 else Folded(found)


def short_name(stream: str) -> str:
    """Return a session's agent and the distinguishing part of its id."""
    agent, _, id_ = (session_of(stream) or stream).partition("-")
    return f"{agent}-{id_[:ID_CHARS]}"


def figures(found: "Summary | SessionAnswer", *, ends: bool = True) -> str:
    """Return in words what a session did, and whether it began and ended."""
    words = [phrases.counted(found.tool_calls, "tool call")] if found.tool_calls else []
    words += [f"{found.failed_calls} failed"] if found.failed_calls else []
    words += [f"{found.erased} [erased]"] if found.erased else []
    words += [phrases.counted(found.prompts, "prompt")] if found.prompts else []
    words += [phrases.counted(found.subagents, "subagent")] if found.subagents else []
    if found.files_changed:
        lines = f"+{found.lines_added} -{found.lines_removed}"
        words.append(f"{phrases.counted(len(found.files_changed), 'file')} {lines}")
    words += [f"{found.failed_turns} failed turns"] if found.failed_turns else []
    words += ["started"] if ends and found.starts else []
    words += ["ended"] if ends and found.ended_at else []
    return ", ".join(words) or phrases.counted(found.events, "event")


def said(event: SessionEvent) -> str:
    """Return the text of a session's event after its type."""
    match event:
        case ToolCalled():
            return _call(event)
        case PromptGiven():
            return "" if event.chars is None else f"{event.chars} characters"
        case AboutSubagent():
            return " ".join(filter(None, (event.role, event.subagent)))
        case TurnEnded():
            waits = f"waits for {event.waits_for}" if event.waits_for else ""
            failed = "failed" if event.failed else ""
            loop = f"loop {event.loop_iteration}" if event.loop_iteration else ""
            words = ", ".join(filter(None, (failed, waits, loop)))
            return f"{words}: {event.error}" if event.error else words
        case ContextCompacted():
            return event.trigger or ""
        case SessionStarted():
            return " ".join(filter(None, (event.how, event.model, event.version)))
        case _:
            return event.name()


def _call(call: ToolCalled) -> str:
    words = [{True: "", False: "failed", None: "outcome unknown"}[call.ok]]
    if call.is_unfinished:
        words = ["end not known"]
    words += ["interrupted"] if call.is_interrupted else []
    words += [f"exit {call.exit_code}"] if call.exit_code is not None else []
    if call.duration_ms is not None:
        words.append(phrases.duration(call.duration_ms))
    words += [_file(one) for one in call.files[:FILES_SHOWN]]
    if (more := len(call.files) - FILES_SHOWN) > 0:
        words.append(f"{more} more")
    words += ["by a subagent"] if call.subagent else []
    words += [f"found in the {call.found_in}"] if call.found_in else []
    line = f"{call.tool}  {', '.join(filter(None, words))}".rstrip()
    return f"{line}: {' '.join(call.command.split())}" if call.command else line


def _file(file: TouchedFile) -> str:
    if file.added is None and file.removed is None:
        return file.path
    return f"{file.path} +{file.added or 0} -{file.removed or 0}"
