"""`phase inject --workflow`: a workflow is compiled into a running sprint."""

from pathlib import Path
from typing import Any

import pytest

from .test_injecting import document

WORKFLOW = """\
phases:
  - id: cause
    prompt: Find out why {{sprint.id}} fails
  - id: repair
    workflow: repairing
"""
REPAIRING = "phases: [{id: fix, prompt: Repair it, model: opus}, {id: try, prompt: Try it}]"


@pytest.fixture
def workflows(sprint: Path) -> Path:
    """Return the folder of workflows next to a started sprint."""
    folder = sprint / ".claude" / "workflows"
    folder.mkdir(parents=True)
    (folder / "bugfix.yaml").write_text(WORKFLOW)
    (folder / "repairing.yaml").write_text(REPAIRING)
    items = "phases: [{id: each, for-each: step, workflow: repairing}]"
    (folder / "iterating.yaml").write_text(items)
    return folder


def test_injects_a_workflow(workflows: Path, sprint: Path, done: Any) -> None:
    """A workflow is compiled, and all its phases are injected, including inlined ones."""
    command = ("phase", "inject", "--workflow", "bugfix", "--json")
    assert done(*command).json["addresses"] == ["cause", "repair-fix", "repair-try"]
    cause, fix = document(sprint)["phases"][1:3]
    assert cause["prompt"] == "Find out why auth fails"
    assert (fix["model"], fix["injected"]) == ("opus", True)
    data = done("log", "--last", "1", "--json").json["data"]
    read = [source["path"] for source in data["sources"]]
    assert read == [".claude/workflows/bugfix.yaml", ".claude/workflows/repairing.yaml"]


def test_injects_a_workflow_with_a_prefix(workflows: Path, done: Any) -> None:
    """With a prefix a workflow can be injected repeatedly."""
    command = ("phase", "inject", "--workflow", "bugfix", "--prefix", "fix", "--json")
    first = done(*command, "--position", "end-of-workflow").json
    assert first["addresses"] == ["fix-0", "fix-1", "fix-2"]
    again = done(*command, "--position", "after:build/login").json
    assert again["addresses"] == ["build/fix-3", "build/fix-4", "build/fix-5"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--workflow", "nope"], 1, "there is no workflow 'nope'"),
        (["--workflow", "iterating"], 1, "no items for it"),
        (["--workflow", "bugfix", "--workflows", "elsewhere"], 3, "no such folder"),
        (["--workflow", "bugfix", "--id", "x"], 2, "--id cannot be combined"),
        (["--workflow", "bugfix", "--prompt", "x"], 2, "specify exactly one of"),
        (["--prompt", "x", "--workflows", "y"], 2, "--workflows requires --workflow"),
        (["--workflow", "bugfix", "--position", "after:nope"], 3, "no phase nope"),
    ],
)
def test_refuses_what_is_no_workflow(
    workflows: Path, run: Any, arguments: list[str], code: int, said: str
) -> None:
    """A workflow that is missing or does not compile is reported and nothing recorded."""
    result = run("phase", "inject", *arguments)
    assert (result.code, said in result.err) == (code, True), result.err
    assert len(run("log", "--json").lines) == 2


def test_names_the_phase_of_a_workflow(workflows: Path, run: Any, done: Any) -> None:
    """Injecting a workflow again requires a prefix; the refusal names its phase."""
    done("phase", "inject", "--workflow", "bugfix")
    command = ("phase", "inject", "--workflow", "bugfix", "--position", "end-of-workflow")
    assert run(*command).err.startswith("error: bugfix: phases[0].id: phase cause already")
