"""Logs whose pages are tested: stored streams, read into a log in memory."""

from pathlib import Path

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import CODEC, new_event
from sprintlog.projections.workspace import Workspace
from tests.golden.test_streams import FIXTURES, lines, recorded_of

SPRINT = "night"
STREAMS = sorted(path.stem for path in (FIXTURES / "streams").glob("*.jsonl"))


def workspace_of(name: str, folder: Path, *, clock_ms: int = 0) -> Workspace:
    """Return a workspace whose log contains a stored stream as its only sprint."""
    recorded = [recorded_of(line) for line in lines(FIXTURES / "streams" / f"{name}.jsonl")]
    workspace = Workspace.in_memory(folder, clock=lambda: clock_ms, entropy=bytes)
    events = [new_event(CODEC.decode(x), at=x.at, actor="runtime") for x in recorded]
    workspace.log.append(f"sprint/{SPRINT}", events, expect=Expect.NONE)
    return workspace
