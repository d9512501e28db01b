"""A gate is read and checked in the same way, however it is added to a plan."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a script of another type": ({"script": True}, "script"),
    "no script": ({"max-retries": 1}, "script"),
    "a script without text": ({"script": " "}, "script"),
    "a script with a NUL": ({"script": "a\0b"}, "script"),
    "a prompt of another type": ({"script": "x", "on-fail-prompt": 7}, "on-fail-prompt"),
    "retries as text": ({"script": "x", "max-retries": "3"}, "max-retries"),
    "negative retries": ({"script": "x", "on-fail": {"max-retries": -1}}, "max-retries"),
    "a timeout as text": ({"script": "x", "timeout": "60"}, "timeout"),
    "no time at all": ({"script": "x", "timeout": 0}, "timeout"),
    "a time that never ends": ({"script": "x", "timeout": 1e300}, "timeout"),
    "on-fail as text": ({"script": "x", "on-fail": "repair"}, "on-fail"),
}
REPORTED = ("timeout as text", "never ends", "with a NUL", "without text", "negative")
"""Values that an import accepts unchanged, and reports."""
NODE = {"id": "new", "prompt": "Do it"}

Way = Callable[[Path, Any, dict[str, Any]], Any]


def create(folder: Path, run: Any, gate: dict[str, Any]) -> Any:
    """Create a sprint with a gate."""
    (folder / "plan.json").write_text(json.dumps({"phases": [{**NODE, "gate": gate}]}))
    return run("sprint", "create", "two", "--plan", "plan.json", "--sprint-dir", "two")


def compiled(folder: Path, run: Any, gate: dict[str, Any]) -> Any:
    """Compile a workflow with a gate."""
    workflows = folder / ".claude" / "workflows"
    workflows.mkdir(parents=True)
    phases = {"phases": [{**NODE, "gate": gate}]}
    (workflows / "main.yaml").write_text(json.dumps(phases))
    sprint = {"workflow": "main", "sprint-id": "two", "steps": [{"prompt": "x"}]}
    (folder / "SPRINT.yaml").write_text(json.dumps(sprint))
    return run("compile", "SPRINT.yaml", "--sprint-dir", "two")


def injected(folder: Path, run: Any, gate: dict[str, Any]) -> Any:
    """Inject a phase with a gate."""
    (folder / "node.json").write_text(json.dumps([{**NODE, "gate": gate}]))
    return run("phase", "inject", "--file", "node.json", "--sprint", "auth")


def appended(folder: Path, run: Any, gate: dict[str, Any]) -> Any:
    """Append an injection by its event."""
    where = {"type": "end-of-workflow", "ref": None}
    data = {"nodes": [{**NODE, "gate": gate}], "position": where}
    return run("append", "phase-injected", "--data", json.dumps(data), "--sprint", "auth")


def adopted(folder: Path, run: Any, gate: dict[str, Any]) -> Any:
    """Adopt an edit that gives a phase a gate."""
    file = folder / "PROGRESS.yaml"
    line = f"  - id: review\n    gate: {json.dumps(gate)}\n"
    file.write_text(file.read_text().replace("  - id: review\n", line))
    run("note", "x", "--sprint", "auth")
    return run("adopt", "--sprint", "auth")


def adopted_whole(folder: Path, run: Any, gate: dict[str, Any]) -> Any:
    """Adopt an edit that brings a new phase with a gate."""
    file = folder / "PROGRESS.yaml"
    node = json.dumps({**NODE, "status": "pending", "gate": gate})
    file.write_text(file.read_text().replace("current:\n", f"  - {node}\ncurrent:\n", 1))
    run("note", "x", "--sprint", "auth")
    return run("adopt", "--sprint", "auth")


WAYS = (create, compiled, injected, appended, adopted, adopted_whole)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
def test_no_way_takes_a_gate_that_is_none(
    sprint: Path, run: Any, way: Way, name: str
) -> None:
    """An invalid gate is refused with its field, however it is added to a plan."""
    gate, field = BAD[name]
    result = way(sprint, run, gate)
    assert result.code == 1, result
    assert field in result.err
    assert "gate" not in (sprint / "PROGRESS.yaml").read_text()


@pytest.mark.parametrize("name", BAD)
def test_an_import_tells_what_counts_as_not_given(
    folder: Path, run: Any, name: str
) -> None:
    """A value of a wrong type is refused; an impossible one is stored and reported."""
    gate, field = BAD[name]
    node = {**NODE, "status": "pending", "gate": gate}
    document = {"sprint-id": "auth", "status": "in-progress", "phases": [node]}
    (folder / "PROGRESS.yaml").write_text(json.dumps(document))
    run("init")
    result = run("import", "progress", "PROGRESS.yaml")
    if any(words in name for words in REPORTED):
        assert (result.code, "counts as not given" in result.out) == (0, True)
        assert f"gate whose {field}" in result.out.replace("on-fail.", "")
    else:
        assert (result.code, "gate" in result.err) == (1, True)


@pytest.mark.parametrize("way", WAYS, ids=[way.__name__ for way in WAYS])
def test_every_way_reads_a_gate_as_it_is_written(
    sprint: Path, run: Any, done: Any, way: Way
) -> None:
    """The retries and the prompt under `on-fail` apply in every kind of gate."""
    gate = {"script": "exit 1", "on-fail": {"prompt": "Repair it", "max-retries": 7}}
    assert way(sprint, run, gate).code == 0
    name = "two" if way in (create, compiled) else "auth"
    phases = done("status", "--sprint", name, "--json").json["phases"]
    (gated,) = [phase for phase in phases if "gate" in phase]
    assert gated["gate"]["attempts_max"] == 8
