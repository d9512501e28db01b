"""The valid paths of state files."""

import pytest

from sprintlog.engine.service.place.location import wrong_place

LOOP = ".aiwg/ralph/ralph-001"


@pytest.mark.parametrize(
    "path",
    [
        "PROGRESS.yaml",
        "sprints/auth/PROGRESS.yaml",
        ".ralph/progress.json",
        f"{LOOP}/best-iteration.yaml",
        f"{LOOP}/progress/iteration-000-baseline.json",
        f"{LOOP}/iterations/iteration-001/metrics.json",
        f"{LOOP}/iterations/iteration-12345/metrics.json",
        f"{LOOP}/reports/iteration-010.md",
        f"{LOOP}/reports/output-selection.md",
    ],
)
def test_each_state_file_has_its_name(path: str) -> None:
    """The names of all state files are valid; those of loops only in a loop's folder."""
    assert wrong_place(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "notes.yaml",
        ".husky/pre-commit",
        f"{LOOP}/hook.sh",
        f"{LOOP}/reports/iteration-1.md",
        f"{LOOP}/reports/iteration-001.sh",
        f"{LOOP}/deeper/best-iteration.yaml",
        f"{LOOP}/iterations/iteration-{{:03d}}/metrics.json",
        ".aiwg/ralph/best-iteration.yaml",
        ".aiwg/other/ralph-001/best-iteration.yaml",
        "x/.aiwg/ralph/ralph-001/best-iteration.yaml",
        ".git/PROGRESS.yaml",
        "../PROGRESS.yaml",
    ],
)
def test_nothing_else_is_written(path: str) -> None:
    """Whatever a log contains, only files with these names are written, at these paths."""
    assert wrong_place(path) is not None
