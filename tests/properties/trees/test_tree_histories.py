"""Random histories of work trees: people, agents, snapshots, rollbacks and kills.

A model runs alongside the real commands, and after each step six rules are checked: (a)
only the command's tree has changed; (b) every line has the author that the model predicts;
(c) "nothing to do" is printed if and only if nothing differs; (d) a restore produces the
predicted files, and `undo` the previous ones; (e) everything omitted from a snapshot is
named; (f) the log verifies.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sprintlog.engine.adapters.snapshots import file_stats
from sprintlog.engine.log.envelope import RecordedEvent
from sprintlog.engine.log.stores.sqlite import store
from sprintlog.engine.service.agent_sessions import at_work
from sprintlog.engine.service.work_tree import restore, restore_plan, snapshot, start_files
from sprintlog.engine.sprint.state.knowledge import WorkTree

from .histories import contradiction, failure
from .played import Contradiction, Step
from .world import remove_template

HISTORIES = 40
TRIED_MAX = 40

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make commands use only the repository's settings."""
    for name in [n for n in os.environ if n.startswith(("GIT_", "SPRINTLOG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-settings"))
    monkeypatch.setenv("HOME", str(tmp_path / "no-home"))
    monkeypatch.setenv("SPRINTLOG_DEBUG", "1")
    # In memory, each file would be read again; on disk, unchanged files are recognized.
    monkeypatch.setattr(file_stats, "kind_of", lambda root: "ext4")


@pytest.fixture(autouse=True, scope="module")
def _template() -> Iterator[None]:
    """Remove the repository with which every history starts."""
    yield
    remove_template()


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_random_history_contradicts_no_rule(tmp_path: Path, seed: int) -> None:
    """After each step of a random history, all six rules hold."""
    if (found := failure(seed, tmp_path / "world")) is not None:
        pytest.fail(str(found), pytrace=False)


# --- Histories that failed once --------------------------------------------------------

FAILED: dict[str, list[Step]] = {
    "work trees share no sprint, and a submodule has a separate log": [
        ("begin", "main", 965274705),
        ("begin", "left", 4522707),
        ("begin", "sub", 461060838),
        ("end", "left", 1),
        ("end", "main", 2),
        ("edit", "left", 3),
        ("rollback", "left", 4),
    ],
    "a worktree that is added again is another one": [
        ("begin", "right", 725489327),
        ("end", "right", 302733624),
        ("remove", "right", 648617260),
        ("begin", "right", 109361170),
    ],
    "a copied repository is not the worktree that its log was made for": [
        ("begin", "right", 72161475),
        ("end", "right", 627542639),
        ("copy", "main", 0),
        ("begin", "copy", 966492406),
    ],
    "the end of an overlapping iteration has its own number": [
        ("begin", "main", 810041858),
        ("begin", "main", 726791339),
        ("edit", "main", 1),
        ("end", "main", 1068546063),
        ("edit", "main", 2),
        ("end", "main", 318273801),
        ("rollback", "main", 1),
        ("rollback", "main", 2),
        ("rollback", "main", 3),
    ],
    "a line from before the first run is not the agent's who commits it": [
        ("edit", "main", 702202452),
        ("begin", "main", 947167627),
        ("commit", "main", 350457114),
        ("edit", "main", 989650946),
        ("end", "main", 401293821),
        ("begin", "main", 1),
        ("end", "main", 2),
        ("begin", "main", 3),
        ("end", "main", 4),
    ],
}


@pytest.mark.parametrize("name", FAILED)
def test_a_history_that_failed_once_holds(tmp_path: Path, name: str) -> None:
    """A history that once contradicted a rule no longer does."""
    if (found := contradiction(FAILED[name], tmp_path / "world")) is not None:
        raise found


# --- Planted faults ---------------------------------------------------------------------


def writes_into_another_tree(patch: pytest.MonkeyPatch) -> None:
    """Make restores also write a file of the adjacent tree."""
    place: Any = vars(restore)["place"]

    def place_there_too(root: Path, *given: Any, **named: Any) -> Any:
        for other in root.parent.glob("*/b.txt"):
            if other.parent != root:
                other.write_text("from another tree\n")
        return place(root, *given, **named)

    patch.setattr(restore, "place", place_there_too)


def shares_sprints(patch: pytest.MonkeyPatch) -> None:
    """Give every work tree the sprints of all others."""
    patch.setattr(WorkTree, "has", lambda self, one: True)


def overlooks_the_start(patch: pytest.MonkeyPatch) -> None:
    """Start iterations with the files of the last snapshot, whatever has changed."""
    files_at_start: Any = start_files.files_at_start

    def last_files(workspace: Any, sprint_id: str, **named: Any) -> Any:
        held = workspace.sprint(sprint_id).knowledge.snapshots
        if not held:
            return files_at_start(workspace, sprint_id, **named)
        named["is_late"]()
        return held[-1].snapshot

    patch.setattr(start_files, "files_at_start", last_files)


def overlooks_who_overlaps(patch: pytest.MonkeyPatch) -> None:
    """Start iterations as if no other agent worked in the tree."""
    patch.setattr(at_work, "begin_iteration", lambda *given: None)


def overlooks_a_single_file(patch: pytest.MonkeyPatch) -> None:
    """Treat a restore of one file as nothing to do."""
    plan_for: Any = vars(restore_plan)["plan_for"]

    def overlook(*given: Any) -> Any:
        made = plan_for(*given)
        if len(made.writes) + len(made.removals) == 1:
            made = made._replace(writes={}, removals=[])
        return made

    patch.setattr(restore_plan, "plan_for", overlook)


def undoes_all_but_a_file(patch: pytest.MonkeyPatch) -> None:
    """Let `undo` leave one of the files as the rollback made it."""
    reverse: Any = vars(restore_plan)["reverse"]

    def forget_one(*given: Any) -> Any:
        made = reverse(*given)
        return made._replace(writes=dict([*made.writes.items()][1:]))

    patch.setattr(restore_plan, "reverse", forget_one)


def names_nothing_left_out(patch: pytest.MonkeyPatch) -> None:
    """Record no path that a snapshot omits."""
    patch.setattr(snapshot, "files_left", lambda left: ())


def stores_another_payload(patch: pytest.MonkeyPatch) -> None:
    """Store the end of an iteration otherwise than its hash has it."""
    insert: Any = vars(store)["insert"]

    def insert_another(events: list[RecordedEvent]) -> Any:
        return insert(
            [
                replace(event, payload=event.payload.replace(b'"number":', b'"numbeR":'))
                if event.payload and event.type == "iteration-ended"
                else event
                for event in events
            ]
        )

    patch.setattr(store, "insert", insert_another)


PLANTED: dict[Plant, tuple[str, int]] = {
    writes_into_another_tree: ("a", 2),
    shares_sprints: ("a", 5),
    overlooks_the_start: ("b", 42),
    overlooks_who_overlaps: ("b", 2),
    overlooks_a_single_file: ("c", 3),
    undoes_all_but_a_file: ("d", 0),
    names_nothing_left_out: ("e", 0),
    stores_another_payload: ("f", 0),
}
"""By fault: the rule whose check finds it, and the first seed that is tried."""


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Plant
) -> None:
    """A fault against each of the six rules is found by the check of that rule."""
    plant(monkeypatch)
    kind, first = PLANTED[plant]
    for seed in range(first, first + TRIED_MAX):
        found = failure(seed, tmp_path / "world", shrinks=False)
        error = None if found is None else found.error
        if isinstance(error, Contradiction) and error.kind == kind:
            return
    pytest.fail(f"no history of {TRIED_MAX} finds it")
