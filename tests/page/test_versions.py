"""The page's state file at every version agrees with `why --all`."""

from pathlib import Path

import pytest

from sprintlog.projections.facts import file_history
from sprintlog.projections.facts.file_history import FollowedFile
from sprintlog.projections.history.blame_lines import blame_lines
from sprintlog.projections.workspace import Workspace

from .logs import SPRINT, STREAMS, workspace_of

Told = list[tuple[str, str, int, int]]


def blamed(workspace: Workspace, version: int) -> Told:
    """Return who changed and who set each line at a version, by field."""
    return [
        (x.field, x.text, x.event.version, (x.brought_back or x.event).version)
        for x in blame_lines(workspace, workspace.sprint(SPRINT, at=f"version:{version}"))
    ]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", STREAMS)
def test_every_line_is_blamed_at_every_version(name: str, tmp_path: Path) -> None:
    """Played from the beginning the file has the lines and setters of each version."""
    workspace = workspace_of(name, tmp_path)
    sprint = workspace.sprint(SPRINT)
    history = FollowedFile().follow(workspace, sprint)
    for version in range(1, sprint.version + 1):
        there = [tuple(line) for line in history.lines_at(version)]
        assert there == blamed(workspace, version), version


def test_a_long_history_begins_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If not all versions are stored, the stored ones have the same lines."""
    workspace = workspace_of("life-of-a-sprint-v1", tmp_path)
    monkeypatch.setattr(file_history, "VERSIONS_MAX", 9)
    sprint = workspace.sprint(SPRINT)
    history = FollowedFile().follow(workspace, sprint)
    assert history.first == sprint.version - 9
    for version in range(history.first, sprint.version + 1):
        there = [tuple(line) for line in history.lines_at(version)]
        assert there == blamed(workspace, version), version
