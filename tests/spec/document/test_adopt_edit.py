"""The events created from an edit, and the remaining differences."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from sprintlog.engine.errors import RefusedError
from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.events import EditAdopted
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.plan.adoption import AdoptEdit
from sprintlog.engine.sprint.state.patch import diff

from ..conftest import Scenario, simple

AT = "2026-01-15T09:30:00Z"
WHY = "adopted from an edit of PROGRESS.yaml"
Edit = Callable[[Any], object]


@pytest.fixture
def worked(running: Any) -> Scenario:
    """Return a sprint in which `a` is completed, `b` runs and `c` waits."""
    scenario: Scenario = running(simple("a", "b", "c"))
    scenario.do(leaves.StartPhase()).do(leaves.CompletePhase())
    return scenario.do(leaves.StartPhase())


def edited(scenario: Scenario, edit: Edit, *, later: Edit | None = None) -> list[Event]:
    """Return the decision on adopting an edit of the document."""
    base = deepcopy(scenario.document)
    theirs = deepcopy(base)
    edit(theirs)
    if later is not None:
        later(scenario)
    observed = f.EditObserved("PROGRESS.yaml", "ab", "kept", 5, diff(base, theirs))
    return AdoptEdit(edit=6, observed=observed, base=base, by="operator:ana").decide(
        scenario.sprint, AT
    )


def put(index: int, **fields: Any) -> Edit:
    """Return an edit of one phase."""
    return lambda document: document["phases"][index].update(fields)


STATUSES: list[tuple[Edit, list[Event]]] = [
    (put(1, status="completed", summary="by hand"), [f.PhaseCompleted("b", "by hand")]),
    (put(2, status="completed"), [f.PhaseStarted("c"), f.PhaseCompleted("c")]),
    (put(2, status="in-progress"), [f.PhaseStarted("c")]),
    (put(2, status="skipped"), [f.PhaseSkipped("c", WHY)]),
    (
        put(1, status="blocked", error="no key"),
        [f.PhaseBlocked("b", "no key"), f.SprintBlocked("phase b is blocked: no key")],
    ),
    (put(0, status="pending"), [f.PhaseReopened("a", WHY)]),
    (put(0, status="skipped"), [f.PhaseReopened("a", WHY), f.PhaseSkipped("a", WHY)]),
    (lambda d: d.update(status="paused"), [f.SprintPaused(WHY)]),
    (lambda d: d.update(status="blocked"), [f.SprintBlocked(WHY)]),
]


@pytest.mark.parametrize(("edit", "events"), STATUSES)
def test_statuses_go_by_commands(worked: Scenario, edit: Edit, events: list[Event]) -> None:
    """A status is reached by the fewest commands that lead there."""
    *found, adopted = edited(worked, edit)
    assert found == events
    assert isinstance(adopted, EditAdopted)
    assert (adopted.edit, adopted.digest, adopted.left) == (6, "ab", ())
    assert len(adopted.adopted) == 1


def test_a_stop_comes_after_what_was_done(worked: Scenario) -> None:
    """An edit that completes and pauses has both effects, in a valid order."""

    def edit(document: Any) -> None:
        document["status"] = "paused"
        put(1, status="completed")(document)

    assert [event.type for event in edited(worked, edit)] == [
        "phase-completed",
        "sprint-paused",
        "edit-adopted",
    ]


def test_going_on_comes_first(worked: Scenario) -> None:
    """An edit that both continues a stopped sprint and completes it has both effects."""
    worked.do(lifecycle.BlockSprint(reason="x"))

    def edit(document: Any) -> None:
        document["status"] = "in-progress"
        put(1, status="completed")(document)

    assert edited(worked, edit)[:2] == [
        f.SprintResumed("operator:ana", WHY),
        f.PhaseCompleted("b"),
    ]


def test_other_fields_come_as_a_patch(worked: Scenario) -> None:
    """Third-party prompts and keys are changed, added and removed by one patch."""

    def edit(document: Any) -> None:
        put(2, prompt="Do c well", owner="ana")(document)
        document["team"] = ["ana", "bob"]
        document["stats"]["max-iterations"] = 7

    patch, adopted = edited(worked, edit)
    assert isinstance(patch, f.SprintImported)
    assert {op["path"] for op in patch.patch or []} == {
        "/team",
        "/stats/max-iterations",
        "/phases/2/prompt",
        "/phases/2/owner",
    }
    assert isinstance(adopted, EditAdopted)
    assert sorted(adopted.adopted) == [
        "c/owner",
        "c/prompt",
        "stats/max-iterations",
        "team",
    ]


def test_new_phases_are_injected(worked: Scenario) -> None:
    """A new node is injected at its position, and gets its status."""

    def edit(document: Any) -> None:
        new = {"id": "x", "prompt": "Do x", "status": "skipped", "started-at": AT}
        document["phases"].insert(1, new)

    injected, skipped, _ = edited(worked, edit)
    assert isinstance(injected, f.PhaseInjected)
    assert injected.position == f.InjectionPosition("after", "a")
    assert injected.nodes == [{"id": "x", "status": "pending", "prompt": "Do x"}]
    assert skipped == f.PhaseSkipped("x", WHY)


LEFT: list[tuple[Edit, str]] = [
    (lambda d: d["current"].update(phase=2), "current: is derived"),
    (lambda d: d["stats"].update({"completed-phases": 3}),
     "stats/completed-phases: is derived"),
    (lambda d: d.update({"last-activity": AT}), "last-activity: is derived"),
    (lambda d: d["phases"].pop(), "c: nodes are skipped, not removed"),
    (lambda d: d["phases"].reverse(), "phases: the order is not changed"),
    (lambda d: d["phases"].append({"prompt": "x"}), "#3: needs an id and a status"),
    (put(1, status="done"), "b: needs an id and a status"),
    (put(1, status="pending"), "b/status: no command leads there"),
    (lambda d: d.update(status="completed"), "status: sprint s is not finished"),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "reason"), LEFT)
def test_what_cannot_become_a_event_is_said(
    worked: Scenario, edit: Edit, reason: str
) -> None:
    """Derived fields, removed nodes and invalid changes are left, each with its reason."""
    with pytest.raises(RefusedError) as refused:
        edited(worked, edit)
    assert reason.split(":")[0] in refused.value.message
    assert reason.split(": ")[1].split(" ")[0] in refused.value.message

    def both(document: Any) -> None:
        put(2, owner="ana")(document)
        edit(document)

    if "not removed" in reason or "order" in reason:
        return
    *_, adopted = edited(worked, both)
    assert isinstance(adopted, EditAdopted)
    assert any(left.startswith(reason.split(":")[0]) for left in adopted.left)


def test_what_changed_here_since_stays(worked: Scenario) -> None:
    """A field changed on both sides is omitted; an equal one is not a difference."""
    later: Edit = lambda s: s.do(leaves.CompletePhase(phase="b"))  # noqa: E731
    assert edited(worked, put(1, status="completed"), later=later) == []


def test_a_conflict_is_left(worked: Scenario) -> None:
    """A later decision here prevails over the edit."""
    later: Edit = lambda s: s.do(leaves.SkipPhase(phase="c"))  # noqa: E731
    with pytest.raises(RefusedError, match="c/status: was changed here too"):
        edited(worked, put(2, status="in-progress"), later=later)


def test_an_edit_that_cannot_be_read(worked: Scenario) -> None:
    """Bytes that are no document are refused with the reason that is known."""
    torn = f.EditObserved("PROGRESS.yaml", "ab", "kept", 5, None, "line 3: no YAML")
    with pytest.raises(RefusedError, match="line 3: no YAML"):
        AdoptEdit(edit=6, observed=torn, base={}, by="x").decide(worked.sprint, AT)


def test_nothing_is_changed_by_deciding(worked: Scenario) -> None:
    """The sprint used for the decision is unchanged."""
    before = worked.bytes()
    edited(worked, put(1, status="completed"))
    assert worked.bytes() == before


def test_a_sprint_goes_on_although_a_leaf_stopped_it_again(worked: Scenario) -> None:
    """An edit's sprint status holds at the end, and only then counts as adopted."""
    worked.do(lifecycle.BlockSprint(reason="x"))

    def edit(document: Any) -> None:
        document["status"] = "in-progress"
        document["phases"][1].update(status="blocked", error="no key")

    *events, adopted = edited(worked, edit)
    assert isinstance(adopted, EditAdopted)
    assert (adopted.adopted, adopted.left) == (("b/status", "status"), ())
    assert worked.when(lambda sprint, at: [*events, adopted]).go().status == "in-progress"


def test_a_sprint_goes_on_although_its_last_leaf_ended_it(
    running: Callable[[Any], Scenario],
) -> None:
    """So it does if the edit completes the last leaf, at a breakpoint, of an ended one."""
    scenario = running(simple("a", **{"break": True})).do(leaves.StartPhase())
    ended = [{"op": "replace", "path": "/status", "value": "completed"}]
    scenario.when(lambda sprint, at: [f.SprintImported("x", patch=ended)]).go()

    def edit(document: Any) -> None:
        document["status"] = "in-progress"
        document["phases"][0]["status"] = "completed"

    events = edited(scenario, edit)
    assert scenario.when(lambda sprint, at: events).go().status == "in-progress"
