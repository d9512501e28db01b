"""How far it is from what somebody types to the rule that decides on it."""

import ast
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sprintlog.cli.work import phase
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.phases.leaves import CompletePhase

from ..architecture.tree import ROOMS, ROOT
from .conftest import Run

FRAMES_MAX = 5


def frames_to(function: Any) -> list[FrameType]:
    """Return the frames of ours from here outwards until that of a function, without it."""
    found: list[FrameType] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not function.__code__:
        path = Path(frame.f_code.co_filename).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in ROOMS:
            found.append(frame)
        frame = frame.f_back
    assert frame is not None
    return found


def test_a_command_is_decided_on_close_by(
    sprint: Path, done: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From `phase complete` at most five functions lead to its rule, each with a name."""
    done("sprint", "start")
    done("phase", "start", "setup")
    seen: list[FrameType] = []
    decide = leaves.complete_phase

    def looked_at(sprint: Any, command: CompletePhase, at: str) -> Any:
        seen.extend(frames_to(phase.complete.callback))
        return decide(sprint, command, at)

    monkeypatch.setattr(leaves, "COMMANDS", leaves.COMMANDS | {CompletePhase: looked_at})
    done("phase", "complete", "setup")
    names = [frame.f_code.co_qualname for frame in seen]
    assert 0 < len(names) <= FRAMES_MAX, names
    assert not [name for name in names if "<" in name], "a lambda or a closure"
    for path in {Path(frame.f_code.co_filename) for frame in seen}:
        tree = ast.parse(path.read_text())
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert "partial" not in used, path
