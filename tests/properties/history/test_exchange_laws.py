"""The content of exports, over random plans and random histories."""

import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sprintlog.engine.log.port import Expect
from sprintlog.engine.service.streams.catalogue import new_event, sprint_stream
from sprintlog.projections.health.exchange import export_log, import_log
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.workspace import Workspace
from tests.lengths import examples

from ..sprint_histories import World, worlds

laws = settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def recorded(folder: Path, *named: World) -> Workspace:
    """Return a log of several histories with interleaved appends."""
    workspace = Workspace.in_memory(folder)
    ends = {f"s{n}": list(pairwise(world.ends)) for n, world in enumerate(named)}
    for turn in range(max(map(len, ends.values()))):
        for world, (name, steps) in zip(named, ends.items(), strict=True):
            for first, last in steps[turn : turn + 1]:
                told = [
                    new_event(event, at=at, actor="runtime")
                    for _, at, event in world.events[first:last]
                ]
                key = f"{name}/{turn}" if turn % 3 == 0 else None
                stream = sprint_stream(name)
                workspace.log.append(stream, told, expect=Expect.ANY, key=key)
    return workspace


def lines_of(workspace: Workspace) -> bytes:
    """Return the export of a whole log."""
    written: list[bytes] = []
    export_log(workspace, written.append)
    return b"".join(written)


@laws
@given(worlds("import", "inject", "back", "undo"), worlds("import", "back"), st.data())
def test_import_gives_the_log_again(one: World, two: World, data: st.DataObject) -> None:
    """Import after export is the identity: events, head, lines and state files."""
    with tempfile.TemporaryDirectory() as name:
        ours, theirs = Path(name, "ours"), Path(name, "theirs")
        ours.mkdir()
        theirs.mkdir()
        with recorded(ours, one, two) as log, Workspace.init(theirs, here=True) as again:
            lines = lines_of(log)
            imported = import_log(again, lines.splitlines(keepends=True), file="x")
            assert list(again.log.read()) == list(log.log.read())
            assert imported.head == log.log.head() == again.log.head()
            assert lines_of(again) == lines
            for sprint_id in log.sprints():
                version = data.draw(st.integers(1, log.sprints()[sprint_id]))
                assert render(again.repository.at_version(sprint_id, version)) == render(
                    log.repository.at_version(sprint_id, version)
                )
