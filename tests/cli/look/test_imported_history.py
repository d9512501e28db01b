"""An imported history: its events, their versions, and losses."""

from pathlib import Path
from typing import Any

import pytest

from ..conftest import Run


def document(*statuses: str, iteration: int = 0, more: str = "") -> str:
    """Return a version of a sprint whose phases have these statuses."""
    phases = [
        f"  - id: p{number}\n    prompt: Do it\n    status: {status}\n"
        for number, status in enumerate(statuses)
    ]
    return (
        "sprint-id: auth\nstatus: in-progress\n"
        f"phases:\n{''.join(phases)}{more}"
        f"stats:\n  started-at: '2026-01-10T09:00:00Z'\n  current-iteration: {iteration}\n"
    )


INJECTED = "  - id: hotfix\n    prompt: Repair it\n    status: pending\n"
VERSIONS = (
    document("pending", "pending"),
    document("completed", "in-progress", iteration=1),
    document("completed", "failed", iteration=2, more=INJECTED),
    document("pending", "completed", iteration=3, more=INJECTED),
)


@pytest.fixture
def history(folder: Path, done: Run) -> Path:
    """Return a folder whose log has four versions of one document."""
    done("init")
    for number, text in enumerate(VERSIONS):
        (folder / "old").mkdir(exist_ok=True)
        (folder / "old" / f"{number}.yaml").write_text(text)
    done("import", "progress", *(f"old/{number}.yaml" for number in range(4)))
    return folder


def told(events: list[Any]) -> list[tuple[str, bool]]:
    """Return the type of each event, and whether it was only observed."""
    return [(event["type"], event["observed"]) for event in events]


def test_a_phase_has_its_history(history: Path, done: Run) -> None:
    """A phase's history consists of observed events, caused by the import."""
    events = done("log", "--phase", "p0", "--json").lines
    assert told(events) == [("phase-completed", True), ("phase-reopened", True)]
    assert {event["actor"] for event in events} == {"import:1.yaml", "import:3.yaml"}
    events = done("log", "--phase", "p1", "--json").lines
    assert [name for name, _ in told(events)] == [
        *("phase-started", "phase-failed", "phase-completed")
    ]


def test_what_came_in_and_each_iteration_is_told(history: Path, done: Run) -> None:
    """A new node was injected; a higher number means that an iteration started."""
    events = done("log", "--json").lines
    injected = [e["data"]["nodes"] for e in events if e["type"] == "phase-injected"]
    assert [nodes[0]["id"] for nodes in injected] == ["hotfix"]
    began = [e["data"]["number"] for e in events if e["type"] == "iteration-started"]
    assert began == [1, 2, 3]
    assert done("show", "progress", "--at", "iter:2", "--json").json["phases"]


def test_the_import_itself_is_no_observation(history: Path, done: Run) -> None:
    """The import of a document is recorded as a regular event."""
    events = done("log", "--json").lines
    imports = [e for e in events if e["type"] == "sprint-imported"]
    assert {event["observed"] for event in imports} == {False}


def test_what_went_back_is_a_finding_of_audit(history: Path, done: Run) -> None:
    """A leaf that is no longer done is listed with the import that lost it."""
    said = done("audit").out
    assert "p0" in said
    lost = [
        event["data"]["lost"]
        for event in done("log", "--json").lines
        if event["type"] == "sprint-imported" and event["data"].get("lost")
    ]
    assert lost == [["p0"]]


def test_a_loss_is_a_finding_of_its_own_kind(history: Path, done: Run) -> None:
    """`audit` describes and counts losses, and can list them alone."""
    answer = done("audit", "--kind", "loss", "--json").json
    (loss,) = answer["decisions"]
    assert loss["said"].startswith("1 done previously but not in this version: p0; source ")
    assert done("audit").out.splitlines()[-1].endswith(", 1 loss among them")
    assert "loss" not in done("audit", "--at", "version:1").out


def test_each_version_is_still_what_it_was(history: Path, done: Run) -> None:
    """After each import, the document is the imported one."""
    imports = [e for e in done("log", "--json").lines if e["type"] == "sprint-imported"]
    for event, text in zip(imports, VERSIONS, strict=True):
        shown = done("show", "progress", "--at", f"version:{event['version']}")
        assert shown.out.count("status: completed") == text.count("status: completed")
        assert shown.out.count("status: pending") == text.count("status: pending")
    done("verify")


def test_blame_names_the_version_that_changed_a_field(folder: Path, done: Run) -> None:
    """A figure that is equal in all versions comes from the first, right or wrong."""
    (folder / "old").mkdir()
    for number, statuses in enumerate((["pending"] * 2, ["completed", "pending"])):
        text = document(*statuses).replace("stats:\n", "stats:\n  total-phases: 26\n")
        (folder / "old" / f"{number}.yaml").write_text(text)
    done("init")
    done("import", "progress", "old/0.yaml", "old/1.yaml")
    figure, status = done("why", "stats.total-phases", "phases[p0].status", "--json").lines
    assert [x["event"]["actor"] for x in (figure, status)] == [
        "import:0.yaml",
        "import:1.yaml",
    ]
