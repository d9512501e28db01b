"""A large sprint's file: its text is based on the previous one and hashed once."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sprintlog.engine import hashes
from sprintlog.engine.service.place.location import CHECKSUM_SUFFIX
from sprintlog.engine.sprint.events import (
    InjectionPosition,
    PhaseInjected,
    Place,
    SprintCompiled,
    SprintStarted,
)
from sprintlog.engine.sprint.phases.leaves import StartPhase
from sprintlog.projections.state_files import kept_blocks, sums
from sprintlog.projections.state_files.kept_blocks import BLOCKS
from sprintlog.projections.state_files.sprint_file import SprintFile, render
from sprintlog.projections.state_files.yaml import blocks
from sprintlog.projections.workspace import Workspace

from .test_workspace import make

PHASES = 400
DOCUMENT = {
    "sprint-id": "s",
    "phases": [{"id": f"p{n}", "prompt": "x", "status": "pending"} for n in range(PHASES)],
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Provide a workspace with a started sprint of many phases."""
    with make("sqlite", tmp_path) as workspace:
        place = Place("PROGRESS.yaml")
        workspace.handle_with("s", lambda sprint, at: [SprintCompiled(DOCUMENT, place)])
        workspace.handle_with("s", lambda sprint, at: [SprintStarted()])
        workspace.refresh("s")
        yield workspace


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return a fixture with the hashed contents of a state file."""
    found: list[bytes] = []

    def counting(content: bytes) -> Any:
        if content.startswith(b"sprint-id"):
            found.append(content)
        return sha256(content)

    monkeypatch.setattr(hashes, "sha256", counting)
    return found


class Counting:
    """A sha256 that counts its input bytes."""

    def __init__(self, inner: Any, counts: list[int]) -> None:
        self._inner, self._counts = inner, counts

    def update(self, content: bytes) -> None:
        """Add bytes."""
        self._counts.append(len(content))
        self._inner.update(content)

    def copy(self) -> "Counting":
        """Return a copy that continues separately."""
        return Counting(self._inner.copy(), self._counts)

    def digest(self) -> bytes:
        """Return the sum of all bytes so far."""
        digest: bytes = self._inner.digest()
        return digest


@pytest.fixture
def gone_on(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Provide the number of bytes hashed after the unchanged start of a text."""
    counts: list[int] = []
    monkeypatch.setattr(sums, "STEP", 1024)
    monkeypatch.setattr(sums, "sha256", lambda: Counting(sha256(), counts))
    return counts


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[blocks.Text]:
    """Return a fixture with each rendered text, and the number of new blocks."""
    found: list[blocks.Text] = []

    def counting(*arguments: Any, **options: Any) -> blocks.Text:
        text = dump_after(*arguments, **options)
        found.append(text)
        return text

    dump_after = blocks.dump_after
    monkeypatch.setattr(blocks, "dump_after", counting)
    return found


def content_of(workspace: Workspace) -> bytes:
    """Return the contents of the sprint's state file."""
    return (workspace.location.root / "PROGRESS.yaml").read_bytes()


def kept_of(workspace: Workspace) -> Path:
    """Return the file with the positions of the blocks."""
    (kept,) = (workspace.location.folder / BLOCKS).iterdir()
    return kept


def start(workspace: Workspace, phase: str) -> None:
    """Start one phase; the file must equal the output of the complete writer."""
    workspace.handle(StartPhase(phase), sprint_id="s")
    assert workspace.refresh("s").state == "written"
    assert content_of(workspace) == render(workspace.sprint("s"))


def reopened(workspace: Workspace) -> Workspace:
    """Return the state of a next process with the same log and files."""
    return Workspace(workspace.location, workspace.log, clock=workspace.clock)


def test_each_content_is_hashed_once(workspace: Workspace, hashed: list[bytes]) -> None:
    """A process hashes the file it finds and the file it writes once each."""
    before = content_of(workspace)
    start(reopened(workspace), "p1")
    assert hashed == [before, content_of(workspace)]


def test_what_was_written_is_not_hashed_again(
    workspace: Workspace, hashed: list[bytes]
) -> None:
    """A resident process recognizes its own file by comparison and hashes only new text."""
    next_one = reopened(workspace)
    before = content_of(workspace)
    start(next_one, "p1")
    start(next_one, "p2")
    assert hashed == [before, hashed[1]]


def test_process_that_stays_hashes_from_the_change_on(
    workspace: Workspace, gone_on: list[int]
) -> None:
    """If a text starts like the previous one, only the rest and one step are hashed."""
    start(workspace, "p1")
    whole = len(content_of(workspace))
    assert sum(gone_on) == whole
    gone_on.clear()
    start(workspace, "p399")
    assert 0 < sum(gone_on) < whole / 10


def test_a_checksum_costs_no_hash(workspace: Workspace, hashed: list[bytes]) -> None:
    """The checksum file, if it exists, gets the digest that is already known."""
    side = workspace.location.root / f"PROGRESS.yaml{CHECKSUM_SUFFIX}"
    side.write_text("-")
    start(reopened(workspace), "p1")
    assert hashed[1:] == [content_of(workspace)]
    assert side.read_text() == sha256(content_of(workspace)).hexdigest()


def test_one_change_makes_one_block(workspace: Workspace, texts: list[blocks.Text]) -> None:
    """The blocks of other phases are reused, even by a new process."""
    start(workspace, "p1")
    start(reopened(workspace), "p100")
    start(reopened(workspace), "p399")
    assert [text.made for text in texts] == [1, 1, 1]


def test_processes_that_take_turns_make_one_block(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """A resident process reuses the blocks that another one wrote in between."""
    other = reopened(workspace)
    for number, process in enumerate([workspace, other] * 3):
        start(process, f"p{100 * number % 399}")
    assert [text.made for text in texts] == [1] * 6


def test_process_that_stays_hashes_one_block(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """Packed blocks are compared with the previous ones, so only new ones are hashed."""
    for phase in ("p1", "p100", "p399"):
        start(workspace, phase)
    of_all = -(-PHASES // blocks.ITEMS_OF_BLOCK)
    assert [text.hashed for text in texts] == [of_all, 1, 1]


def test_process_that_stays_packs_what_was_asked_for(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """Only the pointer's block and that of the started phase are compared.

    No node of the other phases was requested, so they are unchanged.
    """
    for phase in ("p1", "p100", "p399", "p10"):
        start(workspace, phase)
    of_all = -(-PHASES // blocks.ITEMS_OF_BLOCK)
    assert [text.packed for text in texts] == [of_all, 2, 2, 1]


def test_what_another_process_changed_is_packed(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """Notes on a text are invalid once another process has written the file."""
    of_all = -(-PHASES // blocks.ITEMS_OF_BLOCK)
    start(workspace, "p1")
    start(workspace, "p2")
    start(reopened(workspace), "p300")
    start(workspace, "p100")
    start(workspace, "p101")
    assert [text.packed for text in texts] == [of_all, 1, of_all, of_all, 2]


def test_an_injection_ends_the_notes(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """Once all nodes are created, any of them may change, so all blocks are compared."""
    start(workspace, "p1")
    new = {"id": "new", "status": "pending"}
    injected = PhaseInjected([new], InjectionPosition("after", "p7"), after="p7")
    workspace.handle_with("s", lambda sprint, at: [injected])
    start(workspace, "p100")
    assert texts[-1].packed == -(-(PHASES + 1) // blocks.ITEMS_OF_BLOCK)


def test_process_that_ends_keeps_no_packed_blocks(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """A process stores data for comparison only from its second text on, to save memory."""
    next_one = reopened(workspace)
    for phase in ("p1", "p2"):
        start(next_one, phase)
    assert [bool(text.lists) for text in texts] == [False, True]


def test_an_edit_is_never_taken_over(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """No block of an edited file is reused."""
    path = workspace.location.root / "PROGRESS.yaml"
    path.write_bytes(content_of(workspace).replace(b"p7\n", b"q7\n"))
    start(workspace, "p1")
    assert texts[0].made > 1


@pytest.mark.parametrize("damage", [b"", b"\0" * 40, None])
def test_damaged_cache_is_not_believed(
    workspace: Workspace, texts: list[blocks.Text], damage: bytes | None
) -> None:
    """A torn, changed or missing cache costs time and nothing else."""
    kept = kept_of(workspace)
    if damage is None:
        kept.unlink()
    else:
        kept.write_bytes(damage)
    start(reopened(workspace), "p1")
    start(reopened(workspace), "p2")
    assert texts[0].made > 1
    assert texts[1].made == 1


def test_flipped_bits_of_the_cache_are_noticed(workspace: Workspace) -> None:
    """Whichever bit of the cache is flipped, the file equals the complete writer's."""
    whole = kept_of(workspace).read_bytes()
    for number, place in enumerate(range(0, len(whole), len(whole) // 20)):
        kept = kept_of(workspace)
        content = bytearray(kept.read_bytes())
        content[place] ^= 1 << number % 8
        kept.write_bytes(content)
        start(reopened(workspace), f"p{number}")


def test_cache_of_another_layout_is_not_believed(
    workspace: Workspace, texts: list[blocks.Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer with a different layout reuses nothing of the previous text."""
    monkeypatch.setattr(kept_blocks, "LAYOUT", blocks.LAYOUT + 1)
    start(reopened(workspace), "p1")
    assert texts[0].made > 1


def test_rebuild_makes_the_whole_text(
    workspace: Workspace, texts: list[blocks.Text]
) -> None:
    """A rebuilt file reuses no block of the old file."""
    start(workspace, "p1")
    SprintFile(workspace).rebuild("s")
    assert texts[1].made > 1
