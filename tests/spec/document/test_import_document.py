"""Documents of other tools: accepted unchanged, contradictions included."""

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.phases import leaves, lifecycle
from sprintlog.engine.sprint.plan.create import ImportDocument
from sprintlog.engine.sprint.plan.imported_documents import contradictions

from ..conftest import Data, Scenario, for_each, simple

ODD: Data = {
    "title": "Ours",
    "status": "in-progress",
    "stats": {"total-phases": 9, "completed-phases": 7, "odd": 1.0},
    "phases": [
        {"status": "pending", "id": "a", "zeta": None, "prompt": "x"},
        {"id": "no status", "prompt": "x"},
        {"status": "pending", "prompt": "no id"},
        "not even a mapping",
        {
            "id": "p",
            "status": "completed",
            "steps": [{"id": "s", "status": "in-progress", "phases": [{"id": "i"}]}],
        },
    ],
    "current": {"phase": 4, "step": 0, "sub-phase": None},
}

EMPTY: Data = {"id": "e", "steps": []}


def take(scenario: Scenario, document: Data) -> Scenario:
    """Import a document, as far as it differs."""
    return scenario.do(ImportDocument(document=deepcopy(document), source="PROGRESS.yaml"))


def test_reproduces_what_it_took(given: Any) -> None:
    """A document is reproduced exactly: order, unknown keys, contradictions."""
    scenario = take(given(), ODD)
    assert scenario.bytes() == msgspec.json.encode(ODD)
    assert scenario.decided == [f.SprintImported("PROGRESS.yaml", document=ODD)]


def test_records_nothing_for_the_same_document(given: Any) -> None:
    """Importing the same document again records nothing."""
    scenario = take(given(), ODD)
    scenario.when(ImportDocument(document=ODD, source="x")).then_nothing()


def test_records_the_difference_to_the_next(given: Any) -> None:
    """A later version is recorded as the patch that leads to it."""
    later = {**deepcopy(ODD), "title": "Theirs"}
    scenario = take(take(given(), ODD), later)
    patch = [{"op": "replace", "path": "/title", "value": "Theirs"}]
    assert scenario.decided == [f.SprintImported("PROGRESS.yaml", patch=patch)]


@pytest.mark.parametrize("touch", [None, f.ActivitySeen(), f.PhaseStarted("a")])
def test_gives_each_version_back_exactly(given: Any, touch: Any) -> None:
    """Versions are reproduced byte for byte, whatever was recorded between them."""
    scenario: Scenario = given()
    first = {**deepcopy(ODD), "last-activity": "2026-01-15T08:00:00Z"}
    second = {**dict(reversed(first.items())), "stats": {"odd": 1, "elapsed": "x"}}
    third: Data = {"phases": [*first["phases"][::-1], {"id": "new"}], "status": "paused"}
    for minute, version in enumerate((first, second, third, first)):
        take(scenario.at(f"2026-01-15T09:0{minute}:00Z"), version)
        assert scenario.bytes() == msgspec.json.encode(version)
        scenario.given(touch)


def test_leaves_alone_what_did_not_change(given: Any) -> None:
    """Derived fields stay as shown if they were returned unchanged."""
    begun = {**ODD, "stats": {"started-at": "2026-01-15T08:00:00Z"}}
    scenario = take(given(), begun).do(leaves.StartPhase(phase="a"))
    edited = {**deepcopy(scenario.document), "title": "Edited"}
    take(scenario.at("2026-01-15T15:00:00Z"), edited)
    assert scenario.bytes() == msgspec.json.encode(edited)
    assert scenario.document["last-activity"] == "2026-01-15T09:00:00Z"


def test_derives_nothing_before_our_own_event(given: Any) -> None:
    """Notes and third-party edits are not regular events: nothing is derived again."""
    scenario = take(given(), ODD).given(f.NoteAdded("x"))
    scenario.given(f.EditObserved("PROGRESS.yaml", "00", "kept", 1))
    assert scenario.bytes() == msgspec.json.encode(ODD)


def test_derives_figures_from_the_first_event(given: Any) -> None:
    """Pointer and figures are derived from our first event on."""
    scenario = take(given(), ODD).given(f.ActivitySeen())
    assert scenario.document["current"] == {"phase": 0, "step": None, "sub-phase": None}
    assert scenario.document["stats"] == {
        "total-phases": 2,
        "completed-phases": 1,
        "odd": 1.0,
        "total-steps": 1,
        "completed-steps": 0,
    }
    assert list(scenario.document) == list(ODD)
    assert scenario.document["phases"] == ODD["phases"]


def test_derives_the_parents_an_event_touches(given: Any) -> None:
    """Only the path from the leaf to the top is derived; siblings are unchanged."""
    wrong = {"status": "completed", "prompt": "x"}
    phase = for_each("p", x=("i", "j"), y=("i",))
    for step in phase["steps"]:
        step.update(wrong)
        for leaf in step["phases"]:
            leaf["status"] = "in-progress"
    phase["status"] = "pending"
    document = {"status": "in-progress", "phases": [phase, {**phase, "id": "q"}]}
    scenario = take(given(), document).do(leaves.CompletePhase(phase="p/x/i"))
    assert scenario.node("p/x")["status"] == "in-progress"
    assert scenario.node("p")["status"] == "in-progress"
    assert scenario.node("p/y")["status"] == "completed"
    assert scenario.node("q")["status"] == "pending"


def test_corrects_the_top_above_a_right_step(given: Any) -> None:
    """A contradiction in a parent is corrected even if the step's status was right."""
    phase = for_each("p", x=("i", "j"))
    phase["steps"][0]["status"] = "in-progress"
    for leaf in phase["steps"][0]["phases"]:
        leaf["status"] = "in-progress"
    document = {"status": "in-progress", "phases": [{**phase, "status": "pending"}]}
    scenario = take(given(), document).do(leaves.CompletePhase(phase="p/x/i"))
    assert scenario.node("p")["status"] == "in-progress"


def test_shows_missing_figures_in_one_order(given: Any) -> None:
    """A pointer and figures that were missing always come last."""
    document = {"status": "in-progress", **simple("a", status="pending")}
    scenario = take(given(), document).given(f.ActivitySeen())
    assert list(scenario.document) == ["status", "phases", "current", "stats"]
    assert list(scenario.document) == ["status", "phases", "current", "stats"]


@pytest.mark.parametrize("address", ["no status", "#1", "#2"])
def test_lets_inert_nodes_be(given: Any, address: str) -> None:
    """A node without an id or status keeps its position and has no function."""
    scenario = take(given(), ODD)
    scenario.when(leaves.StartPhase(phase=address)).then_refused(
        containing="has no id or no status, so it is ignored", phase=address
    )


def test_counts_no_steps_of_inert_phases(given: Any) -> None:
    """A step below an inert phase is active, but is not a top phase."""
    step = {"id": "s", "status": "completed", "prompt": "x"}
    document = {"status": "in-progress", "phases": [{"steps": [step]}]}
    scenario = take(given(), document).given(f.ActivitySeen())
    stats = scenario.document["stats"]
    assert (stats["total-phases"], stats["completed-phases"]) == (0, 0)
    assert (stats["total-steps"], stats["completed-steps"]) == (1, 1)


def test_finds_the_twin_that_takes_part(given: Any) -> None:
    """Of two nodes with one id, an inert one does not hide the other."""
    document = {"status": "in-progress", **simple("a", "a")}
    document["phases"][1]["status"] = "pending"
    take(given(), document).do(leaves.StartPhase(phase="a"))


def test_addresses_a_second_twin_by_index(given: Any) -> None:
    """Of two nodes with one id, the later one is addressed by its index."""
    document = {"status": "in-progress", **simple("a", "a", status="pending")}
    scenario = take(given(), document).given(f.PhaseSkipped("a"))
    scenario.when(leaves.StartPhase()).then(f.PhaseStarted("#1"))
    assert [p["status"] for p in scenario.document["phases"]] == ["skipped", "in-progress"]


def test_forgets_commands_from_before(given: Any) -> None:
    """After another document was imported, an earlier command is not a repetition."""
    document = {"status": "in-progress", **simple("a", status="pending")}
    scenario = take(given(), document).do(lifecycle.PauseSprint())
    take(scenario, {**document, "status": "paused"})
    scenario.when(lifecycle.PauseSprint()).then_refused(state="paused")


def test_reads_an_unknown_status_as_not_started(given: Any) -> None:
    """A sprint with an unknown status can be started, and keeps the status."""
    scenario = take(given(), {**simple("a", status="pending"), "status": "odd"})
    assert scenario.status == "odd"
    assert scenario.do(lifecycle.StartSprint()).status == "in-progress"


def test_reports_what_contradicts_the_rules() -> None:
    """`import` and `verify` can list differences between a document and its derivation."""
    assert contradictions(ODD) == [
        "#1 has no id or no status and takes no part",
        "#2 has no id or no status and takes no part",
        "p/s/#0 has no id or no status and takes no part",
        "p is completed, its children say in-progress",
        "stats.total-phases is 9, the tree says 2",
        "stats.completed-phases is 7, the tree says 1",
        "current is 4/0/null, the first open leaf is 0/null/null",
    ]


def test_reports_phases_of_neither_kind() -> None:
    """A top phase must be either simple or for-each."""
    both = {"id": "b", "status": "pending", "prompt": "x", "steps": []}
    twins = [both, {"id": "n", "status": "pending"}, {**both, "id": "n"}]
    assert contradictions({"phases": twins}) == [
        "b has both a prompt and steps",
        "n has neither a prompt nor steps",
        "#2 has both a prompt and steps",
        "#2 has the id of a sibling",
        "current is missing, the first open leaf is 0/null/null",
    ]


def test_reports_nothing_about_our_own(running: Any) -> None:
    """A document that we wrote contradicts nothing."""
    scenario: Scenario = running(
        {"phases": [for_each("p", x=("i", "j")), *simple("z")["phases"]]}
    )
    scenario.do(leaves.StartPhase()).do(leaves.CompletePhase()).do(leaves.StartPhase())
    assert contradictions(scenario.document) == []


def test_reports_without_changing_anything() -> None:
    """Looking for contradictions changes nothing in the document."""
    document = {"status": "in-progress", "phases": [{**EMPTY, "status": "pending"}]}
    before = deepcopy(document)
    assert contradictions(document) != []
    assert document == before


def test_reports_values_that_no_rule_allows() -> None:
    """Invalid times, ids that are paths, and NULs are reported and stored."""
    document: Data = {
        "status": "in-progress",
        "phases": [
            {"id": "..", "status": "pending", "prompt": "x"},
            {"id": "/etc/passwd", "status": "pending", "prompt": "a\0b"},
            {"id": "a", "status": "pending", "prompt": "x", "started-at": "2026-02-30"},
        ],
        "per-iteration-hooks": [{"id": "h", "command": "a\0b"}],
        "stats": {"completed-at": "yesterday"},
    }
    found = contradictions(document)
    assert [said for said in found if "current" not in said] == [
        ".. has an id that would lead elsewhere: ..",
        "~1etc~1passwd has an id that would lead elsewhere: /etc/passwd",
        "~1etc~1passwd has a prompt with a NUL, which no agent can be given",
        "a.started-at is '2026-02-30', which is no time",
        "hook h has a command with a NUL, which no program can be given",
        "stats.completed-at is 'yesterday', which is no time",
    ]
