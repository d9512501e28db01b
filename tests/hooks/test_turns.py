"""The turns in a session's events: which event begins, continues and ends a turn."""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.sessions import events as f
from sprintlog.engine.sessions.turns import SessionTurn, turns_of

Dated = tuple[int, str, f.SessionEvent | None]
_TOKEN = re.compile(r"(?P<kind>[a-z]+)(:(?P<word>\w+))?(\.(?P<turn>\w+))?(@(?P<at>\d+))?")


def event_of(kind: str, word: str | None, turn: str | None) -> f.SessionEvent | None:
    """Return the event that a token of a history names; None for an erased one."""
    events: dict[str, f.SessionEvent | None] = {
        "start": f.SessionStarted(word or "startup"),
        "ask": f.PromptGiven(text="do it", turn=turn),
        "task": f.PromptGiven(form=f.TASK_NOTIFICATION, turn=turn),
        "refused": f.PromptGiven(text=f.REFUSED + "2 tests failed", turn=turn),
        "call": f.ToolCalled("Bash", subagent=word, turn=turn),
        "kept": f.ToolCalled("Bash", found_in="transcript"),
        "stop": f.TurnEnded(turn=turn),
        "again": f.TurnEnded(turn=turn, is_again=True),
        "waits": f.TurnEnded(turn=turn, waits_for=1),
        "fail": f.TurnEnded(failed=True, turn=turn),
        "sub": f.SubagentEnded(word or "s"),
        "compact": f.ContextCompacted("manual"),
        "end": f.SessionEnded(word),
        "erased": None,
    }
    return events[kind]


def history(tokens: str | Sequence[str]) -> list[Dated]:
    """Return events, written as KIND:WORD.TURN@SECOND; by default one per second."""
    found: list[Dated] = []
    tokens = tokens.split() if isinstance(tokens, str) else tokens
    for version, token in enumerate(tokens, start=1):
        given = _TOKEN.fullmatch(token)
        assert given is not None, token
        at = f"2026-12-01T10:00:{int(given['at'] or version):02}.000Z"
        found.append((version, at, event_of(given["kind"], given["word"], given["turn"])))
    return found


def shown(turns: Iterable[SessionTurn]) -> str:
    """Return turns as FIRST-ENDED OUTCOME CALLS, separated by commas."""
    return ", ".join(_shown(turn) for turn in turns)


def _shown(turn: SessionTurn) -> str:
    outcome = "running" if turn.ended is None else "unknown"
    if turn.ended is not None and turn.end is not None:
        outcome = "failed" if turn.end.failed else "answered"
    return f"{turn.first}-{turn.ended or ''} {outcome} {turn.calls}"


class Row(NamedTuple):
    """A rule with a history and the turns in it."""

    rule: str
    given: str
    then: str


ROWS = [
    Row("a session without a prompt has no turn", "start end", ""),
    Row(
        "a turn lasts from the prompt to the answer",
        "start ask.a call.a stop.a",
        "2-4 answered 1",
    ),
    Row("a prompt alone is a running turn", "start ask.a", "2- running 0"),
    Row("a failure ends a turn", "ask.a call.a fail.a", "1-3 failed 1"),
    Row(
        "each prompt in a process starts a turn",
        "ask.a stop.a ask.b call.b stop.b",
        "1-2 answered 0, 3-5 answered 1",
    ),
    Row(
        "a resumed session continues in its stream",
        "start ask.a stop.a end start:resume ask.b stop.b end",
        "2-3 answered 0, 6-7 answered 0",
    ),
    Row(
        "after Esc, the next prompt ends the turn",
        "ask.a call.a ask.b stop.b",
        "1-3 unknown 1, 3-4 answered 0",
    ),
    Row(
        "the end of the session ends the turn, as after an API error in Codex",
        "ask.a end",
        "1-2 unknown 0",
    ),
    Row(
        "the next start ends the turn of a process that was killed",
        "ask.a call.a start:resume ask.b",
        "1-3 unknown 1, 4- running 0",
    ),
    # Prompts that start no turn
    Row(
        "a prompt with the id of the running turn was typed during it",
        "ask.a call.a ask.a call.a stop.a",
        "1-5 answered 2",
    ),
    Row(
        "a notification with another id continues the turn",
        "ask.a waits.a task.b call.b stop.b",
        "1-5 answered 1",
    ),
    Row(
        "a notification without a running turn starts one",
        "task.b call.b stop.b",
        "1-3 answered 1",
    ),
    Row(
        "an answer of a turn that still waited is its outcome",
        "ask.a call.a waits.a ask.b stop.b",
        "1-4 answered 1, 4-5 answered 0",
    ),
    Row(
        "a turn that was interrupted after a notification has no outcome",
        "ask.a waits.a task.b call.b ask.c",
        "1-5 unknown 1, 5- running 0",
    ),
    Row(
        "a notification after another prompt belongs to that prompt's turn",
        "ask.a waits.a ask.b waits.b task.c stop.c",
        "1-3 answered 0, 3-6 answered 0",
    ),
    Row(
        "a refused claim continues the turn with the same id",
        "ask.a call.a stop.a call.a again.a",
        "1-5 answered 2",
    ),
    Row(
        "a refused claim that the agent reports as a prompt starts no turn",
        "ask call stop refused call stop",
        "1-6 answered 2",
    ),
    Row(
        "another program's reason as a prompt looks like a person's",
        "ask call stop ask call stop",
        "1-3 answered 1, 4-6 answered 1",
    ),
    # Answers
    Row(
        "calls after an answer continue its turn",
        "ask.a call.a stop.a call.a stop.a",
        "1-5 answered 2",
    ),
    Row(
        "each answer to a goal of the agent ends the turn again",
        "ask.a stop.a again.a again.a",
        "1-4 answered 0",
    ),
    Row(
        "an answer repeated after the person's own command changes nothing",
        "ask.a call.a stop.a stop.a",
        "1-3 answered 1",
    ),
    Row(
        "a call with an unknown id starts a turn without a prompt",
        "ask.a stop.a call.b stop.b call.c stop.c",
        "1-2 answered 0, 3-4 answered 1, 5-6 answered 1",
    ),
    Row(
        "an answer with an unknown id is a turn without a call",
        "ask.a stop.a stop.b",
        "1-2 answered 0, 3-3 answered 0",
    ),
    Row(
        "a call after an interrupted turn without ids starts another",
        "ask end call stop",
        "1-2 unknown 0, 3-4 answered 1",
    ),
    # Subagents and compaction
    Row(
        "subagents belong to the turn that started them",
        "ask.a call:s.a sub:s call.a stop.a",
        "1-5 answered 2",
    ),
    Row(
        "a subagent that ends after the answer does not continue the turn",
        "ask.a call.a stop.a sub",
        "1-3 answered 1",
    ),
    Row(
        "calls of a subagent in the background belong to the waiting turn",
        "ask.a waits.a call:s.a call:s.a task.b stop.b",
        "1-6 answered 2",
    ),
    Row(
        "a compaction continues the turn",
        "ask.a compact start:compact call.a stop.a",
        "1-5 answered 1",
    ),
    Row(
        "a compaction between turns does not start one",
        "ask.a stop.a compact sub start:compact ask.b",
        "1-2 answered 0, 6- running 0",
    ),
    # Late, repeated and erased events
    Row(
        "a late answer does not affect the next turn",
        "ask.a call.a ask.b call.b stop.a@2 call.b stop.b",
        "1-3 answered 1, 3-7 answered 2",
    ),
    Row(
        "a late answer without an id belongs to the turn at its time",
        "ask call ask@5 call@6 stop@4 stop@7",
        "1-3 answered 1, 3-6 answered 1",
    ),
    Row(
        "a late call of a subagent belongs to the earlier turn",
        "ask.a waits.a ask.b call:s.a call.b stop.b",
        "1-3 answered 1, 3-6 answered 1",
    ),
    Row(
        "a late prompt is the prompt of the turn that a call started",
        "call.a ask.a@1 call.a stop.a",
        "1-4 answered 2",
    ),
    Row(
        "a late prompt without an id is that as well",
        "call@2 ask@1 call@3 stop@4",
        "1-4 answered 2",
    ),
    Row(
        "a prompt reported after its answer starts no turn",
        "call.a@2 stop.a@3 ask.a@1",
        "1-2 answered 1",
    ),
    Row(
        "a late call does not continue a turn",
        "ask@1 call@2 stop@4 call@3",
        "1-3 answered 2",
    ),
    Row(
        "a clock that was set back loses no turn",
        "ask@30 stop@40 ask@3 call@4 stop@5",
        "1-2 answered 0, 3-5 answered 1",
    ),
    Row(
        "a late end of the session changes nothing",
        "ask.a stop.a end end",
        "1-2 answered 0",
    ),
    Row(
        "a call found in a transcript starts no turn",
        "kept ask.a kept stop.a kept",
        "2-4 answered 1",
    ),
    Row("an erased call leaves its turn", "ask.a erased stop.a", "1-3 answered 0"),
    Row("erased calls do not start a turn", "erased erased ask.a stop.a", "3-4 answered 0"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.rule)
def test_turns_of_a_history(row: Row) -> None:
    """Each rule on the start and the end of turns holds in its history."""
    assert shown(turns_of(history(row.given))) == row.then


def test_a_turn_has_the_facts_of_its_session() -> None:
    """The first turn has the kind of start; all have the model, and count what happened."""
    given = history("start:resume ask.a call:s.a call:s.a call.a compact stop.a ask.b")
    given[0] = (1, given[0][1], f.SessionStarted("resume", "opus", transcript="~/t.jsonl"))
    first, second = turns_of(given)
    assert (first.how, first.model, first.transcript) == ("resume", "opus", "~/t.jsonl")
    assert (second.how, second.model, second.transcript) == (None, "opus", "~/t.jsonl")
    assert (first.calls, first.subagents, first.compactions) == (3, {"s"}, 1)


KINDS = ["ask", "task", "call", "call:s", "stop", "again", "waits", "fail", "kept"]
TOKENS = st.builds(
    lambda kind, turn, at: f"{kind}{turn}@{at}",
    st.sampled_from(KINDS),
    st.sampled_from(["", ".a", ".b", ".c"]),
    st.integers(1, 9),
) | st.sampled_from(
    ["start", "start:compact", "end", "sub", "compact", "refused", "erased"]
)


@given(st.lists(TOKENS, max_size=30), st.integers(0, 30))
def test_turns_are_in_order_and_complete_at_any_point(tokens: list[str], cut: int) -> None:
    """Turns are ordered and disjoint, contain every call, and stay once another began."""
    events = history(tokens)
    turns = turns_of(events)
    for one, after in pairwise(turns):
        assert one.ended is not None
        assert one.first < after.first
        assert one.first <= one.ended <= after.first
    called = [e for _, _, e in events if isinstance(e, f.ToolCalled) and not e.found_in]
    kept = [e for _, _, e in events if isinstance(e, f.ToolCalled) and e.found_in]
    assert len(called) <= sum(turn.calls for turn in turns) <= len(called) + len(kept)
    before = turns_of(events[:cut])
    known = [(turn.first, turn.ended) for turn in before[:-1]]
    assert known == [(turn.first, turn.ended) for turn in turns[: len(known)]]
    assert [turn.first for turn in before] == [t.first for t in turns[: len(before)]]
