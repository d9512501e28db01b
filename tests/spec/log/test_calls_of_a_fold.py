"""The number of function calls for folding an event of a long stream."""

import sys
from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest

from sprintlog.engine.log.codec import encode
from sprintlog.engine.log.event import Event
from sprintlog.engine.log.port import Page
from sprintlog.engine.service.streams.catalogue import SPRINTS
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.plan.create import CreateSprint
from sprintlog.engine.sprint.state.sprint import Sprint

AT = "2026-01-15T09:00:00Z"
PHASES = [{"id": "a", "prompt": "do it"}, {"id": "b", "prompt": "do it"}]
NESTED = [{"id": "a", "steps": [{"id": "s", "prompt": "do it"}]}]
TIMES = 200
OF_A_FOLD = 0.1
"""Calls of a fold itself, at its beginning and its end: by event."""


def calls_of_each(events: Sequence[Event], phases: list[dict[str, Any]] = PHASES) -> float:
    """Return how many functions the fold calls for each of the events."""
    made = CreateSprint(plan={"phases": phases}).decide(Sprint("s"), AT)
    begun = [*made, f.SprintStarted(), *events]
    sprint = fold(Sprint("s"), [(n, AT, event) for n, event in enumerate(begun, 1)])
    rows = [(AT, event.type, encode(event)) for event in [*events] * TIMES]
    # The first page creates the decoder of each event type when it first occurs.
    pages = [Page(at := range(n, n + len(rows)), at, rows) for n in (1001, 2001)]
    SPRINTS.fold_rows(sprint, pages[:1], None)
    called: Counter[str] = Counter()

    def count(frame: FrameType, what: str, _: object) -> None:
        called[frame.f_code.co_name] += what == "call"

    sys.setprofile(count)
    try:
        SPRINTS.fold_rows(sprint, pages[1:], None)
    finally:
        sys.setprofile(None)
    return called.total() / len(rows)


@pytest.mark.parametrize(
    ("event", "most"),
    [
        (f.ActivitySeen(), 0),
        (f.PhaseStarted("a", "opus"), 1),
        (f.PhaseCompleted("a", "done"), 3),
        (f.PhaseReopened("a", "again"), 1),
    ],
)
def test_an_event_of_a_phase_takes_few_calls(event: Event, most: int) -> None:
    """Its phase is changed directly, and figures are counted later."""
    assert calls_of_each([event]) <= most + OF_A_FOLD


def test_a_phase_that_goes_round_takes_few_calls() -> None:
    """Repeated completions do not increase the number: only the last one counts."""
    events = [f.PhaseStarted("a"), f.PhaseCompleted("a", "done"), f.PhaseReopened("a")]
    assert calls_of_each(events) <= 4 / 3 + OF_A_FOLD


def test_what_is_above_a_step_takes_more() -> None:
    """The status of its phase is derived, so the test above counts calls."""
    events = [f.PhaseStarted("a/s"), f.PhaseReopened("a/s")]
    assert calls_of_each(events, NESTED) > 4


def test_a_page_with_fewer_rows_than_versions_is_refused() -> None:
    """A store that returns too few events must not produce a wrong version's state."""
    rows = [(AT, f.ActivitySeen.type, b"{}")]
    with pytest.raises(ValueError, match="argument 2 is longer"):
        SPRINTS.fold_rows(Sprint("s"), [Page(range(1, 3), range(1, 3), rows)], None)
