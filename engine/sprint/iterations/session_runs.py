"""Sessions of agents that were recorded elsewhere: each is an iteration, once; pure.

What of a session was recorded before, by whoever ran it or from an earlier reading, is
never recorded again: a session that grew brings only what it has more.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import asdict, replace

from ...errors import RefusedError
from ...iterations.events import Usage
from ...log.event import Event
from ..events import AgentRan, IterationEnded, IterationStarted
from ..state.sprint import Sprint


def runs_of(session: AgentRan, runs: Sequence[AgentRan]) -> list[AgentRan]:
    """Return those of some runs that were of the same session."""
    named = set(session.sessions)
    return [
        run
        for run in runs
        if not named.isdisjoint(run.sessions)
        or (not named and run.output_sha256 == session.output_sha256)
    ]


def check_not_under_way(sprint: Sprint) -> None:
    """Raise `RefusedError` where a session would end the iteration that is under way."""
    last = sprint.plan.last.iteration
    if isinstance(last, IterationStarted) and not last.is_wrapped:
        raise RefusedError(
            f"iteration {last.number} of {sprint.id} is under way; a session would end it",
            hint="`sprintlog iteration end` ends it; --sprint names another sprint",
            sprint=sprint.id,
            iteration=last.number,
        )


def session_ended(
    sprint: Sprint,
    session: AgentRan,
    *,
    before: Sequence[AgentRan],
    summary: str | None,
) -> list[Event]:
    """Return the events that say what a session did beyond its runs `before`."""
    number = session.iteration
    if not before:
        ended = [] if number is None else [IterationEnded(number, summary)]
        return [session, *ended]
    further = _further(session, before)
    if further is None:
        return []
    last = sprint.plan.last.iteration
    # Only where no other iteration has begun since: its end would be said with it.
    is_last = isinstance(last, IterationEnded) and last.number == number
    if number is None or not is_last:
        return [further]
    return [further, IterationEnded(number, summary)]


def used_alone(usage: Usage, before: Sequence[AgentRan]) -> Usage:
    """Return what a run took, of which its agent says what all of its session took.

    `before` are the session's runs until then. Where it says less than those took
    together, it is no such total, and stays.
    """
    known = [run.usage for run in before if run.usage is not None]
    for name in _GROWING:
        total, parts = getattr(usage, name), [getattr(one, name) or 0 for one in known]
        if total is not None and total < sum(parts):
            return usage
    return _rest_of_usage(usage, known) or usage


_GROWING = ("input_tokens", "output_tokens", "cache_read_tokens")


def is_stated(run: AgentRan) -> bool:
    """Tell whether somebody who ran it says what all of it cost.

    What was cut short says on its way what the model was given, and never what it wrote.
    """
    usage = run.usage
    if usage is None or run.found_in is not None:
        return False
    return usage.output_tokens is not None or usage.cost_usd is not None


def recovered(session: AgentRan, *, before: Sequence[AgentRan]) -> list[Event]:
    """Return what a session cost of which nobody said it; its iteration goes on or not."""
    stated = [run for run in before if run.usage is not None]
    if stated:
        further = _further(session, stated)
        return [further] if further is not None else []
    if session.usage is None:
        return []
    # What was printed of it are calls alone, which are not to be counted again.
    return [
        replace(
            session, tool_calls=_rest(session.tool_calls, [x.tool_calls for x in before])
        )
    ]


def _further(session: AgentRan, before: Sequence[AgentRan]) -> AgentRan | None:
    """Return what a session has more than runs that were recorded; None for nothing.

    Where somebody ran it here, lines and bytes are those that the command printed: only
    those of earlier readings can be subtracted.
    """
    if any(run.output_sha256 == session.output_sha256 for run in before):
        return None
    read = [run for run in before if run.output_sha256 and not run.output]
    usage = _rest_of_usage(session.usage, [run.usage for run in before])
    calls = _rest(session.tool_calls, [run.tool_calls for run in before])
    used = [value for value in asdict(usage).values() if value] if usage else []
    turned = bool(read) and read[-1].status != session.status
    if not used and not calls and not turned:
        return None
    return replace(
        session,
        usage=usage,
        tool_calls=calls,
        duration_ms=usage.duration_ms if usage else None,
        output_bytes=_rest(session.output_bytes, [run.output_bytes for run in read]) or 0,
        lines=_rest(session.lines, [run.lines for run in read]) or 0,
        unknown_lines=_rest(session.unknown_lines, [r.unknown_lines for r in read]) or 0,
    )


def _rest_of_usage(total: Usage | None, before: Sequence[Usage | None]) -> Usage | None:
    if total is None:
        return None
    known = [asdict(usage) for usage in before if usage is not None]
    rest = {
        name: _rest(value, [one[name] for one in known])
        for name, value in asdict(total).items()
    }
    return Usage(**rest)


def _rest(total: Any, before: Sequence[Any]) -> Any:
    """Return what is left of a total; what nobody states is absent."""
    if total is None:
        return None
    return max(0, total - sum(one for one in before if one is not None))
