"""Files of a process that was killed between recording and writing."""

from pathlib import Path

from sprintlog.commands import AddLearning, CreateSprint, StartSprint
from sprintlog.engine.command import Command
from sprintlog.engine.journal.events import PLACE
from sprintlog.events import Learning, Place
from sprintlog.projections.workspace import Workspace

LEARNT = Learning(
    type="tool-usage", content="look first", source_prd_id="s", still_valid=True
)
PLAN = {"phases": [{"id": "build", "prompt": "Build"}]}
STEPS: tuple[Command, ...] = (
    CreateSprint(PLAN, Place("PROGRESS.yaml")),
    StartSprint(),
    AddLearning(LEARNT),
)


def act(workspace: Workspace) -> list[bool]:
    """Handle each step under its key; return which had counted before."""
    return [
        workspace.handle(step, sprint_id="s", key=f"step/{number}").duplicate
        for number, step in enumerate(STEPS)
    ]


def test_who_repeats_a_command_by_its_key_writes_the_files(tmp_path: Path) -> None:
    """Events recorded before a kill are in the files after the next record."""
    killed = Workspace.init(tmp_path, here=True)
    assert act(killed) == [False] * len(STEPS)
    killed.close()
    files = [tmp_path / "PROGRESS.yaml", tmp_path / PLACE]
    assert not any(file.exists() for file in files)
    with Workspace.open(tmp_path) as again:
        assert act(again) == [True] * len(STEPS)
    assert all(file.exists() for file in files)
    assert "in-progress" in files[0].read_text()
