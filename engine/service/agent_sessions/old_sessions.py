"""Old sessions: what their tool calls said is erased; that they were stays."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...log.envelope import Appended, Span
from ...log.port import Log
from ...sessions.events import ToolCalled
from ...sprint.state.times import parse
from ..erasure import erase, measured
from .known_sessions import sessions

SESSIONS_OF_AN_EVENT = 1_000
"""So many are erased at once, with one event that names them."""


class OldSession(NamedTuple):
    """A session whose calls can be erased."""

    name: str
    """`AGENT-ID`."""
    span: Span
    calls: int
    bytes: int


def old_sessions(log: Log, before: str) -> Iterator[OldSession]:
    """Yield the sessions in which nothing happened since a time, as far as they say much.

    Ended or not: of a killed agent nobody tells the end. One that is resumed later is
    old again when its newest event is.
    """
    moment = parse(before)
    for name, version in sessions(log).items():
        stream = f"session/{name}"
        last = next(log.read_stream(stream, after=version - 1), None)
        if last is None or parse(last.at) >= moment:
            continue
        span = Span(stream, 1, version, ToolCalled.type)
        calls, size = measured(log, span)
        if calls:
            yield OldSession(name, span, calls, size)


def erase_sessions(
    log: Log, found: Sequence[OldSession], *, reason: str, actor: str, at: str
) -> Iterator[Appended]:
    """Erase what calls of sessions said, and give back the space; yield what says so."""
    is_smaller = False
    for start in range(0, len(found), SESSIONS_OF_AN_EVENT):
        spans = [one.span for one in found[start : start + SESSIONS_OF_AN_EVENT]]
        appended = erase(log, spans, reason=reason, actor=actor, at=at)
        if appended is not None:
            is_smaller = True
            yield appended
    if is_smaller:
        log.give_back()
