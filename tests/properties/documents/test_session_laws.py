"""Reading a session while it grows gives the same result as reading it at the end."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import asdict, replace

from sprintlog.engine.sprint.events import AgentRan, IterationEnded
from sprintlog.engine.sprint.iterations.session_runs import (
    CALLS_MAX,
    runs_of,
    session_ended,
)
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.engine.usage import ModelCall, Usage

from ..history.test_exchange_laws import laws

FIGURES = ("input_tokens", "output_tokens", "cost_usd", "turns", "duration_ms")
STEPS = st.lists(
    st.fixed_dictionaries({name: st.integers(0, 50) for name in (*FIGURES, "tool_calls")}),
    min_size=1,
    max_size=6,
)


def reading(figures: dict[str, int], *, sha256: str, **more: Any) -> AgentRan:
    """Return a transcript with these figures."""
    usage = convert({name: figures[name] for name in FIGURES}, Usage)
    return AgentRan(
        "",
        "completed",
        usage=usage,
        tool_calls=figures["tool_calls"],
        sessions=("s",),
        output_sha256=sha256,
        iteration=1,
        **more,
    )


def grown(steps: list[dict[str, int]]) -> list[dict[str, int]]:
    """Return the figures after each step."""
    names = steps[0]
    return [
        {name: sum(step[name] for step in steps[:end]) for name in names}
        for end in range(1, len(steps) + 1)
    ]


def taken_in(readings: list[AgentRan]) -> list[AgentRan]:
    """Return the runs that are recorded if several reads are imported in turn."""
    runs: list[AgentRan] = []
    for one in readings:
        before = runs_of(one, runs)
        events = session_ended(Sprint("x"), one, before=before, summary=None)
        assert isinstance(events[-1] if events else None, IterationEnded | AgentRan | None)
        runs += [event for event in events if isinstance(event, AgentRan)]
    return runs


def totals(runs: list[AgentRan]) -> dict[str, int]:
    """Return the totals of runs."""
    used = [asdict(run.usage) for run in runs if run.usage is not None]
    found = {name: sum(one[name] or 0 for one in used) for name in FIGURES}
    return found | {"tool_calls": sum(run.tool_calls or 0 for run in runs)}


@laws
@given(STEPS)
def test_in_pieces_it_is_what_it_is_at_once(steps: list[dict[str, int]]) -> None:
    """However often it is read, the recorded figures add up to the session's own."""
    said = grown(steps)
    readings = [reading(one, sha256=f"d{n}") for n, one in enumerate(said)]
    assert totals(taken_in(readings)) == said[-1]


@laws
@given(STEPS)
def test_the_same_reading_again_brings_nothing(steps: list[dict[str, int]]) -> None:
    """Reading it again changes nothing, at each of its lengths."""
    said = grown(steps)
    once = [reading(one, sha256=f"d{n}") for n, one in enumerate(said)]
    twice = [one for one in once for _ in range(2)]
    assert taken_in(once) == taken_in(twice)


@laws
@given(STEPS, st.integers(0, 5))
def test_what_was_run_here_is_never_doubled(
    steps: list[dict[str, int]], number: int
) -> None:
    """A run recorded at its end is subtracted, whatever it printed."""
    said = grown(steps)
    known = said[min(number, len(said) - 1)]
    ran = reading(known, sha256="of its output", command="agent", output="done")
    runs = [ran]
    last = reading(said[-1], sha256="of the transcript")
    events = session_ended(Sprint("x"), last, before=runs_of(last, runs), summary=None)
    runs += [event for event in events if isinstance(event, AgentRan)]
    assert totals(runs) == said[-1]


def test_a_long_session_is_several_events_of_bounded_length() -> None:
    """All its calls are recorded, its figures once, and importing it again adds nothing."""
    count = CALLS_MAX + 1
    call = ModelCall(key="", input_tokens=1, output_tokens=1)
    calls = tuple(replace(call, key=f"{n:016x}") for n in range(count))
    long = reading(dict.fromkeys((*FIGURES, "tool_calls"), count), sha256="a", calls=calls)
    runs = taken_in([long, replace(long, output_sha256="b")])
    assert [len(run.calls) for run in runs] == [CALLS_MAX, 1]
    assert totals(runs)["input_tokens"] == count


def test_another_session_is_nothing_of_it() -> None:
    """Sessions are distinguished by their ids; without an id by their bytes."""
    one = AgentRan("", "completed", sessions=("a",), output_sha256="x")
    other = AgentRan("", "completed", sessions=("b",), output_sha256="x")
    unnamed = AgentRan("", "completed", output_sha256="x")
    assert runs_of(one, [other, unnamed]) == []
    assert runs_of(unnamed, [other]) == [other]
