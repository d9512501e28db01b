"""Any answer of an agent is read within limits, queued once, and decides nothing."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sprintlog.engine.log.codec import encode
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.answers import items as s
from sprintlog.engine.sprint.answers.items import read_said
from sprintlog.engine.sprint.queue.returns import events_from_items
from sprintlog.engine.sprint.state.words import PRIORITIES, REQUEST_TYPES
from tests.spec.conftest import Scenario, simple

WORDS = (*PRIORITIES, *REQUEST_TYPES, "urgent", "", " ", "a", "b\nc", "req-1", "step-0")
NEEDED = ("title", "priority", "type")
OTHERS = ("description", "id", "context", "prompt", "step", "model", "insertAfter")
KEYS = (*NEEDED, *OTHERS, "reasoning", "content", "status", "decision")
TEXT = st.sampled_from(WORDS) | st.text(max_size=20)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | TEXT, inner, max_size=6)
    ),
    max_leaves=12,
)
ITEM = ANY | st.fixed_dictionaries(
    {
        "title": TEXT,
        "priority": st.sampled_from(PRIORITIES) | ANY,
        "type": st.sampled_from(REQUEST_TYPES) | ANY,
    },
    optional=dict.fromkeys(OTHERS, ANY),
)
NAMES = (*sorted(s.KEYS), *s.STEPS_DONE, *s.STEPS_OPEN, "status")
ANSWER = st.dictionaries(st.sampled_from(NAMES), st.lists(ITEM, max_size=6) | ANY)
PLANS = (simple("a", "b"), {**simple("a"), "mode": "ralph", "goal": "Win"})


@given(ANSWER, st.sampled_from(PLANS))
def test_any_answer_is_taken_and_decides_nothing(
    own: dict[str, object], plan: dict[str, object]
) -> None:
    """Any answer is accepted and recorded without changing a phase, and only once."""
    scenario = Scenario().given(plan, f.SprintStarted(), f.PhaseStarted("a"))
    before = msgspec.json.encode(scenario.sprint.plan.document["phases"])
    said = read_said(own)
    scenario.do(lambda sprint, at: events_from_items(sprint, said, at))
    assert all(len(encode(event)) < 2**20 for event in scenario.decided or ())
    assert msgspec.json.encode(scenario.sprint.plan.document["phases"]) == before
    assert {entry["status"] for entry in scenario.sprint.queue} <= {"pending"}
    queue = scenario.sprint.queue
    scenario.do(lambda sprint, at: events_from_items(sprint, said, at))
    assert scenario.sprint.queue == queue
