"""The call depth of commands, from click to the decision."""

import ast
import inspect
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sprintlog.cli.work import phase
from sprintlog.engine.sprint.phases import leaves

from ..conftest import Run

FRAMES_MAX = 5
OURS = tuple(
    str(Path(__file__).parents[3] / room) for room in ("engine", "projections", "cli")
)


def code_of(function: Any) -> CodeType:
    """Return the code of a function without its wrappers."""
    code = inspect.unwrap(function).__code__
    assert isinstance(code, CodeType)
    return code


def way(run: Run, start: CodeType, end: CodeType, *line: str) -> list[CodeType]:
    """Return sprintlog's frames between two functions when a command line runs."""
    found: list[CodeType] = []

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or frame.f_code is not end or found:
            return
        above = frame.f_back
        while above is not None and above.f_code is not start:
            if above.f_code.co_filename.startswith(OURS):
                found.append(above.f_code)
            above = above.f_back
        assert above is not None, "it was not called from there"

    sys.setprofile(look)
    try:
        run(*line)
    finally:
        sys.setprofile(None)
    return found[::-1]


def test_a_command_is_few_frames_from_what_decides_on_it(sprint: Path, done: Run) -> None:
    """`phase complete` needs at most five, each a plain function: no closure, no lambda."""
    done("phase", "start")
    start, end = code_of(phase.complete.callback), code_of(leaves.CompletePhase.decide)
    between = way(done, start, end, "phase", "complete")
    assert [code.co_name for code in between if code.co_name == "<lambda>"] == []
    assert [code.co_name for code in between if {*code.co_freevars} - {"__class__"}] == []
    assert 0 < len(between) <= FRAMES_MAX, [code.co_qualname for code in between]
    for path in {Path(code.co_filename) for code in between}:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert "partial" not in used, path
