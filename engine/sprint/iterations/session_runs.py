"""Agent sessions recorded by other programs, each converted to an iteration once.

A session is the union of its files: their model and tool calls, each identified by its key,
and the totals that the agent reports. A file adds to the sums only what it adds to the
union, so files can be imported in any order and any number of times.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ...errors import RefusedError
from ...log.event import Event
from ...usage import FIGURES, ModelCall, Usage, lower_bounds, merged, open_figures, summed
from ..events import AgentRan, IterationEnded, IterationStarted
from ..state.sprint import Sprint


def runs_of(session: AgentRan, runs: Sequence[AgentRan]) -> list[AgentRan]:
    """Return the runs that belong to the same session."""
    named = set(session.sessions)
    return [
        run
        for run in runs
        if not named.isdisjoint(run.sessions)
        or (not named and run.output_sha256 == session.output_sha256)
    ]


def check_not_under_way(sprint: Sprint) -> None:
    """Raise `RefusedError` if a session would end the current iteration."""
    last = sprint.plan.last.iteration
    if isinstance(last, IterationStarted) and not last.is_wrapped:
        raise RefusedError(
            f"iteration {last.number} of {sprint.id} is under way; a session would end it",
            hint="run `sprintlog iteration end` to end it, or specify another sprint with "
            "--sprint",
            sprint=sprint.id,
            iteration=last.number,
        )


def session_ended(
    sprint: Sprint,
    session: AgentRan,
    *,
    before: Sequence[AgentRan],
    summary: str | None,
    elsewhere: Collection[str] = (),
) -> list[Event]:
    """Return the events that record a session's activity after the runs in `before`.

    `elsewhere` contains the keys of calls recorded for other sessions, because a session
    that continues another session may start with a copy of it.
    """
    number = session.iteration
    session = _without(session, elsewhere) if elsewhere else session
    if not before:
        ended = [] if number is None else [IterationEnded(number, summary)]
        return [*_parts(session), *ended]
    if (further := _further(session, before)) is None:
        return []
    last = sprint.plan.last.iteration
    # Otherwise, the event would also end an iteration that has started since.
    is_last = isinstance(last, IterationEnded) and last.number == number
    if number is None or not is_last or not _is_newest(session, before):
        return [*_parts(further)]
    return [*_parts(further), IterationEnded(number, summary)]


def _without(session: AgentRan, elsewhere: Collection[str]) -> AgentRan:
    """Return a session without the calls that were recorded for other sessions."""
    own = tuple(one for one in session.calls if one.key not in elsewhere)
    tools = tuple(key for key in session.tools if key not in elsewhere)
    if len(own) == len(session.calls) or session.usage is None:
        return session
    called = (session.tool_calls or 0) - len(session.tools) + len(tools)
    usage = summed(own) if own else Usage(input_tokens=0, output_tokens=0)
    return replace(session, calls=own, usage=usage, tools=tools, tool_calls=called)


CALLS_MAX = 4_000
"""The maximum number of calls in one event; larger sessions require several events."""


def _parts(run: AgentRan) -> Iterator[AgentRan]:
    """Yield a run as events of limited size; all but the first contain only calls."""
    for start in range(0, max(len(run.calls), len(run.tools), 1), CALLS_MAX):
        calls = run.calls[start : start + CALLS_MAX]
        tools = run.tools[start : start + CALLS_MAX]
        yield replace(run, calls=calls, tools=tools, **_NO_FIGURES if start else {})


_NO_FIGURES: dict[str, Any] = {
    **dict.fromkeys(("usage", "tool_calls", "duration_ms")),
    **dict.fromkeys(("output_bytes", "lines", "unknown_lines"), 0),
    **{"settled": {}, "is_rest": True},
}


def used_alone(usage: Usage, before: Sequence[AgentRan]) -> Usage:
    """Return a run's own usage if its agent reports the total of the session.

    `before` contains the session's earlier runs. A total below their sum is the run's own
    usage.
    """
    known = [run.usage for run in before if run.usage is not None]
    for name in _GROWING:
        total, parts = getattr(usage, name), [getattr(one, name) or 0 for one in known]
        if total is not None and total < sum(parts):
            return usage
    return _beyond(usage, known)


_GROWING = ("input_tokens", "output_tokens", "cache_read_tokens")


def of_turn(session: AgentRan, before: Sequence[AgentRan]) -> AgentRan:
    """Return a session's last turn: its figures that no earlier run contains."""
    if not before:
        return session
    if (further := _further(session, before)) is None:
        further = replace(session, **_NO_FIGURES, calls=(), tools=())
    return replace(further, is_rest=False)


def is_stated(run: AgentRan) -> bool:
    """Return whether a run's full usage was reported by the program that ran it.

    An interrupted run reports its input usage while it runs, but never its output usage.
    """
    if (usage := run.usage) is None or run.found_in is not None or run.turn is not None:
        return False
    return usage.cost_usd is not None or "output_tokens" not in open_figures(usage)


def recovered(session: AgentRan, *, before: Sequence[AgentRan]) -> list[Event]:
    """Return the events for session usage that nothing else has reported."""
    if session.usage is None:
        return []
    further = _further(session, before) if before else session
    if further is None:
        return []
    is_rest = session.is_rest or any(run.found_in is not None for run in before)
    return [*_parts(replace(further, is_rest=is_rest))]


def _further(session: AgentRan, before: Sequence[AgentRan]) -> AgentRan | None:
    """Return the part of a session that is not recorded yet, or None.

    For a run that sprintlog observed, lines and bytes are counts of the command's output,
    so only earlier imports of the transcript are subtracted.
    """
    if any(run.output_sha256 == session.output_sha256 for run in before):
        return None
    read = [run for run in before if run.output_sha256 and not run.output]
    known = _union(call for run in before for call in run.calls)
    union = _union([*known.values(), *session.calls])
    fresh = tuple(call for key, call in union.items() if known.get(key) != call)
    seen = {key for run in before for key in run.tools}
    tools = tuple(key for key in session.tools if key not in seen)
    if (called := session.tool_calls) is not None:
        called = max(called, len(seen) + len(tools))
    whole = _whole([*union.values()], session.usage)
    usage = _beyond(whole, [run.usage for run in before if run.usage is not None])
    bounds, settled = _marks(whole, before)
    calls = _rest(called, [run.tool_calls for run in before])
    used = any(getattr(usage, name) for name in FIGURES)
    is_newest = _is_newest(session, before)
    turned = is_newest and bool(read) and read[-1].status != session.status
    if not (used or calls or turned or fresh or tools or bounds or settled):
        return None
    # Calls that a run reported without their ids do not change the run's outcome.
    is_last = is_newest if read else used
    return replace(
        session,
        **{} if is_last else {n: getattr((read or before)[-1], n) for n in _OUTCOME},
        usage=replace(usage, at_least=bounds),
        tool_calls=calls,
        duration_ms=_rest(whole.duration_ms, [run.duration_ms for run in before]) or None,
        output_bytes=_rest(session.output_bytes, [run.output_bytes for run in read]) or 0,
        lines=_rest(session.lines, [run.lines for run in read]) or 0,
        unknown_lines=_rest(session.unknown_lines, [r.unknown_lines for r in read]) or 0,
        calls=fresh,
        tools=tools,
        settled=settled,
        is_rest=True,
    )


_OUTCOME = ("status", "error", "error_kind", "limit", "last_at")


def _union(calls: Iterable[ModelCall]) -> dict[str, ModelCall]:
    """Return the calls by key, merging all records of the same call."""
    found: dict[str, ModelCall] = {}
    for call in calls:
        if (other := found.get(call.key)) is not None:
            model = other.model or call.model
            call = ModelCall(key=call.key, model=model, **merged(other, call))
        found[call.key] = call
    return found


def _whole(calls: Sequence[ModelCall], stated: Usage | None) -> Usage:
    """Return a session's usage: the sum of its calls, or its reported totals if larger."""
    if not calls:
        return stated or Usage()
    total = summed(calls)
    figures = merged(total, stated or Usage())
    bounds = [name for name in total.at_least if figures[name] == getattr(total, name)]
    return Usage(**figures, at_least=tuple(bounds))


def _marks(
    whole: Usage, before: Sequence[AgentRan]
) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the figures that become lower bounds, and the settled figures of earlier runs.

    A settled figure is mapped to the number of earlier runs for which it is now fully
    known.
    """
    marked: Counter[str] = Counter()
    for run in before:
        marked.update(lower_bounds(run.usage) if run.is_rest else open_figures(run.usage))
        marked.subtract(run.settled)
    # A run that reports its full usage reports its calls without their ids.
    is_stated = any(not run.is_rest and not run.calls for run in before)
    still = open_figures(whole)
    bounds = () if is_stated else tuple(sorted(n for n in still if marked[n] <= 0))
    return bounds, {n: x for n, x in sorted(marked.items()) if x > 0 and n not in still}


def _is_newest(session: AgentRan, before: Sequence[AgentRan]) -> bool:
    """Return whether a session file is the newest, judged by its last line or its size."""
    latest = max((run.last_at for run in before if run.last_at is not None), default=None)
    if latest is None and session.last_at is None:
        read = [run.output_bytes for run in before if run.output_sha256 and not run.output]
        return session.output_bytes >= sum(read)
    return latest is None or (session.last_at is not None and session.last_at >= latest)


def _beyond(total: Usage, before: Sequence[Usage]) -> Usage:
    rest = {
        name: _rest(getattr(total, name), [getattr(one, name) for one in before])
        for name in FIGURES
    }
    return Usage(**rest)


def _rest(total: Any, before: Sequence[Any]) -> Any:
    """Return the part of a total not yet counted; None if the total is unknown."""
    if total is None:
        return None
    left = total - sum(one for one in before if one is not None)
    return max(0, left if isinstance(left, int) else round(left, 9))
