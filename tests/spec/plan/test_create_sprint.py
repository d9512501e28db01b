"""A new plan: its required fields, and the resulting document."""

from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.sprint.events import NoteAdded, Place, Source, SprintCompiled
from sprintlog.engine.sprint.plan.create import CreateSprint, check_sprint_id
from sprintlog.engine.sprint.state.document_fields import NOT_LEFT
from sprintlog.engine.sprint.state.sprint import Sprint

from ..conftest import Data, Scenario, for_each, simple


def made(plan: Data, **arguments: Any) -> Data:
    """Return the document that a new sprint `s` gets from a plan."""
    events = CreateSprint(plan=plan, **arguments).decide(
        Sprint("s"), "2026-01-15T09:00:00Z"
    )
    assert len(events) == 1
    assert isinstance(events[0], SprintCompiled)
    return events[0].document


def test_fills_in_what_has_not_happened_yet() -> None:
    """A new document has all five fields, with every phase pending (SPR-001)."""
    assert made({"phases": [{"id": "a", "prompt": "Do a"}]}) == {
        "sprint-id": "s",
        "status": "not-started",
        "phases": [{"id": "a", "status": "pending", "prompt": "Do a"}],
        "current": {"phase": 0, "step": None, "sub-phase": None},
        "stats": {
            "started-at": None,
            "completed-at": None,
            "total-phases": 1,
            "completed-phases": 0,
        },
    }


def test_writes_keys_in_the_documents_order() -> None:
    """Keys are in the order of the specification's examples."""
    document = made({"phases": [for_each("a", x=("y",))]}, max_iterations=30)
    assert list(document) == ["sprint-id", "status", "phases", "current", "stats"]
    step = document["phases"][0]["steps"][0]
    assert list(step) == ["id", "prompt", "status", "phases"]
    assert list(step["phases"][0]) == ["id", "status", "prompt"]
    assert list(document["stats"])[-3:] == [
        "total-steps",
        "completed-steps",
        "max-iterations",
    ]


def test_points_into_a_for_each_phase_at_once() -> None:
    """The pointer of a new plan is its first leaf."""
    document = made({"phases": [for_each("a", x=("y",))]})
    assert document["current"] == {"phase": 0, "step": 0, "sub-phase": 0}


def test_keeps_unknown_keys_in_their_place() -> None:
    """Unknown keys keep their position in the plan."""
    plan = {"owner": {"b": 1, "a": 2}, **simple("a", zeta=1, alpha=[1.0])}
    document = made(plan)
    assert list(document)[:4] == ["sprint-id", "status", "owner", "phases"]
    assert list(document["owner"]) == ["b", "a"]
    assert list(document["phases"][0]) == ["id", "status", "prompt", "zeta", "alpha"]


def test_leaves_the_given_plan_as_it_is() -> None:
    """A decision does not change its arguments."""
    plan = simple("a")
    made(plan)
    assert plan == simple("a")


def test_keeps_place_and_sources(given: Any) -> None:
    """The place of the file and its sources are part of the event."""
    place = Place("sprints/x/PROGRESS.yaml", "tree")
    sources = (Source("SPRINT.yaml", "0" * 64), Source("workflow.yaml"))
    scenario: Scenario = given().when(
        CreateSprint(plan=simple("a"), place=place, sources=sources)
    )
    event = SprintCompiled(made(simple("a")), place, sources)
    assert scenario.then(event).sprint.plan.place == place


def test_accepts_the_same_plan_twice(given: Any) -> None:
    """Creating a sprint with the same content again records nothing."""
    given(simple("a")).when(CreateSprint(plan=simple("a"))).then_nothing()


def test_refuses_another_plan_under_the_id(given: Any) -> None:
    """Creating a sprint with other content is refused."""
    given(simple("a")).when(CreateSprint(plan=simple("b"))).then_refused(
        containing="sprint s already exists", command="create"
    )


def test_refuses_once_something_has_happened(given: Any) -> None:
    """After other events, the same plan is no longer a repetition."""
    scenario: Scenario = given(simple("a"), NoteAdded("hello"))
    scenario.when(CreateSprint(plan=simple("a"))).then_refused(containing="already")


def test_takes_a_ralph_plan_without_phases() -> None:
    """In Ralph mode a document has no phases, pointer 0, totals 0 (SPR-079)."""
    document = made({"mode": "ralph", "goal": "Win"})
    assert "phases" not in document
    assert document["current"] == {"phase": 0, "step": None, "sub-phase": None}
    assert document["stats"]["total-phases"] == 0


@pytest.mark.parametrize(
    ("phases", "field"),
    [
        ([], "phases"),
        (None, "phases"),
        ("text", "phases"),
        (["text"], "phases[0]"),
        ([{"prompt": "p"}], "phases[0].id"),
        ([{"id": "", "prompt": "p"}], "phases[0].id"),
        ([{"id": 7, "prompt": "p"}], "phases[0].id"),
        ([{"id": "a\n", "prompt": "p"}], "phases[0].id"),
        ([{"id": "a" * 129, "prompt": "p"}], "phases[0].id"),
        ([{"id": "a"}], "phases[0]"),
        ([{"id": "a", "prompt": "p", "steps": []}], "phases[0]"),
        ([{"id": "a", "prompt": "p"}, {"id": "a", "prompt": "p"}], "phases[1].id"),
        ([{"id": "a", "prompt": "p", "status": "completed"}], "phases[0].status"),
        ([{"id": "a", "steps": None}], "phases[0].steps"),
        ([{"id": "a", "steps": [{"id": "x"}]}], "phases[0].steps[0].prompt"),
        (
            [{"id": "a", "steps": [{"id": "x", "prompt": "p", "phases": [{"id": "y"}]}]}],
            "phases[0].steps[0].phases[0].prompt",
        ),
    ],
)
def test_refuses_naming_the_bad_field(phases: Any, field: str) -> None:
    """A plan that breaks a rule is refused with the path of its field."""
    with pytest.raises(RefusedError) as caught:
        made({"phases": phases})
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"status": "in-progress"}, "status"),
        ({"stats": {"started-at": "2026-01-15T09:00:00Z"}}, "stats.started-at"),
        ({"stats": {"current-iteration": 5}}, "stats.current-iteration"),
    ],
)
def test_refuses_a_plan_that_has_begun(plan: Data, field: str) -> None:
    """A sprint with progress is imported, not created, so that no number is reused."""
    with pytest.raises(RefusedError, match="has started") as caught:
        made({**simple("a"), **plan})
    assert caught.value.fields["field"] == field


def test_lets_cousins_share_an_id() -> None:
    """Sub-phase ids may repeat from step to step."""
    document = made({"phases": [for_each("a", x=("y",), z=("y",))]})
    assert document["stats"]["total-steps"] == 2


@pytest.mark.parametrize("identity", ["a/b", "a\\b", ".", "..", "-x", "", None, "a\x00"])
def test_refuses_sprint_ids_unsafe_in_paths(identity: object) -> None:
    """A sprint's id is used in file names, so it has no slash and is not a dot."""
    with pytest.raises(RefusedError) as caught:
        check_sprint_id(identity)
    assert caught.value.fields["field"] == "sprint-id"


def test_refuses_to_create_a_sprint_with_such_an_id() -> None:
    """The id is checked for every way to create a sprint."""
    with pytest.raises(RefusedError, match="slash"):
        CreateSprint(plan=simple("a")).decide(Sprint("a/b"), "2026-01-15T09:00:00Z")


@pytest.mark.parametrize("settings", [{}, {"ralph": {"min-iterations": 2}}])
def test_fills_in_what_a_goal_needs(given: Any, settings: Data) -> None:
    """A plan in Ralph mode has all fields of that mode, whatever its source (LOOP-003)."""
    plan: Data = {"mode": "ralph", "goal": "Win", **settings, **simple("a")}
    document = given(plan).document
    ralph = {"idle-threshold": 3, **settings.get("ralph", {})}
    assert document["ralph"] == ralph
    assert document["ralph-exit"] == NOT_LEFT
    assert (document["dynamic-steps"], document["hook-tasks"]) == ([], [])


def test_refuses_a_goal_that_says_nothing(given: Any) -> None:
    """A plan in Ralph mode requires a goal."""
    scenario: Scenario = given()
    scenario.when(CreateSprint(plan={"mode": "ralph", **simple("a")}))
    scenario.then_refused(field="goal")
