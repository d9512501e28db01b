"""A saved state is read back unchanged, at whatever version it was saved."""

from typing import Any

import msgspec
import pytest

from sprintlog.engine.sprint import events as f
from sprintlog.engine.sprint.fold import fold
from sprintlog.engine.sprint.iterations.rollback import RollBack
from sprintlog.engine.sprint.phases import leaves
from sprintlog.engine.sprint.plan.create import CreateSprint, ImportDocument
from sprintlog.engine.sprint.state.sprint import Sprint, pack, unpack

from ..conftest import Scenario, for_each, simple


@pytest.fixture
def busy(running: Any) -> Scenario:
    """Return a sprint that uses every part of its state."""
    empty = {"id": "e", "steps": []}
    scenario: Scenario = running(
        {"phases": [empty, for_each("p", x=("i", "j")), *simple("z")["phases"]]}
    )
    scenario.given(f.IterationStarted(1), f.PhaseStarted("p/x/i"), f.NoteAdded("x"))
    scenario.do(leaves.CompletePhase(summary="fine")).do(leaves.StartPhase())
    scenario.do(RollBack(to=6, is_inside_append=False)).do(leaves.StartPhase())
    return scenario


def test_gives_the_same_state_back(busy: Scenario) -> None:
    """unpack(pack(s)) is s: its document, its Record and its repetitions."""
    again = unpack(pack(busy.sprint))
    assert msgspec.json.encode(again.document) == busy.bytes()
    assert (again.id, again.version) == (busy.sprint.id, busy.sprint.version)
    assert again.knowledge == busy.sprint.knowledge
    assert pack(again) == pack(busy.sprint)
    assert pack(again) == pack(busy.sprint)


@pytest.mark.parametrize("version", range(1, 8))
def test_goes_on_from_any_version(busy: Scenario, version: int) -> None:
    """Continuing from a saved state gives the same result as without saving."""
    events = [(v, at, event) for v, at, event in busy.events[:7]]
    straight = Scenario().given(*(event for _, _, event in events))
    saved = pack(Scenario().given(*(event for _, _, event in events[:version])).sprint)
    again = fold(unpack(saved), events[version:])
    assert msgspec.json.encode(again.document) == straight.bytes()


def test_knows_the_same_command_again(busy: Scenario) -> None:
    """The last event about each subject survives a checkpoint (SPR-042)."""
    again = unpack(pack(busy.sprint))
    assert leaves.StartPhase(phase="p/x/j").decide(again, "2026-01-15T09:00:00Z") == []


def test_keeps_the_last_event_of_every_subject(busy: Scenario) -> None:
    """Each subject's last event survives a checkpoint unchanged."""
    last = busy.given(
        f.GoalSet("g"),
        f.GoalClaimed(1, "too early"),
        f.IterationFailed(1, "no"),
        f.IterationsLimited(7),
        f.WorkDone("p/x/i"),
        f.HookTaskSpawned(1, "#lint", "t.jsonl"),
        f.SprintBlocked("why"),
        f.BreakpointReached("p"),
    ).sprint.plan.last
    again = unpack(pack(busy.sprint)).plan.last
    for name in ("sprint", "breakpoint", "iteration", "limit", "goal", "claim", "failure"):
        assert getattr(last, name) is not None, name
        assert getattr(again, name) == getattr(last, name)
    for name in ("nodes", "work", "hooks"):
        kept = getattr(last, name)
        assert kept, name
        assert {of: getattr(again, name).of(of) for of in kept} == kept


def test_keeps_where_the_file_lives(given: Any) -> None:
    """The place of the state file is part of the state."""
    place = f.Place("a/PROGRESS.yaml", "tree")
    scenario: Scenario = given().do(CreateSprint(plan=simple("a"), place=place))
    assert unpack(pack(scenario.sprint)).plan.place == place


def test_keeps_an_untouched_import(given: Any) -> None:
    """An imported document stays unchanged, numbers and order included."""
    document = {"z": -0.0, "b": [1, 1.0, None, {"y": "ü\u2028"}], "a": 2**63 - 1}
    scenario: Scenario = given().do(ImportDocument(document=document, source="x"))
    again = unpack(pack(scenario.sprint))
    assert msgspec.json.encode(again.document) == msgspec.json.encode(document)


@pytest.mark.parametrize("bytes_", [b"", b"\x00", b"\x90", b"text", pack(Sprint("s"))[:-1]])
def test_reads_nothing_else(bytes_: bytes) -> None:
    """Other bytes are distinguished from a saved state."""
    with pytest.raises(msgspec.DecodeError):
        unpack(bytes_)


def test_reads_nothing_with_another_bit() -> None:
    """A state with a single flipped bit is not a state."""
    saved = pack(Sprint("auth"))
    for bit in range(len(saved) * 8):
        flipped = bytearray(saved)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(msgspec.DecodeError):
            unpack(bytes(flipped))
