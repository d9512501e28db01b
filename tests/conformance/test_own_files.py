"""A resident process recognizes the file it wrote last, and loses no edit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sprintlog.engine.adapters import replace
from sprintlog.engine.adapters.replace import FileStatus
from sprintlog.engine.sprint.events import Place, SprintCompiled, SprintStarted
from sprintlog.engine.sprint.phases.leaves import StartPhase
from sprintlog.projections.state_files.sprint_file import render
from sprintlog.projections.workspace import Workspace

from .test_workspace import make

DOCUMENT = {
    "sprint-id": "s",
    "phases": [{"id": f"p{n}", "prompt": "x", "status": "pending"} for n in range(9)],
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Provide a workspace that has replaced the file of a started sprint."""
    with make("sqlite", tmp_path) as workspace:
        place = Place("PROGRESS.yaml")
        workspace.handle_with("s", lambda sprint, at: [SprintCompiled(DOCUMENT, place)])
        workspace.refresh("s")
        workspace.handle_with("s", lambda sprint, at: [SprintStarted()])
        workspace.refresh("s")
        yield workspace


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Provide the size of each file that was read and compared."""
    sizes: list[int] = []
    is_like = replace._is_like

    def counting(descriptor: int, content: bytes) -> bool:
        sizes.append(len(content))
        return is_like(descriptor, content)

    monkeypatch.setattr(replace, "_is_like", counting)
    return sizes


@pytest.fixture
def alike(monkeypatch: pytest.MonkeyPatch, workspace: Workspace) -> None:
    """Make the status of a file constant, whatever is written to it."""
    status = FileStatus(device=1, inode=1, size=1, modified=1, changed=1)
    monkeypatch.setattr(replace, "status_of", lambda spot: status)
    start(workspace, "p0")


def start(workspace: Workspace, phase: str) -> str | None:
    """Start one phase; return the saved copy of an edit."""
    workspace.handle(StartPhase(phase), sprint_id="s")
    refreshed = workspace.refresh("s")
    assert refreshed.state == "written"
    assert file_of(workspace).read_bytes() == render(workspace.sprint("s"))
    return refreshed.kept


def file_of(workspace: Workspace) -> Path:
    """Return the path of the sprint's state file."""
    return workspace.location.root / "PROGRESS.yaml"


def edit(workspace: Workspace) -> bytes:
    """Change the state file in place, and return its contents."""
    content = file_of(workspace).read_bytes().replace(b"pending", b"skipped")
    file_of(workspace).write_bytes(content)
    return content


def kept_of(workspace: Workspace, name: str | None) -> bytes:
    """Return the stored copy of an edit."""
    return (workspace.location.folder / "edits" / str(name)).read_bytes()


def test_its_file_is_read_once_for_a_change(workspace: Workspace, read: list[int]) -> None:
    """The exchanged file is compared after the exchange, so it is not read before."""
    for phase in ("p1", "p2", "p3"):
        before = len(file_of(workspace).read_bytes())
        start(workspace, phase)
        assert read == [before]
        read.clear()


def test_an_edit_is_seen_by_its_status(workspace: Workspace) -> None:
    """An edit changes the file's status, so the file is read before it is replaced."""
    content = edit(workspace)
    assert workspace.files.look_at_status("PROGRESS.yaml") is None
    assert kept_of(workspace, start(workspace, "p1")) == content


@pytest.mark.usefixtures("alike")
def test_an_edit_that_no_status_tells_is_kept(workspace: Workspace) -> None:
    """An edit within one clock tick is detected after the exchange."""
    content = edit(workspace)
    assert workspace.files.look_at_status("PROGRESS.yaml") is not None
    assert kept_of(workspace, start(workspace, "p1")) == content
    assert start(workspace, "p2") is None


@pytest.mark.usefixtures("alike")
def test_an_edit_that_was_looked_at_is_kept(workspace: Workspace) -> None:
    """Reading a file, as `verify` does, does not make it ours."""
    content = edit(workspace)
    assert workspace.files.look("PROGRESS.yaml").is_foreign
    assert kept_of(workspace, start(workspace, "p1")) == content
    assert start(workspace, "p2") is None


@pytest.mark.usefixtures("alike")
def test_a_file_that_stays_is_read(workspace: Workspace) -> None:
    """Without a write, a file is compared regardless of its status."""
    content = edit(workspace)
    assert kept_of(workspace, workspace.refresh("s").kept) == content


def test_without_an_exchange_each_file_is_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a system cannot exchange files, the file must be read before it is replaced."""
    monkeypatch.setattr(replace, "system_call", lambda name: None)
    start(workspace, "p1")
    assert workspace.files.look_at_status("PROGRESS.yaml") is None


def test_a_removed_file_is_written_again(workspace: Workspace) -> None:
    """A missing file has no status that could be unchanged."""
    file_of(workspace).unlink()
    assert workspace.refresh("s").state == "written"
