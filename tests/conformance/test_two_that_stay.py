"""Two resident processes take turns: the file always matches the log."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random

import pytest

from sprintlog.engine.errors import SprintlogError
from sprintlog.engine.sprint.events import (
    InjectionPosition,
    PhaseInjected,
    Place,
    RolledBack,
    SprintCompiled,
)
from sprintlog.engine.sprint.phases.leaves import (
    CompletePhase,
    FailPhase,
    ReopenPhase,
    RetryPhase,
    SkipPhase,
    StartPhase,
)
from sprintlog.engine.sprint.phases.lifecycle import ResumeSprint, StartSprint
from sprintlog.projections.state_files import sums
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.workspace import Workspace

from .test_workspace import make

PHASES, STEPS = 300, 60
FILE = "PROGRESS.yaml"


def document() -> dict[str, object]:
    """Return a plan of many plain phases."""
    phases = [{"id": f"p{n}", "prompt": "x", "status": "pending"} for n in range(PHASES)]
    return {"sprint-id": "s", "phases": phases}


def acts(workspace: Workspace, chance: Random) -> list[Callable[[], object]]:
    """Return the possible next steps: commands, a rollback, new work, a plan, an edit."""
    phase = f"p{chance.randrange(PHASES)}"
    named = chance.choice((phase, None))
    commands = (
        *(
            StartPhase(named),
            StartPhase(phase),
            CompletePhase(named, "done"),
            SkipPhase(phase),
        ),
        *(CompletePhase(None), ReopenPhase(phase), FailPhase("x"), RetryPhase(phase)),
        ResumeSprint(by="Ada", why="done"),
    )
    version = workspace.sprint("s").version
    back = RolledBack(max(2, version - chance.randrange(1, 9)))
    injected = PhaseInjected(
        [{"id": f"n{version}", "status": "pending"}],
        InjectionPosition("after", phase),
        after=phase,
    )
    anew = SprintCompiled(document(), Place(FILE))
    path = workspace.location.root / FILE
    return [
        *([lambda: workspace.handle(chance.choice(commands), sprint_id="s")] * 30),
        *([lambda: workspace.handle_with("s", lambda sprint, at: [back])] * 2),
        lambda: workspace.handle_with("s", lambda sprint, at: [injected]),
        lambda: workspace.handle_with("s", lambda sprint, at: [anew]),
        lambda: path.write_bytes(path.read_bytes().replace(b"prompt: x", b"prompt: y", 1)),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_the_file_is_what_the_whole_writer_says(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each step of either process, the text and its digest are right."""
    monkeypatch.setattr(sums, "STEP", 1024)
    chance = Random(seed)
    with make("sqlite", tmp_path) as one:
        one.handle_with("s", lambda sprint, at: [SprintCompiled(document(), Place(FILE))])
        one.handle(StartSprint(), sprint_id="s")
        other = Workspace(one.location, one.log, clock=one.clock)
        for _ in range(STEPS):
            now = chance.choice((one, one, one, other))
            try:
                chance.choice(acts(now, chance))()
            except SprintlogError:
                continue
            now.refresh("s")
            content = (one.location.root / FILE).read_bytes()
            fresh = Workspace(one.location, one.log, clock=one.clock)
            assert content == render(fresh.repository.from_nothing("s"))
            assert now.files.digest(FILE, content) == sha256(content).digest()
