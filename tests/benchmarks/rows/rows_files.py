"""Rows about PROGRESS.yaml: the text of a large sprint against other writers."""

from typing import Any

from sprintlog.engine.log.event import Event
from sprintlog.engine.sprint.events import PhaseCompleted, PhaseStarted, SprintStarted
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.phases.leaves import StartPhase
from sprintlog.engine.sprint.state.sprint import Sprint
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.workspace import Workspace

from ..logs import Bench, make_sprint, make_started
from ..measure import (
    PROCESSES,
    PROCESSOR,
    WALL_OF_PROCESSES,
    Figure,
    Skip,
    rate,
    side_by_side,
    speed_up,
)
from ..samples import SPRINT, START, address
from .js_yaml import JsYaml

_END = "2026-01-15T09:04:21Z"


def against_pyyaml(bench: Bench) -> Figure:
    """Measure the text of PROGRESS.yaml against PyYAML's fastest dumper."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", None)
    if dumper is None:
        raise Skip("this PyYAML was built without libyaml")
    sprint = _half_done(bench, "pyyaml")
    document = sprint.document
    content = render(sprint)
    sides = side_by_side(
        lambda: render(sprint),
        lambda: yaml.dump(
            document, Dumper=dumper, sort_keys=False, allow_unicode=True, encoding="utf-8"
        ),
        rounds=bench.sizes.rounds,
        by=PROCESSOR,
    )
    return rate(sides, "PyYAML CSafeDumper", unit="MB/s", size=len(content) / 1e6)


def against_js_yaml(bench: Bench) -> Figure:
    """Measure the text of PROGRESS.yaml against js-yaml, warm, in one Node process."""
    sprint = _half_done(bench, "js-yaml")
    content = render(sprint)
    with JsYaml(bench.folder, sprint.document) as node:
        same = node.dump() == len(content.decode().encode("utf-16-le")) // 2
        for _ in range(4):
            node.dump()
        sides = side_by_side(
            lambda: render(sprint),
            node.dump,
            rounds=6 * bench.sizes.rounds,
            # Node collects garbage in other threads, so only wall time includes all of it;
            # the round in which this happens is random.
            by=WALL_OF_PROCESSES,
        )
    note = "" if same else "the two texts differ in length"
    figure = rate(sides, f"js-yaml {node.version}", unit="MB/s", size=len(content) / 1e6)
    return figure._replace(note=note)


def one_change(bench: Bench) -> Figure:
    """Measure one event with its file written, in a resident process, against js-yaml.

    js-yaml loads the file, changes one phase, and writes the file like a state file: to a
    new file, synced, and renamed. It records no event. Our change is in the middle of the
    plan, the mean of all positions, because the text before a change is not hashed again.
    """
    folder = bench.new_folder("one-change")
    make_started(folder, bench.sizes.phases)
    theirs = bench.folder / "theirs.yaml"
    theirs.write_bytes((folder / "PROGRESS.yaml").read_bytes())
    phases = map(address, range(bench.sizes.phases // 2, bench.sizes.phases))
    with Workspace.open(folder) as workspace, JsYaml(bench.folder, {}) as node:

        def ours() -> None:
            workspace.handle(StartPhase(next(phases)), sprint_id=SPRINT)
            assert workspace.refresh(SPRINT).state == "written"

        for _ in range(4):
            ours()
            node.change(theirs)
        sides = side_by_side(
            ours, lambda: node.change(theirs), rounds=2 * bench.sizes.rounds, by=PROCESSES
        )
        assert (folder / "PROGRESS.yaml").read_bytes() == render(workspace.sprint(SPRINT))
    return speed_up(sides, f"js-yaml {node.version} load + dump + write")


def _half_done(bench: Bench, name: str) -> Sprint:
    """Return a large sprint with its first half completed."""
    phases = bench.sizes.phases
    with make_sprint(bench.new_folder(name), phases) as workspace:
        sprint = workspace.sprint(SPRINT)
    events: list[tuple[str, Event]] = [(START, SprintStarted())]
    for index in range(phases // 2):
        phase = address(index)
        events.append((START, PhaseStarted(phase, "sonnet")))
        events.append((_END, PhaseCompleted(phase, "the form is there, 14 tests pass")))
    return fold(sprint, [(at + 2, when, event) for at, (when, event) in enumerate(events)])
