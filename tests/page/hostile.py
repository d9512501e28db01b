"""A sprint with texts that must have no effect: markup, scripts, long words."""

from pathlib import Path

from sprintlog.commands import (
    AddNote,
    CompletePhase,
    CreateSprint,
    NeedHuman,
    QueueRequests,
    StartIteration,
    StartPhase,
    StartSprint,
    SubmittedRequest,
)
from sprintlog.projections.workspace import Workspace

from .night import SPRINT

AT = "2026-01-15T21:00:00Z"
HOSTILE = (
    "<script>window.ran = 1</script>",
    '"><img src=http://example.invalid/x.png onerror=alert(1)>',
    "</script><script>window.ran = 2</script>",
    "</title></style><iframe src=http://example.invalid>",
    "<svg onload=alert(2)><a href=javascript:alert(3)>x</a>",
    "{{7*7}} ${window.ran=3} <!-- --> ]]>",
    "\u202egnp.exe\u2066 \u200b\x1b[31mred\x00",
    "x" * 1_000_000,
)
"""What agents write."""


def hostile_night(folder: Path) -> Workspace:
    """Return a workspace with a sprint that has such texts in every field."""
    workspace = Workspace.in_memory(folder, clock=lambda: 0, entropy=bytes)
    phases = [{"id": f"p{n}\"<b>'", "prompt": said} for n, said in enumerate(HOSTILE)]

    def do(*commands: object) -> None:
        for command in commands:
            workspace.handle(
                command,
                sprint_id=SPRINT,
                at=AT,
                actor="agent:<b>x</b>",  # type: ignore[call-overload]
            )

    do(CreateSprint(plan={"sprint-id": SPRINT, "phases": phases}), StartSprint())
    for number, said in enumerate(HOSTILE):
        phase = phases[number]["id"]
        do(StartIteration(phase=phase), StartPhase(phase, "haiku"), AddNote(said))
        do(QueueRequests((SubmittedRequest(said[:200], "high", "bug", said),)))
        if number == len(HOSTILE) - 2:
            do(NeedHuman(said, said, said, phase))
            return workspace
        do(CompletePhase(phase, said))
    return workspace
