"""Our own definitions, and the PROGRESS.yaml compiled from each."""

from pathlib import Path

import pytest

from sprintlog.cli.intake.definition import compile_files
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.plan.recompile import TakePlan
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.sprint_file import render

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
DEFINITIONS = sorted((FIXTURES / "definitions").glob("*/SPRINT.yaml"))


def compiled(file: Path) -> bytes:
    """Return the state file of a definition that was just compiled."""
    result = compile_files(file, workflows=FIXTURES / "definitions" / "workflows")
    assert result.warnings == []
    sprint = Sprint(result.sprint_id)
    [event] = TakePlan(plan=result.plan).decide(sprint, "2026-01-15T09:00:00Z")
    return render(fold(sprint, [(1, "2026-01-15T09:00:00Z", event)]))


@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.parent.name)
def test_a_definition_becomes_its_state_file(file: Path) -> None:
    """Each definition compiles to the bytes that are stored for it."""
    expected = FIXTURES / "expected" / f"definition-{file.parent.name}.PROGRESS.yaml"
    assert compiled(file).decode() == expected.read_text(encoding="utf-8")
